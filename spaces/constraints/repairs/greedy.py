"""A legal schedule found quickly: the edit that leaves the least wrong, again and again."""

from __future__ import annotations

from spaces.constraints.judge import ask_matching
from spaces.constraints.repairs.edit import Edit
from spaces.constraints.repairs.factors import Found, nearest_factors
from spaces.constraints.repairs.names import is_covered
from spaces.constraints.repairs.search import Culprits, Search, Support
from spaces.constraints.rules.catalogue import rule
from spaces.constraints.rules.rule import CallRule, OwnRule
from spaces.constraints.verdict import Illegal
from spaces.constraints.verify import verify
from spaces.model.schedule import Schedule

MOST_STEPS = 16
"""Edits after which it is given up."""


def descend(search: Search, schedule: Schedule) -> Found | None:
    """A legal schedule, by edits that each leave fewer violations than there were, or None.

    Raises:
        OutOfTime: the time of the search is up.
    """
    edits: tuple[Edit, ...] = ()
    wrong = _wrong(search, schedule)
    for _ in range(MOST_STEPS):
        if wrong == _NOTHING:
            return Found(0.0, schedule, edits)
        funcs = frozenset(Culprits.of(_illegal(search, schedule)).funcs)
        if is_covered(search.pipeline, schedule) and not any(
            ask_matching(search.pipeline, schedule)
        ):
            args = (search.pipeline, schedule, search.device, 1, float("inf"), search.tick)
            found = nearest_factors(*args)
            if found is not None:
                return Found(found.distance, found.after, (*edits, *found.edits))
        best: Edit | None = None
        for edit in search.edits(schedule, Support(funcs)):
            search.tick()
            after = _wrong(search, edit.after)
            if after < wrong:
                best, wrong = edit, after
                if wrong == _NOTHING:
                    break
        if best is None:
            return None
        schedule, edits = best.after, (*edits, best)
    return None


_NOTHING = (0, 0)


def _wrong(search: Search, schedule: Schedule) -> tuple[int, int]:
    """How much is wrong: rules that are asked first count for more, then how many violations."""
    verdict = verify(search.pipeline, schedule, search.device)
    if not isinstance(verdict, Illegal):
        return _NOTHING
    first = rule(verdict.violations[0].rule)
    phase = 2 if isinstance(first, OwnRule | CallRule) else 1
    return phase if is_covered(search.pipeline, schedule) else 3, len(verdict.violations)


def _illegal(search: Search, schedule: Schedule) -> Illegal:
    verdict = verify(search.pipeline, schedule, search.device)
    return verdict if isinstance(verdict, Illegal) else Illegal(())
