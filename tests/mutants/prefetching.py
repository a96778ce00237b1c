"""Bugs in what is prefetched."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("test_prefetch.py",)

PREFETCHING = (
    Mutant(
        "prefetched-now",
        "_of_stage",
        "record.offset",
        "0",
        "What this iteration reads is prefetched, not what a later one does.",
        _TESTS,
    ),
    Mutant(
        "prefetched-beyond-the-end",
        "_of_stage",
        "later <= origin.max",
        "origin.var <= origin.max",
        "What no iteration will read is prefetched.",
        _TESTS,
    ),
    Mutant(
        "last-line-left-out",
        "_lines",
        "(high - low + step - 1) / step + 1",
        "(high - low + step - 1) / step",
        "The line that holds the last value is not prefetched.",
        _TESTS,
    ),
    Mutant(
        "readers-outside-the-loop",
        "Bounds.read_inside",
        "path.index(loop) + 1",
        "path.index(loop)",
        "What all iterations of the loop read is prefetched in each.",
        _TESTS,
    ),
    Mutant(
        "clamped-to-the-first",
        "_of_stage",
        "fn.min(later, origin.max)",
        "fn.min(later, origin.min)",
        "Past the end what the first iteration has read is prefetched.",
        _TESTS,
    ),
    Mutant(
        "prefetched-before-it-is-stored",
        "unread",
        "loop not in _stored(records, one.target)",
        "loop in _stored(records, one.target)",
        "What is stored inside the loop may be prefetched at its beginning, and nothing else.",
        ("rules/test_examples.py",),
    ),
    Mutant(
        "prefetched-around-kernels",
        "_kernel_at",
        "loop in inside",
        "loop == inside",
        "The host is to prefetch where it launches kernels.",
        ("test_gpu_prefetch.py",),
    ),
)
