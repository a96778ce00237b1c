"""Planted bugs in what stands at the front door: what is compiled, sizes of calls, documents."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ARGUMENTS = ("backend/test_arguments.py",)
_GIVEN = ("test_given.py",)

FRONT_DOOR = (
    Mutant(
        "unverified-is-told-nothing",
        "verified_for",
        "isinstance(verdict, Schedule)",
        "False",
        "A schedule that is not verified is answered as any other value.",
        _GIVEN,
    ),
    Mutant(
        "for-another-kind",
        "verified_for",
        "not isinstance(verdict.device, kind)",
        "False",
        "A schedule verified for a GPU is compiled for the CPU.",
        _GIVEN,
    ),
    Mutant(
        "sizes-below-and-above",
        "arguments:_promised",
        "value in limits['le']",
        "True",
        "The least size that is required is taken for the size.",
        _ARGUMENTS,
    ),
    Mutant(
        "said-to-begin-at-zero",
        "_promised_ranges",
        "0 if low is None or not low.names <= known.keys() else evaluate(low, known)",
        "0",
        "An output begins at 0 whatever the pipeline says.",
        _ARGUMENTS,
    ),
    Mutant(
        "any-version-of-a-document",
        "from_json",
        "type(version) is not int or version != VERSION",
        "type(version) is not int",
        "Documents of a later format are read as if they were of this one.",
        ("test_serialize.py",),
    ),
)
