"""Edits that leave out a directive about layout, bounds, memory, prefetching or special cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from attrs import evolve

from spaces.constraints.repairs.edit import Edit, Rank
from spaces.model.schedules.conditions import format_condition
from spaces.model.schedules.domain_order import DomainOrder
from spaces.model.schedules.schedule import INLINE, FuncSchedule, Schedule
from spaces.model.writing.calls import (
    DirectiveCall,
    bound_call,
    companion_call,
    hoist_call,
    prefetch_call,
)
from spaces.model.writing.text import format_call

_T = TypeVar("_T")


def left_out(schedule: Schedule, func: str) -> Iterator[Edit]:
    """Each such directive of a Func left out, one at a time."""
    entry = schedule.of(func)
    for text, changed in (*_of_func(entry), *_of_stages(entry)):
        yield Edit(func, f"{text} left out", Rank.FOLD, 1.0, schedule.replace(changed))


def _of_func(entry: FuncSchedule) -> Iterator[tuple[str, FuncSchedule]]:
    for order, orders in _without_each(entry.storage_orders):
        call = DirectiveCall("reorder_storage", order)
        yield _written(entry, 0, call), evolve(entry, storage_orders=orders)
    for pad, pads in _without_each(entry.pads):
        call = DirectiveCall("align_storage", (pad.dimension, pad.multiple))
        yield _written(entry, 0, call), evolve(entry, pads=pads)
    for limit, limits in _without_each(entry.storage_bounds):
        call = DirectiveCall("bound_storage", (limit.dimension, limit.extent))
        yield _written(entry, 0, call), evolve(entry, storage_bounds=limits)
    for bound, bounds in _without_each(entry.bounds):
        yield _written(entry, 0, bound_call(bound)), evolve(entry, bounds=bounds)
    if not entry.hoist.is_inline:
        yield _written(entry, 0, hoist_call(entry.hoist)), evolve(entry, hoist=INLINE)
    for one, others in _without_each(entry.companions):
        yield _written(entry, one.stage, companion_call(one)), evolve(entry, companions=others)


def _of_stages(entry: FuncSchedule) -> Iterator[tuple[str, FuncSchedule]]:
    for stage, atomic in _without_each(entry.atomic):
        yield _written(entry, stage, DirectiveCall("atomic")), evolve(entry, atomic=atomic)
    for special, specials in _without_each(entry.specializations):
        condition = format_condition(special.condition)
        text = f"{_stage(entry, special.stage)}.specialize({condition})"
        yield text, evolve(entry, specializations=specials)
    for stage, order in enumerate(entry.stages):
        for ahead, prefetches in _without_each(order.prefetches):
            changed = evolve(order, prefetches=prefetches)
            yield _written(entry, stage, prefetch_call(ahead)), _with(entry, stage, changed)
        for policy, partitions in _without_each(order.partitions):
            changed = evolve(order, partitions=partitions)
            call = DirectiveCall("partition", (policy.loop, policy.policy))
            yield _written(entry, stage, call), _with(entry, stage, changed)


def _without_each(records: tuple[_T, ...]) -> Iterator[tuple[_T, tuple[_T, ...]]]:
    """Each record, and those that stay without it."""
    for i, record in enumerate(records):
        yield record, (*records[:i], *records[i + 1 :])


def _with(entry: FuncSchedule, stage: int, order: DomainOrder) -> FuncSchedule:
    return evolve(entry, stages=(*entry.stages[:stage], order, *entry.stages[stage + 1 :]))


def _written(entry: FuncSchedule, stage: int, call: DirectiveCall) -> str:
    return f"{_stage(entry, stage)}.{format_call(call)}"


def _stage(entry: FuncSchedule, stage: int) -> str:
    return entry.name if stage == 0 else f"{entry.name}.update({stage - 1})"
