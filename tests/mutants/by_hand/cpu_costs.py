"""Bugs in prices of nests that are equal, but whose directives differ."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_COUNTS = ("features/test_counts.py",)
_EQUAL_NESTS = ("cost/test_equal_nests.py",)

CPU_COSTS = (
    Mutant(
        "guards-of-made-loops-skip-nothing",
        "extraction:_undo",
        "step.tail in GUARDED",
        "step.tail in GUARDED and step.dimension",
        "A guard along a loop that a split or fuse made skips no evaluations.",
        _COUNTS,
    ),
    Mutant(
        "tiles-have-names",
        "loop_overhead:_is_tile",
        "one.trips > 1",
        '(one.trips > 1) & (loop.loop < "b")',
        "Whether a loop is a tile depends on its name.",
        _EQUAL_NESTS,
    ),
)
