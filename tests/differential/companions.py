"""Stages computed with each other, and Funcs computed inside their fused loops."""

from __future__ import annotations

import random
from itertools import takewhile

from attrs import evolve

from spaces import LevelError, LoopAlign, LoopLevel, Pipeline, Schedule, Split, StageOf, Tail
from spaces.model.schedules.fused_groups import companions, leaders
from spaces.model.schedules.levels import Levels
from spaces.model.schedules.schedule import INLINE, ROOT, Companion, FuncSchedule


def with_companions(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """Now and then stages in the same loops, and what they read inside these."""
    while rng.random() < 0.5:
        schedule = with_companion(rng, pipeline, schedule)
    return schedule


def with_companion(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """A stage in the loops of a stage of another Func, where two fit together."""
    known = {function.name for function in pipeline.functions}
    stored = [f.name for f in schedule.funcs if f.name in known and not f.compute.is_inline]
    pairs = [
        (a, b)
        for a in stored
        for b in stored
        if a != b and b not in pipeline.producers[a] and a not in pipeline.producers[b]
    ]
    if rng.random() < 0.03 and len(stored) > 1:
        pairs = [tuple(rng.sample(stored, 2))]
    if not pairs:
        return schedule
    names = rng.choice(pairs)
    if names[0] in leaders(schedule).get(names[1], ()) and rng.random() < 0.9:
        names = names[::-1]
    child, parent = (schedule.of(name) for name in names)
    if child.compute != parent.compute:
        for func in schedule.funcs:
            if any(func.name == n or func.name in pipeline.producers[n] for n in names):
                schedule = schedule if func.compute.is_inline else schedule.replace(_at_root(func))
        child, parent = (schedule.of(name) for name in names)
    mine = rng.randrange(len(child.stages))
    alike = [i for i in range(len(parent.stages)) if rng.random() < 0.2 or (i > 0) == (mine > 0)]
    if not alike:
        return schedule
    theirs = rng.choice(alike)
    order, other = child.stages[mine], parent.stages[theirs]
    dimensions = [
        sorted(pipeline.function(f.name).stages[i].dimensions)
        for f, i in ((child, mine), (parent, theirs))
    ]
    if dimensions[0] == dimensions[1] and _is_free(schedule, StageOf(child.name, mine)):
        tail = rng.choice((Tail.AUTO, Tail.GUARD_WITH_IF))
        splits = (evolve(s, tail=tail) if isinstance(s, Split) else s for s in other.splits)
        order = evolve(other, splits=tuple(splits), prefetches=())
    both = zip(order.loops, other.loops, strict=False)
    shared = [a.name for a, _ in takewhile(lambda pair: pair[0] == pair[1], both)]
    if not shared:
        return schedule
    aligned = tuple((n, rng.choice(tuple(LoopAlign)[1:])) for n in shared if rng.random() < 0.4)
    one = Companion(StageOf(parent.name, theirs), rng.choice(shared), aligned, mine)
    stages = (*child.stages[:mine], order, *child.stages[mine + 1 :])
    fused = evolve(child, stages=stages, companions=(*child.companions, one))
    schedule = schedule.replace(fused)
    if rng.random() < 0.7:
        for func in (fused, schedule.of(parent.name)):
            schedule = schedule.replace(evolve(func, specializations=()))
    for _ in range(rng.choice((0, 3, 6))):
        schedule = _inside(rng, pipeline, schedule, fused, one)
    return schedule


def _at_root(func: FuncSchedule) -> FuncSchedule:
    return evolve(func, compute=ROOT, store=ROOT, hoist=INLINE, folds=())


def _is_free(schedule: Schedule, stage: StageOf) -> bool:
    """Whether no other stage and no level is about the loops of a stage."""
    pairs = companions(schedule)
    levels = {level.func for f in schedule.funcs for level in (f.compute, f.store, f.hoist)}
    return stage not in pairs | {p.other: p for p in pairs.values()} and stage.func not in levels


def _inside(
    rng: random.Random, pipeline: Pipeline, schedule: Schedule, child: FuncSchedule, one: Companion
) -> Schedule:
    """Something that one of two stages reads, computed at one of their loops."""
    funcs = rng.choice((child.name, one.other.func, one.other.func))
    names = child.stages[one.stage].names
    read = [
        f.name
        for f in pipeline.functions
        if f.name in pipeline.function(funcs).callees and f.name not in (child.name, funcs)
    ]
    if not read:
        return schedule
    moved = schedule.of(rng.choice(read))
    level = LoopLevel(funcs, rng.choice(names[: names.index(one.loop) + 1]))
    store = ROOT if rng.random() < 0.3 else level
    inside = schedule.replace(_at_root(moved)).replace(
        evolve(_at_root(moved), compute=level, store=store)
    )
    try:
        Levels(pipeline, inside).compute_path(moved.name)
    except LevelError:
        return inside if rng.random() < 0.03 else schedule
    return inside
