"""A schedule as the directives that a person would write to get it from the default schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from attrs import define, evolve, field, frozen

from spaces.model.directives import Directives
from spaces.model.expr import Const, Expr
from spaces.model.pipeline import Pipeline
from spaces.model.schedule import (
    Alignment,
    Bound,
    Clone,
    Companion,
    Derivation,
    DomainOrder,
    Factor,
    Fold,
    FuncSchedule,
    Fuse,
    Loop,
    LoopAlign,
    LoopKind,
    LoopLevel,
    Memory,
    Partition,
    Prefetch,
    PrefetchBound,
    RFactor,
    Schedule,
    Split,
    Tail,
    Wrap,
)

Argument: TypeAlias = Factor | Tail | Memory | Partition | PrefetchBound | LoopAlign | Loop | Expr
"""A truth value counts among the numbers."""


@frozen
class DirectiveCall:
    """A directive with its arguments, as :class:`~spaces.model.directives.Directives` takes it."""

    name: str
    args: tuple[Argument, ...] = ()

    def on(self, directives: Directives) -> Directives:
        """The directives after this one."""
        method: Any = getattr(directives, self.name)
        result: Directives = method(*self.args)
        return result


@frozen
class StageCalls:
    """The directives on one stage of a Func; those of its call schedule stand at stage 0.

    Where one of them adds a Func, by the derivation ``adds``, those after it are on that.
    """

    func: str
    stage: int
    calls: tuple[DirectiveCall, ...]
    adds: Derivation | None = None

    def parted(self) -> tuple[StageCalls, StageCalls]:
        """The directives up to that which adds a Func, and those on the new Func."""
        assert self.adds is not None
        end = len(_derivation_calls(self.adds))
        on_new = StageCalls(self.adds.name, 0, self.calls[end:])
        return evolve(self, calls=self.calls[:end]), on_new


def directive_calls(pipeline: Pipeline, schedule: Schedule) -> tuple[StageCalls, ...]:
    """The directives that lead from the default schedule to ``schedule``: those that add Funcs in
    their order, then the others, consumers first.

    Stages that are as in the default schedule are left out.

    Raises:
        ValueError: ``schedule`` is not one of this pipeline's Funcs and stages.
    """
    default, steps = _derived(pipeline, schedule)
    expected = [(f.name, len(f.stages)) for f in default.funcs]
    given = [(f.name, len(f.stages)) for f in schedule.funcs]
    if given != expected:
        raise ValueError(
            f"The schedule is not one of pipeline {pipeline.name}: it has (Func, stages) "
            f"{given}, and the pipeline has {expected}."
        )
    lines = {
        (target.name, stage): _stage_lines(start, target, stage)
        for start, target in reversed(list(zip(default.funcs, schedule.funcs, strict=True)))
        for stage in range(len(target.stages))
    }
    sources = {step.func for step in steps}
    result: list[StageCalls] = []
    for step in steps:
        # A Func from which others are derived is scheduled when they are there.
        on_new = lines.get((step.name, 0), ()) if step.name not in sources else ()
        if len(on_new) == 1:
            del lines[step.name, 0]
        calls = on_new[0].calls if len(on_new) == 1 else ()
        stage = step.update + 1 if isinstance(step, RFactor) else 0
        result.append(StageCalls(step.func, stage, (*_derivation_calls(step), *calls), step))
    for found in lines.values():
        result += found
    return tuple(result)


def _derived(pipeline: Pipeline, schedule: Schedule) -> tuple[Schedule, tuple[Derivation, ...]]:
    """The schedule that the derivations of ``schedule`` give, and those that the pipeline lacks."""
    steps = tuple(d for d in schedule.derivations if d not in pipeline.derivations)
    directives = Directives(pipeline, Schedule.default(pipeline), "")
    for step in steps:
        directives = directives.derive(step)
    return directives.schedule, steps


def _derivation_calls(step: Derivation) -> tuple[DirectiveCall, ...]:
    """The directive that adds a Func; before it the splits that it takes."""
    match step:
        case Wrap():
            return (DirectiveCall("in_", step.consumers),)
        case Clone():
            return (DirectiveCall("clone_in", step.consumers),)
        case RFactor():
            pairs = tuple(name for pair in step.preserved for name in pair)
            return (*map(_record_call, step.splits), DirectiveCall("rfactor", pairs))


def _stage_lines(start: FuncSchedule, target: FuncSchedule, stage: int) -> tuple[StageCalls, ...]:
    """The directives on one stage, first those on its specializations. Each of these begins with
    the stage as it is then, so that they are written before what is done to the stage itself.
    """
    lines = []
    for one in target.specializations:
        if one.stage == stage:
            always = isinstance(one.condition, Const) and bool(one.condition.value)
            calls = [DirectiveCall("specialize_fail", (one.failure,))] if one.failure else []
            if not (one.failure and always):
                calls.insert(0, DirectiveCall("specialize", (one.condition,)))
            calls += order_calls(start.stages[stage], one.order)
            lines.append(StageCalls(target.name, stage, tuple(calls)))
    placement = _placement_calls(start, target) if stage == 0 else ()
    newly = stage in target.atomic and stage not in start.atomic
    atomic = (DirectiveCall("atomic"),) if newly else ()
    own = (*placement, *atomic, *order_calls(start.stages[stage], target.stages[stage]))
    return (*lines, StageCalls(target.name, stage, own)) if own else tuple(lines)


def _placement_calls(start: FuncSchedule, target: FuncSchedule) -> tuple[DirectiveCall, ...]:
    """Directives of the call schedule: levels, memory, folds."""
    calls = []
    follows = target.store == target.compute
    moved = (target.compute, target.store) != (start.compute, start.store)
    if moved and (follows or target.compute != start.compute):
        calls.append(_level_call("compute", target.compute))
    if moved and not follows:
        calls.append(_level_call("store", target.store))
    if target.memory != start.memory:
        calls.append(DirectiveCall("store_in", (target.memory,)))
    if target.hoist != start.hoist:
        calls.append(hoist_call(target.hoist))
    calls += map(fold_call, target.folds)
    calls += [DirectiveCall("reorder_storage", order) for order in target.storage_orders]
    calls += [DirectiveCall("align_storage", (p.dimension, p.multiple)) for p in target.pads]
    calls += [
        DirectiveCall("bound_storage", (b.dimension, b.extent)) for b in target.storage_bounds
    ]
    calls += map(bound_call, target.bounds)
    if target.companion is not None:
        calls.append(companion_call(target.companion))
    return tuple(calls)


def companion_call(companion: Companion) -> DirectiveCall:
    """The directive that fuses the loops of two Funcs."""
    args = (companion.func, companion.loop)
    usual = companion.align is LoopAlign.AUTO
    return DirectiveCall("compute_with", args if usual else (*args, companion.align))


def hoist_call(level: LoopLevel) -> DirectiveCall:
    """The directive that hoists the storage of a Func."""
    if level.is_root:
        return DirectiveCall("hoist_storage_root")
    return DirectiveCall("hoist_storage", (level.func, level.loop))


def fold_call(fold: Fold) -> DirectiveCall:
    """The directive that folds the storage of a Func."""
    backwards = () if fold.forward else (False,)
    return DirectiveCall("fold_storage", (fold.dimension, fold.factor, *backwards))


def bound_call(bound: Bound | Alignment) -> DirectiveCall:
    """The directive that gives a Func a bound, or aligns its bounds."""
    if isinstance(bound, Alignment) and bound.remainder is not None:
        remainder = (bound.remainder,) if bound.remainder else ()
        return DirectiveCall("align_bounds", (bound.dimension, bound.modulus, *remainder))
    if isinstance(bound, Alignment):
        return DirectiveCall("align_extent", (bound.dimension, bound.modulus))
    if bound.min is None:
        return DirectiveCall("bound_extent", (bound.dimension, bound.extent))
    return DirectiveCall("bound", (bound.dimension, bound.min, bound.extent))


def _level_call(verb: str, level: LoopLevel) -> DirectiveCall:
    if level.is_root:
        return DirectiveCall(f"{verb}_root")
    if level.is_inline and verb == "compute":
        return DirectiveCall("compute_inline")
    return DirectiveCall(f"{verb}_at", (level.func, level.loop))


def order_calls(start: DomainOrder, target: DomainOrder) -> tuple[DirectiveCall, ...]:
    """The directives that lead from one domain order to another with further splits.

    They are found by rules of taste and then applied: where they do not give ``target`` exactly
    (an order with lost or doubled loops), its loops are set outright.
    """
    done = len(start.splits)
    if done and target.splits[:done] == start.splits:
        start, target = evolve(start, splits=()), evolve(target, splits=target.splits[done:])
    chain = _Chain(start, target)
    for step in _steps(target):
        chain.add(*step)
    chain.arrange()
    chain.partition()
    chain.add(*map(prefetch_call, target.prefetches))
    if chain.order == target:
        return tuple(chain.calls)
    chain = _Chain(start, target)
    for record in target.splits:
        chain.add(_record_call(record))
    if chain.order.loops != target.loops:
        chain.add(DirectiveCall("loops", tuple(_written(loop) for loop in target.loops[::-1])))
    chain.partition()
    chain.add(*map(prefetch_call, target.prefetches))
    return tuple(chain.calls)


def _written(loop: Loop) -> Loop | str:
    return loop.name if loop.kind is LoopKind.SERIAL else loop


def trial(order: DomainOrder) -> Directives:
    """Directives on a stage of no pipeline in particular, to try some on."""
    nothing = Pipeline("", (), (), (), ())
    return Directives(nothing, Schedule((FuncSchedule("", (order,)),)), "")


@define
class _Chain:
    """Directives collected so far, and the order they give."""

    start: DomainOrder
    target: DomainOrder
    calls: list[DirectiveCall] = field(init=False, factory=list)
    directives: Directives = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.directives = trial(self.start)

    @property
    def order(self) -> DomainOrder:
        return self.directives.schedule.funcs[0].stages[0]

    def add(self, *calls: DirectiveCall) -> None:
        for call in calls:
            self.directives = call.on(self.directives)
            self.calls.append(call)

    def arrange(self) -> None:
        """Add what gives the loops their order and kinds."""
        known = set(self.order.names)
        # Directives put a loop they do not know outermost.
        for name in reversed(self.target.names):
            if name not in known:
                self.add(_kind_call(self.target.kind(name), (name,)))
                known.add(name)
        current, wanted = self.order.names, self.target.names
        if Counter(current) == Counter(wanted) and current != wanted:
            moved = [w for c, w in zip(current, wanted, strict=True) if c != w]
            self.add(DirectiveCall("reorder", tuple(reversed(moved))))
        for kind in _KIND_ORDER:
            changed = tuple(
                dict.fromkeys(
                    loop.name
                    for loop in reversed(self.target.loops)
                    if loop.kind is kind and self.order.kind(loop.name) is not kind
                )
            )
            self.add(*_kind_calls(kind, changed))

    def partition(self) -> None:
        """Add what says how loops are partitioned."""
        for policy, directive in _POLICIES.items():
            said = [one.loop for one in self.target.partitions if one.policy is policy]
            if said and self.order.partitions != self.target.partitions:
                self.add(DirectiveCall(directive, tuple(said)))


def prefetch_call(record: Prefetch) -> DirectiveCall:
    """The directive that prefetches."""
    args = (record.target, record.at, record.origin, record.offset)
    usual = record.bound is PrefetchBound.GUARD_WITH_IF
    return DirectiveCall("prefetch", args if usual else (*args, record.bound))


_POLICIES = {
    Partition.NEVER: "never_partition",
    Partition.ALWAYS: "always_partition",
}

_KIND_ORDER = (
    LoopKind.SERIAL,
    LoopKind.GPU_BLOCK,
    LoopKind.GPU_THREAD,
    LoopKind.UNROLLED,
    LoopKind.VECTORIZED,
    LoopKind.PARALLEL,
)

KIND_DIRECTIVES: dict[LoopKind, str] = {
    LoopKind.SERIAL: "serial",
    LoopKind.PARALLEL: "parallel",
    LoopKind.VECTORIZED: "vectorize",
    LoopKind.UNROLLED: "unroll",
    LoopKind.GPU_BLOCK: "gpu_blocks",
    LoopKind.GPU_THREAD: "gpu_threads",
}
"""The directive that gives a loop its kind."""

_GPU_KINDS = (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)


def _kind_call(kind: LoopKind, names: tuple[str, ...]) -> DirectiveCall:
    return DirectiveCall(KIND_DIRECTIVES[kind], names)


def _kind_calls(kind: LoopKind, names: tuple[str, ...]) -> Iterator[DirectiveCall]:
    """GPU directives take up to three loops, the others one."""
    width = 3 if kind in _GPU_KINDS else 1
    for i in range(0, len(names), width):
        yield _kind_call(kind, names[i : i + width])


def _record_call(record: Split | Fuse) -> DirectiveCall:
    if isinstance(record, Fuse):
        return DirectiveCall("fuse", (record.inner, record.outer, record.fused))
    args = (record.old, record.outer, record.inner, record.factor)
    return DirectiveCall("split", (*args, *_tail(record.tail)))


def _tail(tail: Tail) -> tuple[Tail, ...]:
    return () if tail is Tail.AUTO else (tail,)


def _steps(target: DomainOrder) -> Iterator[tuple[DirectiveCall, ...]]:
    """The splits and fuses, grouped into the shortest directives that make them."""
    index = 0
    while index < len(target.splits):
        for width in (3, 2, 1):
            group = target.splits[index : index + width]
            call = _tile_call(target, index, group) if len(group) == width else None
            if call is not None:
                yield (call,)
                index += width
                break
        else:
            yield (_split_with_kind(target, index) or _record_call(target.splits[index]),)
            index += 1


def _split_with_kind(target: DomainOrder, index: int) -> DirectiveCall | None:
    """``vectorize(x, 8)`` and its kin, where the record has the names they give."""
    record = target.splits[index]
    if not isinstance(record, Split) or record.outer != record.old:
        return None
    later = _names(target.splits[index + 1 :])
    for name, suffix, loop, kind in (
        ("vectorize", "v", record.inner, LoopKind.VECTORIZED),
        ("unroll", "u", record.inner, LoopKind.UNROLLED),
        ("parallel", "p", record.outer, LoopKind.PARALLEL),
    ):
        is_named = record.inner == f"{record.old}_{suffix}"
        if is_named and loop not in later and target.kind(loop) is kind:
            return DirectiveCall(name, (record.old, record.factor, *_tail(record.tail)))
    return None


def _names(records: Sequence[Split | Fuse]) -> set[str]:
    """The loops that ``records`` take apart or together."""
    return {n for r in records for n in ((r.old,) if isinstance(r, Split) else (r.inner, r.outer))}


def _tile_call(
    target: DomainOrder, index: int, records: Sequence[Split | Fuse]
) -> DirectiveCall | None:
    """A ``gpu_tile`` of one to three dimensions, or a ``tile`` of two, if it fits the loops."""
    splits = [r for r in records if isinstance(r, Split)]
    if len(splits) < len(records) or len({s.tail for s in splits}) > 1:
        return None
    outer, inner = tuple(s.outer for s in splits), tuple(s.inner for s in splits)
    later = target.splits[index + len(splits) :]
    kinds = [target.kind(name) for name in (*outer, *inner)]
    is_gpu = not _names(later) & {*outer, *inner} and kinds == (
        [LoopKind.GPU_BLOCK] * len(splits) + [LoopKind.GPU_THREAD] * len(splits)
    )
    if not is_gpu and len(splits) != 2:
        return None
    if not _is_nested(target, later, (*outer[::-1], *inner[::-1])):
        return None
    old = tuple(s.old for s in splits)
    args = (*old, *(() if outer == old else outer), *inner, *(s.factor for s in splits))
    return DirectiveCall("gpu_tile" if is_gpu else "tile", (*args, *_tail(splits[0].tail)))


def _is_nested(target: DomainOrder, later: Sequence[Split | Fuse], names: Sequence[str]) -> bool:
    """Whether the final loops made from each of ``names`` lie inside those of the name before."""
    if len(set(names)) < len(names):
        return False
    place = {loop.name: i for i, loop in enumerate(target.loops)}
    outermost: tuple[int, ...] = ()
    for name in names:
        places = tuple(sorted(place.get(n, -1) for n in _made_from(name, later)))
        if not places or places[0] < 0:
            return False
        if outermost and places != outermost and places[0] <= outermost[-1]:
            return False
        outermost = places
    return True


def _made_from(name: str, records: Sequence[Split | Fuse]) -> set[str]:
    """The loops that ``name`` becomes by ``records``."""
    made = {name}
    for record in records:
        used = _names([record])
        if used & made:
            new = {record.fused} if isinstance(record, Fuse) else {record.outer, record.inner}
            made = (made - used) | new
    return made


def replay(directives: Directives, calls: Sequence[StageCalls]) -> Directives:
    """``directives`` after all ``calls``."""
    for stage_calls in calls:
        directives = evolve(
            directives.func(stage_calls.func),
            stage=stage_calls.stage,
        )
        for call in stage_calls.calls:
            directives = call.on(directives)
    return directives
