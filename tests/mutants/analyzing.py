"""Bugs in the reuse analysis."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("enumerate/test_reuse_analysis.py",)

ANALYZING = (
    Mutant(
        "overlap-of-single-steps",
        "overlap",
        "2 * int(first) - int(both)",
        "int(first) - 1",
        "Steps of two pixels overlap like steps of one.",
        _TESTS,
    ),
    Mutant(
        "computed-in-the-innermost-loop",
        "_fused_place",
        "depth == len(nest) or loop.is_column or loop.is_reduction",
        "loop.is_column or loop.is_reduction",
        "Algorithm 1 computes a stage at the innermost loop of a tile.",
        _TESTS,
    ),
    Mutant(
        "trivial-stages-drop-their-place",
        "trivial_inlined",
        "places[callee] = place",
        "pass",
        "Algorithm 2 leaves the producer of a trivial stage inlined.",
        _TESTS,
    ),
    Mutant(
        "loads-alone-cost",
        "segment_cost",
        "cost = cost + func.redundant",
        "pass",
        "The cost of a segment leaves out what it computes again.",
        _TESTS,
    ),
    Mutant(
        "first-segments-cost-nothing",
        "Segmentation._splits",
        "self._cost(first) + cost",
        "cost",
        "Algorithm 5 prices only what comes after the first cut.",
        _TESTS,
    ),
)
