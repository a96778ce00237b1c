"""Bugs in time limits, and in the first and the best schedules of a search."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_DEADLINES = ("test_deadline.py",)
_SEARCHES = ("test_time_limits.py",)
_BOUNDS = ("test_lower_bound.py",)

MUTANTS = (
    Mutant(
        "inner-deadlines-replace-outer-ones",
        "deadline:Deadline.kept",
        "min(self.at, _kept.get())",
        "self.at",
        "A later deadline inside an earlier one lets work go on.",
        _DEADLINES,
    ),
    Mutant(
        "unlisted-obligations-are-lost",
        "proofs_in_time",
        "yield unlisted(listed)",
        "return",
        "A report without time to list all obligations looks complete.",
        _DEADLINES,
    ),
    Mutant(
        "ladders-need-no-verdict",
        "_climbed",
        "schedule in seen or not space.verdict(schedule)",
        "schedule in seen",
        "The first schedule of a search may be illegal.",
        _SEARCHES,
    ),
    Mutant(
        "half-decided-schedules-are-dropped",
        "walked",
        "yield from task.completions(states)",
        "pass",
        "A stage-by-stage search forgets what it has decided when its time ends.",
        _SEARCHES,
    ),
    Mutant(
        "inlining-changes-no-operations",
        "_changes_readers",
        "return may_inline or may_reorder or len(function.types) > 1",
        "return False",
        "A lower bound counts operations that a constant, inlined later, makes needless.",
        _BOUNDS,
    ),
    Mutant(
        "open-numbers-are-dear",
        "lower_bound:_cheapest",
        "np.min",
        "np.max",
        "A lower bound takes the dearest number where one is open.",
        _BOUNDS,
    ),
    Mutant(
        "pruned-at-half-the-cost",
        "exhaustive",
        "partial.bound(model) > worst",
        "partial.bound(model) * 2 > worst",
        "An exhaustive search prunes schedules that it would keep.",
        ("test_search.py",),
    ),
    Mutant(
        "near-copies-among-the-best",
        "Board.offer",
        "apart(s, structure) < self.limits.apart",
        "s == structure",
        "Two of the best schedules differ in fewer decisions than the limits ask.",
        _SEARCHES,
    ),
    Mutant(
        "estimates-without-a-width",
        "CountEstimate._reach",
        "extra / 4",
        "0.0",
        "The interval of an estimate has no width if every draw is legal.",
        _SEARCHES,
    ),
)
