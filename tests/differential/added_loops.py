"""Loops of a schedule that is drawn already get another kind, are split or are fused."""

from __future__ import annotations

from attrs import evolve

from spaces import LoopKind, OrderedLoop, Schedule, Split, Tail
from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.model.schedules.schedule import INLINE
from tests.differential.drawn_schedule import (
    AT_ONCE,
    ON_GPUS,
    DrawnSchedule,
    loop_kinds,
    unused_name,
)


def with_kind(drawn: DrawnSchedule, kind: LoopKind, update: bool) -> Schedule:
    """A loop of the kind, in an update or anywhere; vectors and unrolled loops come from splits."""
    if kind in ON_GPUS:
        return drawn.schedule  # a grid is more than one loop: schedules of GPUs draw it
    for function, entry in drawn.funcs(update):
        stages = range(1, len(entry.stages)) if update else range(len(entry.stages))
        index = drawn.rng.choice(list(stages))
        racing = racing_dimensions(function, index)
        order = entry.stages[index]
        serial = [n for n in order.names if order.kind(n) is LoopKind.SERIAL]
        free = [n for n in serial if kind is LoopKind.UNROLLED or n not in racing]
        if not free:
            continue
        stage = drawn.at(entry, index)
        if kind is LoopKind.PARALLEL:
            if not entry.compute.is_root and not entry.compute.is_inline:
                continue  # loops around it may be vectors, or those of a GPU
            if any(k in AT_ONCE for _, k in loop_kinds(order)):
                continue
            return stage.parallel(free[0]).schedule
        factor = drawn.rng.choice((2, 3, 4))
        return drawn.split(stage, free[-1], factor, Tail.AUTO, kind).schedule
    return drawn.schedule


def with_tail(drawn: DrawnSchedule, tail: Tail) -> Schedule:
    """A serial loop split with the tail."""
    blends = tail in (Tail.SHIFT_INWARDS_AND_BLEND, Tail.ROUND_UP_AND_BLEND)
    for function, entry in drawn.funcs(update=blends):
        index = drawn.rng.randrange(1, len(entry.stages)) if blends else 0
        racing = racing_dimensions(function, index)
        order = entry.stages[index]
        inner = {r.inner for r in order.splits if isinstance(r, Split)} | {*order.once}
        serial = [n for n, kind in loop_kinds(order) if kind is LoopKind.SERIAL and n not in inner]
        free = [n for n in serial if n not in racing]
        overruns = tail is Tail.ROUND_UP and function.name in drawn.whole.outputs
        if not free or (overruns and drawn.rng.random() < 0.8):
            continue
        kinds = (LoopKind.VECTORIZED, LoopKind.UNROLLED, LoopKind.SERIAL)
        kind = drawn.rng.choice(kinds if not blends else kinds[:1])
        loop = drawn.rng.choice(free[-2:])
        factor = drawn.rng.choice((2, 3, 4, 8))
        return drawn.split(drawn.at(entry, index), loop, factor, tail, kind).schedule
    return drawn.schedule


def with_single_thread(drawn: DrawnSchedule) -> Schedule:
    """One thread computes a stage that no other loops of GPUs are around."""
    for _, entry in drawn.funcs():
        index = drawn.rng.randrange(len(entry.stages))
        if entry.compute.is_root or entry.compute == INLINE:
            order = entry.stages[index]
            plain = [
                OrderedLoop(n) if k in ON_GPUS else OrderedLoop(n, k) for n, k in loop_kinds(order)
            ]
            bare = drawn.schedule.with_stage(entry.name, index, evolve(order, loops=tuple(plain)))
            return evolve(drawn, schedule=bare).at(entry, index).gpu_single_thread().schedule
    return drawn.schedule


def with_split_of_split(drawn: DrawnSchedule) -> Schedule:
    """A loop that a split has made, split."""
    for _, entry in drawn.funcs():
        for index, order in enumerate(entry.stages):
            made = [n for r in order.splits if isinstance(r, Split) for n in r.made]
            serial = [n for n, k in loop_kinds(order) if n in made and k is LoopKind.SERIAL]
            if serial:
                stage, loop = drawn.at(entry, index), drawn.rng.choice(serial)
                tail = drawn.rng.choice((Tail.AUTO, Tail.GUARD_WITH_IF))
                return drawn.split(stage, loop, 2, tail, LoopKind.SERIAL).schedule
    return drawn.schedule


def with_split_of_one_iteration(drawn: DrawnSchedule) -> Schedule:
    """A loop of one iteration, split."""
    for _, entry in drawn.funcs():
        for index, order in enumerate(entry.stages):
            if order.once:
                factor, tails = drawn.rng.choice((2, 3, 4)), (Tail.AUTO, Tail.GUARD_WITH_IF)
                kinds = (LoopKind.UNROLLED, LoopKind.VECTORIZED, LoopKind.SERIAL)
                return drawn.split(
                    drawn.at(entry, index),
                    drawn.rng.choice(order.once),
                    factor,
                    drawn.rng.choice(tails),
                    drawn.rng.choice(kinds),
                ).schedule
    return drawn.schedule


def with_fused_loops(drawn: DrawnSchedule) -> Schedule:
    """Two serial loops, one right inside the other, made one."""
    for function, entry in drawn.funcs():
        index = drawn.rng.randrange(len(entry.stages))
        order, racing = entry.stages[index], racing_dimensions(function, index)
        pairs = [
            (a, b)
            for (a, k), (b, other) in zip(loop_kinds(order), loop_kinds(order)[1:], strict=False)
            if k is other is LoopKind.SERIAL and not {a, b} & racing
        ]
        if pairs:
            outer, inner = drawn.rng.choice(pairs)
            return drawn.at(entry, index).fuse(inner, outer, unused_name(order)).schedule
    return drawn.schedule


def with_atomic_update(drawn: DrawnSchedule) -> Schedule:
    """An update whose iterations meet, in one step each; often they run at once."""
    for function, entry in drawn.funcs(update=True):
        for index in range(1, len(entry.stages)):
            racing, order = racing_dimensions(function, index), entry.stages[index]
            meeting = [n for n in order.names if n in racing]
            if meeting:
                stage = drawn.at(entry, index).atomic()
                loop = drawn.rng.choice(meeting)
                form, serial = drawn.rng.randrange(3), order.kind(loop) is LoopKind.SERIAL
                if form == 0 and loop == order.names[0]:
                    stage = stage.parallel(loop)
                elif form == 1 and serial:
                    kind = LoopKind.VECTORIZED
                    stage = drawn.split(stage, loop, 4, Tail.GUARD_WITH_IF, kind)
                return stage.schedule
    return drawn.schedule
