"""Directives as a person would write them, for messages."""

from __future__ import annotations

from functools import lru_cache

from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.records import Records
from spaces.model.directives.declaration import DIRECTIVES
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, OrderedLoop
from spaces.model.schedules.schedule import (
    Alignment,
    Bound,
    Fold,
    FuncSchedule,
    LoopLevel,
    MemoryType,
    Pad,
    StageOf,
    StorageBound,
)
from spaces.model.writing.calls import DirectiveCall, call_of, hoist_call
from spaces.model.writing.order_calls import order_calls, trial
from spaces.model.writing.text import format_call


def split_directive(records: Records, func: str, stage: int, index: int) -> str:
    """The directive that makes split or fuse number ``index`` of a stage: ``f.vectorize(x, 8)``."""
    made = (call for call, order in _steps(records, func, stage) if len(order.splits) > index)
    return _of_stage(func, stage, next(made, None))


def kind_directive(records: Records, func: str, stage: int, loop: str) -> str:
    """The directive that gives a loop its kind: ``f.parallel(y)``; the name of a serial loop."""
    kind, made = records.entry(func).stages[stage].kind(loop), None
    before = LoopKind.SERIAL
    for call, order in _steps(records, func, stage):
        after = order.kind(loop)
        if after is kind and before is not kind:
            made = call
        before = after
    return _of_stage(func, stage, made) if made is not None else f"{stage_name(func, stage)}.{loop}"


def level_directive(func: str, verb: str, level: LoopLevel) -> str:
    """The directive that sets a level of a Func: ``f.compute_at(g, x)``, ``f.store_root()``."""
    if level.is_root:
        return f"{func}.{verb}_root()"
    if level.is_inline:
        return f"{func}.{verb}_inline()"
    return f"{func}.{verb}_at({level.func}, {level.loop})"


def store_directive(entry: FuncSchedule) -> str:
    """The directive that sets the store level: ``f.store_at(g, x)``; ``f.compute_at(g, x)`` if
    storage follows computation.
    """
    verb = "compute" if entry.store == entry.compute else "store"
    return level_directive(entry.name, verb, entry.store)


def placing_directive(records: Records, stage: StageOf) -> str:
    """The directive that places the loops of a stage: ``f.compute_at(g, x)`` or ``f.compute_with(g,
    x)``.
    """
    if stage in records.levels.fused:
        one = records.levels.fused_groups.pairs[stage]
        return f"{stage}.{format_call(call_of(one))}"
    return level_directive(stage.func, "compute", records.entry(stage.func).compute)


def memory_directive(func: str, memory: MemoryType) -> str:
    """``f.store_in(MemoryType::Stack)``."""
    return f"{func}.{format_call(DirectiveCall('store_in', (memory,)))}"


def fold_directive(func: str, fold: Fold) -> str:
    """``f.fold_storage(y, 4)``."""
    return f"{func}.{format_call(call_of(fold))}"


def hoist_directive(entry: FuncSchedule) -> str:
    """``f.hoist_storage(g, y)``."""
    return f"{entry.name}.{format_call(hoist_call(entry.hoist))}"


def setting_directive(entry: FuncSchedule, setting: str) -> str:
    """``f.ring_buffer(3)``, ``f.async()``: the directive that sets something of a whole Func."""
    (declared,) = (one for one in DIRECTIVES.values() if one.setting == setting)
    value = getattr(entry, setting)
    call = DirectiveCall(declared.name, () if value is True else (value,))
    return f"{entry.name}.{format_call(call)}"


def storage_bound_directive(func: str, bound: StorageBound) -> str:
    """``f.bound_storage(x, 64)``."""
    return f"{func}.{format_call(DirectiveCall('bound_storage', (bound.dimension, bound.extent)))}"


def order_directive(func: str, order: tuple[str, ...]) -> str:
    """``f.reorder_storage(c, x, y)``."""
    return f"{func}.{format_call(DirectiveCall('reorder_storage', order))}"


def pad_directive(func: str, pad: Pad) -> str:
    """``f.align_storage(x, 16)``."""
    return f"{func}.{format_call(DirectiveCall('align_storage', (pad.dimension, pad.multiple)))}"


def bound_directive(func: str, bound: Bound | Alignment) -> str:
    """``f.bound(c, 0, 3)``."""
    return f"{func}.{format_call(call_of(bound))}"


def _of_stage(func: str, stage: int, call: DirectiveCall | None) -> str:
    name = stage_name(func, stage)
    return name if call is None else f"{name}.{format_call(call)}"


def _steps(
    records: Records, func: str, stage: int
) -> tuple[tuple[DirectiveCall, DomainOrder], ...]:
    """The directives of a stage in the order written, and the domain order after each."""
    dimensions = records.function(func).stages[stage].dimensions
    start = DomainOrder(loops=tuple(OrderedLoop(name) for name in reversed(dimensions)))
    return _written(start, records.entry(func).stages[stage])


@lru_cache(maxsize=16)
def _written(
    start: DomainOrder, target: DomainOrder
) -> tuple[tuple[DirectiveCall, DomainOrder], ...]:
    """Cached: a stage with many mistakes needs the result once for each mistake."""
    directives, steps = trial(start), []
    for call in order_calls(start, target):
        directives = call.on(directives)
        steps.append((call, directives.schedule.funcs[0].stages[0]))
    return tuple(steps)
