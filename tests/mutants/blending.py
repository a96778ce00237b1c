"""Bugs in tails that keep what other tiles hold."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("test_blends.py",)

MUTANTS = (
    Mutant(
        "shifted-tiles-blend-the-end",
        "_undo",
        "base - inner <= extent - factor",
        "base + inner < extent",
        "What a shifted tile repeats is changed twice, and its own last values never.",
        _TESTS,
    ),
    Mutant(
        "shifted-tiles-blend-one-too-many",
        "_undo",
        "base - inner <= extent - factor",
        "base - inner < extent - factor",
        "The first value of a shifted tile is left to the tile before it.",
        _TESTS,
    ),
    Mutant(
        "blended-tiles-read-less",
        "_READS",
        "{**..., Tail.ROUND_UP_AND_BLEND: Tail.ROUND_UP}",
        "{**..., Tail.ROUND_UP_AND_BLEND: Tail.GUARD_WITH_IF}",
        "Less is asked of images than whole tiles read.",
        _TESTS,
    ),
    Mutant(
        "blended-tiles-compute-less",
        "_WRITES",
        "{**..., Tail.ROUND_UP_AND_BLEND: Tail.ROUND_UP}",
        "{**..., Tail.ROUND_UP_AND_BLEND: Tail.GUARD_WITH_IF}",
        "There is no room for the whole tiles that are stored.",
        _TESTS,
    ),
    Mutant(
        "blended-by-threads",
        "blended_by_threads",
        "loop.kind.uses_threads",
        "loop.kind.is_gpu",
        "Threads blend values that others compute.",
        _TESTS,
    ),
)
