"""A schedule as the directives that a person would write to get it from the default schedule."""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.declaration import DIRECTIVES
from spaces.model.directives.directives import Directives
from spaces.model.expressions.expr import Const
from spaces.model.schedules.derivations import Clone, Derivation, RFactor, Wrap
from spaces.model.schedules.schedule import SETTINGS, FuncSchedule, Schedule
from spaces.model.writing.calls import DirectiveCall, call_of, hoist_call, level_call
from spaces.model.writing.order_calls import order_calls


@frozen
class StageCalls:
    """The directives on one stage of a Func; those of its call schedule stand at stage 0.

    If one of them adds a Func, by the derivation ``adds``, the directives after it are on that
    Func.
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
    _check_stages(schedule)
    lines = {
        (target.name, stage): stage_lines(start, target, stage)
        for start, target in reversed(list(zip(default.funcs, schedule.funcs, strict=True)))
        for stage in range(len(target.stages))
    }
    sources = {step.func for step in steps}
    result: list[StageCalls] = []
    for step in steps:
        # A Func is scheduled after the derivations from it.
        on_new = lines.get((step.name, 0), ()) if step.name not in sources else ()
        if len(on_new) == 1:
            del lines[step.name, 0]
        calls = on_new[0].calls if len(on_new) == 1 else ()
        stage = step.update + 1 if isinstance(step, RFactor) else 0
        result.append(StageCalls(step.func, stage, (*_derivation_calls(step), *calls), step))
    for found in lines.values():
        result += found
    return tuple(result)


def _check_stages(schedule: Schedule) -> None:
    """Refuse entries about stages that the Func does not have: no directive can write them."""
    for entry in schedule.funcs:
        mentioned = [*entry.atomic, *(one.stage for one in entry.companions)]
        mentioned += [one.stage for one in entry.specializations]
        strange = [stage for stage in mentioned if not 0 <= stage < len(entry.stages)]
        if strange:
            raise ValueError(
                f"The schedule says something of stage {strange[0]} of {entry.name}, which has "
                f"stages 0 to {len(entry.stages) - 1}."
            )


def _derived(pipeline: Pipeline, schedule: Schedule) -> tuple[Schedule, tuple[Derivation, ...]]:
    """The schedule after the derivations of ``schedule``, and the derivations that the pipeline
    lacks.
    """
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
            return (*map(call_of, step.splits), DirectiveCall("rfactor", pairs))


def stage_lines(start: FuncSchedule, target: FuncSchedule, stage: int) -> tuple[StageCalls, ...]:
    """The directives on one stage, first those on its specializations. A specialization begins with
    the current schedule of the stage, so they come before the stage's own directives.
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
    order = order_calls(start.stages[stage], target.stages[stage])
    beside = [call_of(one) for one in target.companions if one.stage == stage]
    own = (*placement, *beside, *atomic, *order)
    return (*lines, StageCalls(target.name, stage, own)) if own else tuple(lines)


def _placement_calls(start: FuncSchedule, target: FuncSchedule) -> tuple[DirectiveCall, ...]:
    """Directives of the call schedule: levels, memory, folds."""
    calls = []
    follows = target.store == target.compute
    moved = (target.compute, target.store) != (start.compute, start.store)
    if moved and (follows or target.compute != start.compute):
        calls.append(level_call("compute", target.compute))
    if moved and not follows:
        calls.append(level_call("store", target.store))
    if target.memory != start.memory:
        calls.append(DirectiveCall("store_in", (target.memory,)))
    if target.hoist != start.hoist:
        calls.append(hoist_call(target.hoist))
    for one in DIRECTIVES.values():
        value: Any = getattr(target, one.setting) if one.setting else None
        if one.setting and value not in (SETTINGS[one.setting], getattr(start, one.setting)):
            calls.append(DirectiveCall(one.name, () if value is True else (value,)))
    calls += map(call_of, target.folds)
    calls += [DirectiveCall("reorder_storage", order) for order in target.storage_orders]
    calls += map(call_of, (*target.pads, *target.storage_bounds, *target.bounds))
    return tuple(calls)
