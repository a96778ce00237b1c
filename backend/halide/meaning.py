"""What some schedules that Halide accepts mean there, said in words of this library."""

from __future__ import annotations

from collections.abc import Collection

from attrs import evolve

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.domain_order import DomainOrder, LoopKind
from spaces.model.schedules.schedule import Schedule


def as_halide_means(schedule: Schedule, pipeline: Pipeline) -> Schedule:
    """A schedule read from Halide, as Halide follows it.

    Serial loops between two thread loops, which Halide runs as if they were outside of both, are
    outside here. Orders of an output in memory are left out: Halide takes the array as it is.
    """
    levels = {level for entry in schedule.funcs for level in (entry.compute, entry.store)}
    entries = []
    for entry in schedule.funcs:
        orders = () if entry.name in pipeline.outputs else entry.storage_orders
        named = {level.loop for level in levels if level.func == entry.name}
        stages = tuple(_threads_together(order, named) for order in entry.stages)
        entries.append(evolve(entry, stages=stages, storage_orders=orders))
    return schedule.with_funcs(entries)


def _threads_together(order: DomainOrder, named: Collection[str]) -> DomainOrder:
    """An order with the serial loops between its thread loops outside of them. The order itself if
    there are other loops between them, or if a Func is computed or stored at one of these.
    """
    places = [i for i, loop in enumerate(order.loops) if loop.kind is LoopKind.GPU_THREAD]
    if not places:
        return order
    first, last = places[0], places[-1] + 1
    between = order.loops[first:last]
    threads = tuple(loop for loop in between if loop.kind is LoopKind.GPU_THREAD)
    others = tuple(loop for loop in between if loop.kind is not LoopKind.GPU_THREAD)
    if any(loop.kind is not LoopKind.SERIAL or loop.name in named for loop in others):
        return order
    loops = (*order.loops[:first], *others, *threads, *order.loops[last:])
    return evolve(order, loops=loops)
