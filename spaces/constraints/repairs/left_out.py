"""Edits that leave out a directive about layout, bounds, memory, hints or special cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from attrs import evolve

from spaces.constraints.repairs.ranked_edit import Rank, RankedEdit
from spaces.model.schedules.domain_order import HINTS, DomainOrder
from spaces.model.schedules.schedule import INLINE, SETTINGS, FuncSchedule, Schedule

_T = TypeVar("_T")


def leave_out_directives(schedule: Schedule, func: str) -> Iterator[RankedEdit]:
    """Edits that each leave out one such directive of a Func."""
    entry = schedule.of(func)
    for changed in (*_of_func(entry), *_of_stages(entry)):
        yield RankedEdit(func, schedule.replace(changed), Rank.FOLD, 1.0)
    for stage, changed in _of_numbered_stages(entry):
        # No directive can be about a stage that the Func does not have.
        text = "" if 0 <= stage < len(entry.stages) else f"{func}: stage {stage} left out"
        yield RankedEdit(func, schedule.replace(changed), Rank.FOLD, 1.0, text=text)


def _of_func(entry: FuncSchedule) -> Iterator[FuncSchedule]:
    for orders in _without_each(entry.storage_orders):
        yield evolve(entry, storage_orders=orders)
    for pads in _without_each(entry.pads):
        yield evolve(entry, pads=pads)
    for limits in _without_each(entry.storage_bounds):
        yield evolve(entry, storage_bounds=limits)
    for bounds in _without_each(entry.bounds):
        yield evolve(entry, bounds=bounds)
    if not entry.hoist.is_inline:
        yield evolve(entry, hoist=INLINE)
    for setting, default in SETTINGS.items():
        if getattr(entry, setting) != default:
            changed: dict[str, Any] = {setting: default}
            yield evolve(entry, **changed)


def _of_stages(entry: FuncSchedule) -> Iterator[FuncSchedule]:
    for stage, order in enumerate(entry.stages):
        for part in HINTS:
            for hints in _without_each(getattr(order, part)):
                yield _with(entry, stage, evolve(order, **{part: hints}))


def _of_numbered_stages(entry: FuncSchedule) -> Iterator[tuple[int, FuncSchedule]]:
    """The directives about stages by number, each with the entry without it."""
    for one, companions in zip(entry.companions, _without_each(entry.companions), strict=True):
        yield one.stage, evolve(entry, companions=companions)
    for stage, atomic in zip(entry.atomic, _without_each(entry.atomic), strict=True):
        yield stage, evolve(entry, atomic=atomic)
    specials = entry.specializations
    for special, others in zip(specials, _without_each(specials), strict=True):
        yield special.stage, evolve(entry, specializations=others)


def _without_each(records: tuple[_T, ...]) -> Iterator[tuple[_T, ...]]:
    """For each record, all other records."""
    for i in range(len(records)):
        yield (*records[:i], *records[i + 1 :])


def _with(entry: FuncSchedule, stage: int, order: DomainOrder) -> FuncSchedule:
    return evolve(entry, stages=(*entry.stages[:stage], order, *entry.stages[stage + 1 :]))
