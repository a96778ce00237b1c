"""Finds a legal schedule quickly: each step takes the edit that mends one violation and leaves the
fewest others; or it computes a Func elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spaces.constraints.legality.judge import ask_matching
from spaces.constraints.legality.verdict import Illegal
from spaces.constraints.legality.verify import verify
from spaces.constraints.repairs.calls import CallEdits
from spaces.constraints.repairs.factors import NearestSchedule, nearest_factors
from spaces.constraints.repairs.ranked_edit import RankedEdit
from spaces.constraints.repairs.search import Search, Support
from spaces.constraints.rules.call_schedule import enclosing
from spaces.constraints.rules.findings import Violation
from spaces.constraints.rules.inlining import inline_size
from spaces.constraints.rules.records import Records
from spaces.model.schedules.schedule import ROOT, LoopLevel, Schedule

MOST_STEPS = 16
"""The most edits before the descent gives up."""


def descend(search: Search, schedule: Schedule) -> NearestSchedule | None:
    """A legal schedule, by edits that each mend one violation. Violations of consumers come first,
    because producers are computed in their loops. None if no edit mends a violation, or if edits
    lead back to an earlier schedule.

    Raises:
        OutOfTime: the time of the search is up.
    """
    edits: tuple[RankedEdit, ...] = ()
    seen = {schedule}
    for _ in range(MOST_STEPS):
        wrong = _violations(search, schedule)
        if not wrong:
            return NearestSchedule(0.0, schedule, edits)
        if not any(ask_matching(search.pipeline, schedule)):
            found = nearest_factors(
                search.pipeline, schedule, search.device, 1, float("inf"), search.tick
            )
            if found is not None:
                return NearestSchedule(found.distance, found.after, (*edits, *found.edits))
        violation = _choose_violation(search, wrong)
        edits_of_func = search.edits(schedule, Support(frozenset({violation.func})))
        edit = _mend(search, schedule, violation, edits_of_func)
        if edit is None or edit.after in seen:
            return None
        schedule, edits = edit.after, (*edits, edit)
        seen.add(schedule)
    return None


def place_anew(search: Search, schedule: Schedule) -> NearestSchedule | None:
    """A legal schedule in which a few Funcs are computed at other levels, which enclose every use.
    All else stays as it is. Each step mends one violation as :func:`descend` does. None if no such
    edit mends it.

    Raises:
        OutOfTime: the time of the search is up.
    """
    edits: tuple[RankedEdit, ...] = ()
    seen = {schedule}
    while wrong := _violations(search, schedule):
        violation = _choose_violation(search, wrong)
        placements = sorted(_placements(search, schedule, violation), key=lambda edit: edit.unlike)
        edit = _mend(search, schedule, violation, placements)
        if edit is None or edit.after in seen:
            return None
        schedule, edits = edit.after, (*edits, edit)
        seen.add(schedule)
    return NearestSchedule(0.0, schedule, edits)


def _placements(search: Search, schedule: Schedule, violation: Violation) -> Iterator[RankedEdit]:
    """The edits that compute the Func of a violation, or one in its loops, at a level that encloses
    every use. Inlining the Funcs shows which loops these are; where that is impossible, the level
    is root.
    """
    func, records = violation.func, Records(search.pipeline, schedule, search.device)
    has_levels = violation.rule != inline_size.id
    reached = {func}
    for entry in reversed(schedule.funcs):  # consumers first
        if entry.name == func or entry.compute.func in reached:
            reached.add(entry.name)
            path = (enclosing(records, entry.name) or ()) if has_levels else ()
            levels = [LoopLevel(loop.func, loop.loop) for loop in path]
            yield from CallEdits(search.pipeline, schedule, entry.name).place_at((ROOT, *levels))


def _choose_violation(search: Search, wrong: tuple[Violation, ...]) -> Violation:
    """The violation of the last consumer: producers are computed in its loops."""
    places = {function.name: i for i, function in enumerate(search.pipeline.functions)}
    return max(wrong, key=lambda v: places.get(v.func, -1))


def _mend(
    search: Search, schedule: Schedule, violation: Violation, edits: Iterable[RankedEdit]
) -> RankedEdit | None:
    """The edit that removes a violation and leaves the fewest violations."""
    best: RankedEdit | None = None
    fewest = float("inf")
    for edit in edits:
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
