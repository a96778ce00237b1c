"""How far the structures of two schedules are apart."""

from __future__ import annotations

from attrs import evolve

from spaces.constraints.repairs.reset import differences
from spaces.model.schedules.domain_order import DomainOrder, Split
from spaces.model.schedules.schedule import Schedule

_ANY = "any"
"""The factor of every split in a bare structure."""


def bare(schedule: Schedule) -> Schedule:
    """The structure of a schedule: the same with all split factors alike."""
    return schedule.with_funcs(
        evolve(entry, stages=tuple(map(_bare_order, entry.stages))) for entry in schedule.funcs
    )


def apart(one: Schedule, other: Schedule) -> int:
    """The number of decisions, split factors aside, in which two bare structures of a pipeline
    differ; at least 1 if they are not equal.
    """
    if one == other:
        return 0
    entries = {entry.name: entry for entry in other.funcs}
    found = sum(differences(e, entries[e.name]) for e in one.funcs if e.name in entries)
    return max(1, found + abs(len(one.funcs) - len(other.funcs)))


def _bare_order(order: DomainOrder) -> DomainOrder:
    splits = (evolve(s, factor=_ANY) if isinstance(s, Split) else s for s in order.splits)
    return evolve(order, splits=tuple(splits))
