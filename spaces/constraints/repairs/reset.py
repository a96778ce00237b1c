"""Resets Funcs to the default schedule: far from the intent, but quick to find."""

from __future__ import annotations

from collections.abc import Sequence

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.verdict import Illegal
from spaces.constraints.legality.verify import verify
from spaces.constraints.repairs.edit import Edit, Rank
from spaces.constraints.repairs.names import is_covered
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline
from spaces.model.schedules.schedule import FLAGS, FuncSchedule, Schedule


def reset(
    pipeline: Pipeline, schedule: Schedule, device: Device, deadline: Deadline
) -> tuple[Edit, ...] | None:
    """Resets the Funcs with violations until there are none; resets all Funcs once ``deadline`` is
    past. None if even the default schedule is illegal.
    """
    default = Schedule.default(pipeline)
    edits: list[Edit] = []
    if not is_covered(pipeline, schedule):
        text = "all Funcs as in the default schedule"
        edit = Edit(pipeline.name, Rank.DROP, 1.0, default, text, changes=len(default.funcs))
        return (edit,) if verify(pipeline, default, device) else None
    while True:
        verdict = verify(pipeline, schedule, device)
        if not isinstance(verdict, Illegal):
            return tuple(edits)
        changed = [f for f in default.funcs if schedule.of(f.name) != f]
        if not changed:
            return None
        if deadline.is_past:
            return _all_reset(pipeline, schedule, device, changed, edits)
        wrong = {v.func for v in verdict.violations}
        for func in [f for f in reversed(changed) if f.name in wrong] or changed[-1:]:
            count = differences(schedule.of(func.name), func)
            schedule = schedule.replace(func)
            edits.append(Edit(func.name, Rank.DROP, 1.0, schedule, changes=count))


def _all_reset(
    pipeline: Pipeline,
    schedule: Schedule,
    device: Device,
    changed: Sequence[FuncSchedule],
    edits: Sequence[Edit],
) -> tuple[Edit, ...] | None:
    """The same with one more verdict: resets all ``changed`` Funcs together."""
    found = list(edits)
    for func in changed:
        count = differences(schedule.of(func.name), func)
        schedule = schedule.replace(func)
        found.append(Edit(func.name, Rank.DROP, 1.0, schedule, changes=count))
    return tuple(found) if verify(pipeline, schedule, device) else None


def differences(one: FuncSchedule, other: FuncSchedule) -> int:
    """The number of decisions about a Func in which two schedules differ."""
    a, b = _decisions(one), _decisions(other)
    return sum(a.get(key) != b.get(key) for key in {**a, **b})


def _decisions(func: FuncSchedule) -> dict[tuple[object, ...], object]:
    """The decisions about a Func, by subject."""
    found: dict[tuple[object, ...], object] = {
        ("compute",): func.compute,
        ("store",): None if func.store == func.compute else func.store,
        ("memory",): func.memory,
    }
    found |= {("fold", fold.dimension): (fold.factor, fold.forward) for fold in func.folds}
    found |= {("order", i): order for i, order in enumerate(func.storage_orders)}
    found |= {("pad", pad.dimension): pad.multiple for pad in func.pads}
    found |= {("storage bound", b.dimension): b.extent for b in func.storage_bounds}
    found |= {("bound", i): bound for i, bound in enumerate(func.bounds)}
    found["hoist",] = func.hoist
    found |= {(flag,): getattr(func, flag) for flag in FLAGS}
    for stage, order in enumerate(func.stages):
        found |= {(stage, "split", i): record for i, record in enumerate(order.splits)}
        found |= {(stage, "kind", loop.name): loop.kind for loop in order.loops}
        found[stage, "order"] = order.names
    return found
