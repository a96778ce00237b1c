"""Bugs in what is said of estimates that no schedule can meet."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("test_estimates.py",)

ESTIMATES = (
    Mutant(
        "needed-short-of-the-last",
        "_corners",
        "low + extent - 1",
        "low + extent - 2",
        "The last value of an output needs nothing.",
        _TESTS,
    ),
    Mutant(
        "needed-where-no-iteration-runs",
        "_NeededPoints._running",
        "runs &= np.asarray(holds, np.bool_)",
        "runs |= np.asarray(holds, np.bool_)",
        "Iterations that a reduction domain leaves out read, too.",
        _TESTS,
    ),
    Mutant(
        "needed-by-the-innermost",
        "_outermost",
        "np.argmax(directions @ table, axis=1)",
        "np.argmin(np.abs(directions @ table), axis=1)",
        "The points that are followed are not the outermost ones.",
        _TESTS,
    ),
    Mutant(
        "writes-of-updates-forgotten",
        "_NeededPoints._follow",
        "stage is not function.stages[0]",
        "stage is function.stages[0]",
        "Updates need no place to write to.",
        _TESTS,
    ),
    Mutant(
        "short-at-one-end-only",
        "shortages",
        "needed[0] < given[0] or needed[1] > given[1]",
        "needed[1] > given[1]",
        "An image that begins too late is large enough.",
        _TESTS,
    ),
    Mutant(
        "schedule-blamed-for-estimates",
        "verify",
        "(v for v in verdict.violations if not is_repeated(v, short))",
        "iter(verdict.violations)",
        "An estimate that the pipeline cannot meet is reported once for each side of each image.",
        _TESTS,
    ),
    Mutant(
        "strides-shared-unseen",
        "_memory_problems",
        "extents[a] > other // common and extents[b] > one // common",
        "extents[a] > other and extents[b] > one",
        "Strides are taken to have no common divisor.",
        _TESTS,
    ),
)
