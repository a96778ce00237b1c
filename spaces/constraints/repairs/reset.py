"""Resets Funcs to the default schedule: far from the intent, but quick to find."""

from __future__ import annotations

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.verdict import Illegal
from spaces.constraints.legality.verify import verify
from spaces.constraints.repairs.names import is_covered
from spaces.constraints.repairs.ranked_edit import Rank, RankedEdit
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline
from spaces.model.schedules.schedule import SETTINGS, FuncSchedule, Schedule


def reset_funcs(
    pipeline: Pipeline, schedule: Schedule, device: Device, deadline: Deadline
) -> tuple[RankedEdit, ...] | None:
    """Resets the Funcs with violations until there are none; resets all Funcs once ``deadline`` is
    past. None if even the default schedule is illegal.
    """
    default = Schedule.default(pipeline)
    edits: list[RankedEdit] = []
    if not is_covered(pipeline, schedule):
        text, changes = "all Funcs as in the default schedule", len(default.funcs)
        edit = RankedEdit(pipeline.name, default, Rank.DROP, 1.0, changes=changes, text=text)
        return (edit,) if verify(pipeline, default, device) else None
    while True:
        verdict = verify(pipeline, schedule, device)
        if not isinstance(verdict, Illegal):
            return tuple(edits)
        changed = [f for f in reversed(default.funcs) if schedule.of(f.name) != f]
        if not changed:
            return None
        wrong = {v.func for v in verdict.violations}
        chosen = changed if deadline.is_past else [f for f in changed if f.name in wrong]
        for func in chosen or changed[:1]:
            count = differences(schedule.of(func.name), func)
            schedule = schedule.replace(func)
            edits.append(RankedEdit(func.name, schedule, Rank.DROP, 1.0, changes=count))


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
    found |= {(name,): getattr(func, name) for name in SETTINGS}
    for stage, order in enumerate(func.stages):
        found |= {(stage, "split", i): record for i, record in enumerate(order.splits)}
        found |= {(stage, "kind", loop.name): loop.kind for loop in order.loops}
        found[stage, "order"] = order.names
    return found
