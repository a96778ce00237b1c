"""Finds a legal schedule quickly: each step takes the edit that mends one violation and leaves the
fewest others.
"""

from __future__ import annotations

from spaces.constraints.legality.judge import ask_matching
from spaces.constraints.legality.verdict import Illegal
from spaces.constraints.legality.verify import verify
from spaces.constraints.repairs.edit import Edit
from spaces.constraints.repairs.factors import NearestFactors, nearest_factors
from spaces.constraints.repairs.search import Search, Support
from spaces.constraints.rules.findings import Violation
from spaces.model.schedules.schedule import Schedule

MOST_STEPS = 16
"""The most edits before the descent gives up."""


def descend(search: Search, schedule: Schedule) -> NearestFactors | None:
    """A legal schedule, by edits that each mend one violation. Violations of consumers come first,
    because producers are computed in their loops. None if no edit mends a violation, or if edits
    lead back to an earlier schedule.

    Raises:
        OutOfTime: the time of the search is up.
    """
    edits: tuple[Edit, ...] = ()
    seen = {schedule}
    places = {function.name: i for i, function in enumerate(search.pipeline.functions)}
    for _ in range(MOST_STEPS):
        wrong = _violations(search, schedule)
        if not wrong:
            return NearestFactors(0.0, schedule, edits)
        if not any(ask_matching(search.pipeline, schedule)):
            found = nearest_factors(
                search.pipeline, schedule, search.device, 1, float("inf"), search.tick
            )
            if found is not None:
                return NearestFactors(found.distance, found.after, (*edits, *found.edits))
        edit = _mending(search, schedule, max(wrong, key=lambda v: places.get(v.func, -1)))
        if edit is None or edit.after in seen:
            return None
        schedule, edits = edit.after, (*edits, edit)
        seen.add(schedule)
    return None


def _mending(search: Search, schedule: Schedule, violation: Violation) -> Edit | None:
    """The edit of a Func that removes a violation and leaves the fewest violations."""
    best: Edit | None = None
    fewest = float("inf")
    for edit in search.edits(schedule, Support(frozenset({violation.func}))):
        search.tick()
        left = _violations(search, edit.after)
        gone = all(_key(v) != _key(violation) for v in left)
        if gone and len(left) < fewest:
            best, fewest = edit, len(left)
            if not left:
                break
    return best


def _violations(search: Search, schedule: Schedule) -> tuple[Violation, ...]:
    verdict = verify(search.pipeline, schedule, search.device)
    return verdict.violations if isinstance(verdict, Illegal) else ()


def _key(violation: Violation) -> tuple[str, str, int, str]:
    return violation.rule, violation.func, violation.stage, violation.loop
