"""How far the structures of two schedules are apart."""

from __future__ import annotations

from functools import lru_cache

from attrs import evolve

from spaces.constraints.repairs.reset import differences
from spaces.model.schedules.domain_order import DomainOrder, Split
from spaces.model.schedules.schedule import FuncSchedule, Schedule

_ANY = "any"
"""The factor of every split in a bare structure."""


def strip_factors(schedule: Schedule) -> Schedule:
    """The structure of a schedule: the same with all split factors alike."""
    return schedule.with_funcs(map(_bare_entry, schedule.funcs))


def structure_distance(one: Schedule, other: Schedule) -> int:
    """The number of decisions, split factors aside, in which two bare structures of a pipeline
    differ; at least 1 if they are not equal.
    """
    if one == other:
        return 0
    entries = {entry.name: entry for entry in other.funcs}
    found = sum(differences(e, entries[e.name]) for e in one.funcs if e.name in entries)
    return max(1, found + abs(len(one.funcs) - len(other.funcs)))


def is_nearer(one: Schedule, other: Schedule, least: int) -> bool:
    """Whether two bare structures differ in fewer decisions than ``least``, which is positive. Two
    that differ at all do so in one decision, so most questions need no count.
    """
    return one == other if least == 1 else structure_distance(one, other) < least


@lru_cache(maxsize=4096)
def _bare_entry(entry: FuncSchedule) -> FuncSchedule:
    """An entry with all split factors alike; schedules that a search compares share entries."""
    return evolve(entry, stages=tuple(map(_bare_order, entry.stages)))


def _bare_order(order: DomainOrder) -> DomainOrder:
    splits = (evolve(s, factor=_ANY) if isinstance(s, Split) else s for s in order.splits)
    return evolve(order, splits=tuple(splits))
