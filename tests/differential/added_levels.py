"""Where Funcs are computed, stored and hoisted, changed in a schedule that is drawn already."""

from __future__ import annotations

from attrs import evolve

from spaces import Schedule
from spaces.model.algorithm.pipeline import Function
from spaces.model.schedules.schedule import INLINE, ROOT, FuncSchedule
from tests.differential.drawn_schedule import AT_ONCE, ON_GPUS, DrawnSchedule, loop_kinds


def with_level(drawn: DrawnSchedule, name: str) -> Schedule:
    """A Func gets the level of this name, where it has one."""
    outputs = drawn.whole.outputs
    functions = [f for f in drawn.whole.functions if f.name not in outputs]
    drawn.rng.shuffle(functions)
    for function in functions:
        entry = drawn.schedule.of(function.name)
        moved = _moved(drawn, name, function, entry)
        if moved is not None:
            return drawn.schedule.replace(moved)
    return drawn.schedule


def with_hoisted_storage(drawn: DrawnSchedule) -> Schedule:
    """Storage hoisted on the host, as that of kernels may not be."""
    outputs = drawn.whole.outputs
    functions = [f for f in drawn.whole.functions if f.name not in outputs]
    drawn.rng.shuffle(functions)
    for function in functions:
        entry = drawn.schedule.of(function.name)
        moved = _moved(drawn, "hoisted storage", function, entry)
        if moved is None or not {*drawn.loops_around(function.name)[1]}.isdisjoint(ON_GPUS):
            continue
        if any(kind in ON_GPUS for stage in entry.stages for _, kind in loop_kinds(stage)):
            plain = Schedule.default(drawn.whole).of(function.name)
            moved = evolve(moved, stages=plain.stages, companions=())
        return drawn.schedule.replace(moved)
    return with_level(drawn, "hoisted storage")


def _moved(
    drawn: DrawnSchedule, name: str, function: Function, entry: FuncSchedule
) -> FuncSchedule | None:
    if name == "inline":
        plain = Schedule.default(drawn.whole).of(function.name)
        return evolve(plain, compute=INLINE, store=INLINE) if function.is_pure else None
    if name == "root":
        return evolve(entry, compute=ROOT, store=ROOT, hoist=INLINE, folds=())
    places, kinds = drawn.loops_around(function.name)
    if not places:
        return None
    depth = drawn.rng.randrange(len(places))
    at_once = [i for i, kind in enumerate(kinds[: depth + 1]) if kind in AT_ONCE]
    least = at_once[-1] if at_once and drawn.rng.random() < 0.9 else -1
    if name != "at a loop" and least >= depth:
        return None
    store = depth if name == "at a loop" else drawn.rng.randint(least, depth - 1)
    outer = places[store] if store >= 0 else ROOT
    if name == "hoisted storage":
        return evolve(entry, compute=places[depth], store=places[depth], hoist=outer, folds=())
    return evolve(entry, compute=places[depth], store=outer, hoist=INLINE, folds=())
