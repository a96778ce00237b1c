"""One small edit of a schedule: the near-legal ones among illegal schedules."""

from __future__ import annotations

import random
from collections.abc import Callable

from attrs import evolve

from spaces.model.algorithm.pipeline import Pipeline, size_variable
from spaces.model.directives.directives import Directives
from spaces.model.schedules.derivations import Clone, Wrap
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import (
    DomainOrder,
    Fuse,
    LoopKind,
    OrderedLoop,
    Partition,
    Partitioned,
    Split,
    Tail,
)
from spaces.model.schedules.levels import Levels
from spaces.model.schedules.schedule import (
    INLINE,
    ROOT,
    Alignment,
    Bound,
    Fold,
    FuncSchedule,
    LoopLevel,
    MemoryType,
    Pad,
    Schedule,
    Specialization,
    StorageBound,
)

Edit = Callable[[random.Random, Pipeline, Schedule], Schedule]


def mutated(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """``schedule`` after one edit, seldom two."""
    pipeline = derived(pipeline, schedule)
    if not _has_all_stages(pipeline, schedule):
        return schedule  # edits ask where Funcs are, which has no answer here
    for _ in range(1 if rng.random() < 0.85 else 2):
        before = schedule
        for _ in range(8):  # an edit may find nothing to change
            edits = (_update,) if rng.random() < 0.2 else EDITS
            schedule = rng.choice(edits)(rng, pipeline, before)
            if schedule != before:
                break
        pipeline = derived(pipeline, schedule)
        if not _has_all_stages(pipeline, schedule):
            break  # other edits ask where Funcs are, which then has no answer
    return schedule


def _has_all_stages(pipeline: Pipeline, schedule: Schedule) -> bool:
    stages = {entry.name: len(entry.stages) for entry in schedule.funcs}
    return stages == {f.name: len(f.stages) for f in pipeline.functions}


def _some_func(rng: random.Random, schedule: Schedule) -> FuncSchedule:
    return rng.choice(schedule.funcs)


def _with_order(
    rng: random.Random, schedule: Schedule, change: Callable[[DomainOrder], DomainOrder]
) -> Schedule:
    """``change`` applied to the domain order of some stage."""
    func = _some_func(rng, schedule)
    written = [i for i, order in enumerate(func.stages) if order.loops]
    if not written:  # an edit before has taken them away
        return schedule
    index = rng.choice(written)
    return schedule.with_stage(func.name, index, change(func.stages[index]))


def _factor(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    def change(order: DomainOrder) -> DomainOrder:
        splits = [i for i, r in enumerate(order.splits) if isinstance(r, Split)]
        if not splits:
            return order
        at = rng.choice(splits)
        split = order.splits[at]
        assert isinstance(split, Split)
        old = split.factor if isinstance(split.factor, int) else 4
        factors = (old + 1, old - 1, old * 2, old + 3, 0, -1, 33, 7)
        changed = evolve(split, factor=rng.choice(factors) if rng.random() < 0.98 else "t_x")
        return evolve(order, splits=(*order.splits[:at], changed, *order.splits[at + 1 :]))

    return _with_order(rng, schedule, change)


def _tail(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    def change(order: DomainOrder) -> DomainOrder:
        return evolve(
            order,
            splits=tuple(
                evolve(r, tail=rng.choice(list(Tail))) if isinstance(r, Split) else r
                for r in order.splits
            ),
        )

    return _with_order(rng, schedule, change)


def _swap(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    def change(order: DomainOrder) -> DomainOrder:
        if len(order.loops) < 2:
            return order
        loops = list(order.loops)
        a, b = rng.sample(range(len(loops)), 2)
        loops[a], loops[b] = loops[b], loops[a]
        return evolve(order, loops=tuple(loops))

    return _with_order(rng, schedule, change)


def _kind(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    kinds = list(LoopKind) if rng.random() < 0.5 else [LoopKind.PARALLEL, LoopKind.VECTORIZED]

    def change(order: DomainOrder) -> DomainOrder:
        at = rng.randrange(len(order.loops))
        loop = evolve(order.loops[at], kind=rng.choice(kinds))
        return evolve(order, loops=(*order.loops[:at], loop, *order.loops[at + 1 :]))

    return _with_order(rng, schedule, change)


def _update(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """Two loops over a reduction change places, or one runs its iterations at once."""
    updated = [f for f in schedule.funcs if len(f.stages) > 1]
    if not updated:
        return schedule
    func = rng.choice(updated)
    index = rng.randrange(1, len(func.stages))
    loops = list(func.stages[index].loops)
    if not loops:
        return schedule
    reduced = [i for i, loop in enumerate(loops) if "r" in loop.name]
    a, b = rng.choice(reduced or range(len(loops))), rng.choice(reduced or range(len(loops)))
    if a == b or rng.random() < 0.5:
        kinds = {loop.kind for order in func.stages for loop in order.loops}
        gpu = kinds & {LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD}
        at_once = [*gpu] or [LoopKind.PARALLEL, LoopKind.VECTORIZED]
        loops[a] = evolve(loops[a], kind=rng.choice(sorted(at_once)))
    else:
        loops[a], loops[b] = loops[b], loops[a]
    return schedule.with_stage(func.name, index, evolve(func.stages[index], loops=tuple(loops)))


def _gpu_kind(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """A loop of a schedule for a GPU becomes one of blocks, of threads, or parallel."""
    kinds = (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD, LoopKind.GPU_THREAD, LoopKind.PARALLEL)

    def change(order: DomainOrder) -> DomainOrder:
        at = rng.randrange(len(order.loops))
        loop = evolve(order.loops[at], kind=rng.choice(kinds))
        return evolve(order, loops=(*order.loops[:at], loop, *order.loops[at + 1 :]))

    found = {loop.kind for f in schedule.funcs for order in f.stages for loop in order.loops}
    return _with_order(rng, schedule, change) if LoopKind.GPU_BLOCK in found else schedule


def _partition(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """Another policy for some loop."""

    def change(order: DomainOrder) -> DomainOrder:
        name = rng.choice((*order.names, *order.names, "w"))
        one = Partitioned(name, rng.choice(list(Partition)))
        return evolve(order, partitions=(*order.partitions, one))

    return _with_order(rng, schedule, change)


def _names(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """A loop left out, written twice, or misnamed."""

    def change(order: DomainOrder) -> DomainOrder:
        at = rng.randrange(len(order.loops))
        loop = order.loops[at]
        new = rng.choice(((), (loop, loop), (evolve(loop, name="q"),)))
        return evolve(order, loops=(*order.loops[:at], *new, *order.loops[at + 1 :]))

    return _with_order(rng, schedule, change)


def _records(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """A split or fuse left out, or one more fuse."""

    def change(order: DomainOrder) -> DomainOrder:
        if order.splits and rng.random() < 0.4:
            return evolve(order, splits=order.splits[:-1])
        if len(order.loops) < 2:
            return order
        outer, inner = rng.sample(order.loops, 2)
        at = order.loops.index(inner)
        loops = tuple(
            evolve(loop, name="u") if i == at else loop
            for i, loop in enumerate(order.loops)
            if loop is not outer
        )
        return DomainOrder((*order.splits, Fuse(inner.name, outer.name, "u")), loops)

    return _with_order(rng, schedule, change)


def _level(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """A compute or a store level, or both, moved to root, inline, or some loop."""
    func = _some_func(rng, schedule)
    level = rng.choice((*_levels(schedule), ROOT, INLINE))
    form = rng.randrange(3)
    if form == 0:
        return schedule.replace(evolve(func, compute=level, store=level))
    if form == 1:
        return schedule.replace(evolve(func, compute=level))
    return schedule.replace(evolve(func, store=level))


def _outwards(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """Storage moved outwards from where it is."""
    name = rng.choice(pipeline.functions).name
    try:
        path = Levels(pipeline, schedule).compute_path(name)
    except (ValueError, KeyError):
        return schedule
    if not path:
        return schedule
    level = rng.choice((ROOT, *(loop.level for loop in path[:-1])))
    return schedule.replace(evolve(schedule.of(name), store=level))


def _levels(schedule: Schedule) -> list[LoopLevel]:
    return [
        LoopLevel(func.name, loop.name)
        for func in schedule.funcs
        for order in func.stages
        for loop in order.loops
    ]


def _memory(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    func = _some_func(rng, schedule)
    return schedule.replace(evolve(func, memory=rng.choice(list(MemoryType))))


def _fold(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    func = _some_func(rng, schedule)
    args = pipeline.function(func.name).args
    dimension = rng.choice((*args, *args, "q")) if args else "q"
    factor = rng.choice((0, 1, 2, 2, 3, 3, 4, 5, 8))
    fold = Fold(dimension, factor, rng.random() < 0.9)
    return schedule.replace(evolve(func, folds=(fold,)))


def _layout(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """Storage laid out otherwise, or bounds given."""
    func = _some_func(rng, schedule)
    args = pipeline.function(func.name).args
    name = rng.choice((*args, *args, *args, "q"))
    form = rng.randrange(6)
    if form == 4:
        level = rng.choice((*_levels(schedule), ROOT))
        return schedule.replace(evolve(func, hoist=level))
    if form == 5:
        bounded = (StorageBound(name, rng.choice((0, 1, 4, 40))),)
        return schedule.replace(evolve(func, storage_bounds=bounded))
    if form == 0:
        other = rng.choice((*args, "q"))
        return schedule.replace(evolve(func, storage_orders=((name, other),)))
    if form == 1:
        return schedule.replace(evolve(func, pads=(Pad(name, rng.choice((0, 1, 3, 8))),)))
    if form == 2:
        bound: Bound | Alignment = Bound(name, rng.choice((None, 0, -1)), rng.randint(0, 9))
    else:
        bound = Alignment(name, rng.choice((0, 2, 3)), rng.choice((None, 0, 1)))
    return schedule.replace(evolve(func, bounds=(bound, *func.bounds)))


def _entries(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """An entry too many or too few, or of too many stages."""
    if rng.random() < 0.7:
        return schedule  # there is little to learn from these
    func = _some_func(rng, schedule)
    form = rng.randrange(4)
    if form == 0:
        kept = (f for f in schedule.funcs if f is not func or len(schedule.funcs) < 2)
        return schedule.with_funcs(kept)
    if form == 1:
        return schedule.with_funcs((*schedule.funcs, evolve(func, name="nobody")))
    if form == 2:
        return schedule.replace(evolve(func, stages=(*func.stages, func.stages[0])))
    return schedule.replace(evolve(func, stages=func.stages[:-1]))


def _derivation(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """One more Func, for one that may not read what it stands for."""
    names = [*pipeline.is_image, "nobody"]
    source, reader = rng.choice(names), rng.choice(names)
    step = rng.choice((Wrap(source, (reader,)), Wrap(source), Clone(source, (reader,))))
    return Directives(pipeline, schedule, reader).derive(step).schedule


def _atomic(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """Some stage atomic, or none of a Func any more."""
    func = _some_func(rng, schedule)
    stage = rng.randrange(len(func.stages))
    return schedule.replace(evolve(func, atomic=() if func.atomic else (stage,)))


def _split_more(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """One more split, of any loop, with any tail; often its inner loop runs at once."""

    def change(order: DomainOrder) -> DomainOrder:
        at = rng.randrange(len(order.loops))
        loop = order.loops[at]
        split = Split(loop.name, loop.name, "w", rng.choice((2, 3, 4, 5)), rng.choice(list(Tail)))
        kind = rng.choice((LoopKind.SERIAL, LoopKind.VECTORIZED, LoopKind.UNROLLED, loop.kind))
        parts = (loop, OrderedLoop("w", kind))
        loops = (*order.loops[:at], *parts, *order.loops[at + 1 :])
        return DomainOrder((*order.splits, split), loops)

    return _with_order(rng, schedule, change)


def _in_one_case(rng: random.Random, pipeline: Pipeline, schedule: Schedule) -> Schedule:
    """The order of some stage changed where a condition on a size holds, and there only."""
    output = rng.choice(pipeline.outputs)
    if not pipeline.function(output).args:
        return schedule
    size = size_variable(output, rng.choice(("min", "extent", "extent")), 0)
    limit = rng.choice((0, 4, 8, 9, 16))
    condition = rng.choice((size >= limit, size == limit, size < limit))
    edited = rng.choice((_factor, _tail, _swap, _kind, _gpu_kind))(rng, pipeline, schedule)
    for before, after in zip(schedule.funcs, edited.funcs, strict=True):
        for stage, order in enumerate(after.stages):
            if order != before.stages[stage]:
                special = Specialization(stage, condition, order)
                return schedule.replace(
                    evolve(before, specializations=(special, *before.specializations))
                )
    return schedule


EDITS: tuple[Edit, ...] = (
    _factor,
    _tail,
    _swap,
    _kind,
    _kind,
    _gpu_kind,
    _gpu_kind,
    _names,
    _partition,
    _records,
    _level,
    _level,
    _outwards,
    _outwards,
    _memory,
    _fold,
    _layout,
    _entries,
    _derivation,
    _atomic,
    _split_more,
    _in_one_case,
)
