"""The schedule of one Func for another one, dimension by dimension."""

from __future__ import annotations

from attrs import evolve

from spaces.model.algorithm.pipeline import Function
from spaces.model.schedules.domain_order import (
    DomainOrder,
    Fuse,
    LoopKind,
    OrderedLoop,
    Split,
    made_from,
)
from spaces.model.schedules.schedule import FuncSchedule


def copy_entry(
    source: FuncSchedule, target: FuncSchedule, of_source: Function, of_target: Function
) -> FuncSchedule:
    """The entry of the target with the levels and the domain orders of the source. Dimensions
    correspond by their place, innermost first. A stage that the source lacks keeps its order.
    """
    stages = list(target.stages)
    for index, order in enumerate(source.stages[: len(stages)]):
        dimensions = (one.stages[index].dimensions for one in (of_source, of_target))
        stages[index] = _copy_order(order, *dimensions)
    levels = target if target.name in source.hosts else source
    return evolve(target, stages=tuple(stages), compute=levels.compute, store=levels.store)


def _copy_order(
    order: DomainOrder, source: tuple[str, ...], target: tuple[str, ...]
) -> DomainOrder:
    """The domain order of a stage for one with other dimensions. What is made from a dimension
    without a counterpart is left out; a dimension without one is a serial loop, outermost.
    """
    without = source[len(target) :]
    gone, records = set(without), []
    for record in order.splits:
        if gone.isdisjoint(record.taken):
            records.append(record)
        else:
            gone.update(record.made)
    names = dict(zip(source, target, strict=False))
    for name in order.all_names - {*names}:
        names[name] = f"{name}_" if name in target else name
    lost = made_from(without, order.splits)
    loops = [
        OrderedLoop(names[loop.name], loop.kind) for loop in order.loops if loop.name not in lost
    ]
    outside = [OrderedLoop(name, LoopKind.SERIAL) for name in reversed(target[len(source) :])]
    return DomainOrder(tuple(_rename(one, names) for one in records), (*outside, *loops))


def _rename(record: Split | Fuse, names: dict[str, str]) -> Split | Fuse:
    if isinstance(record, Split):
        old, outer, inner = (names[one] for one in (record.old, record.outer, record.inner))
        return evolve(record, old=old, outer=outer, inner=inner)
    inner, outer, fused = (names[one] for one in (record.inner, record.outer, record.fused))
    return evolve(record, inner=inner, outer=outer, fused=fused)
