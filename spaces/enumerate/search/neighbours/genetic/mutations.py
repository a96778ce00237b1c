"""The eight mutation rules of [RK13] section 5. Each changes the schedule of one Func."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from attrs import evolve

from spaces.enumerate.search.neighbours.changes import PlacedSchedule, Way
from spaces.enumerate.search.neighbours.genetic.copying import copied_entry
from spaces.enumerate.search.neighbours.genetic.templates import TEMPLATES, fully_tiled, vectors_at
from spaces.enumerate.space.counting.random_ways import with_random_func
from spaces.enumerate.space.process.decision import DecisionOption, FormParts
from spaces.enumerate.space.process.partial import Guide, PartialSchedule, form_of
from spaces.enumerate.space.process.state import ProcessState
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import FuncSchedule, LoopLevel, Schedule

Mutation: TypeAlias = Callable[[PlacedSchedule, str, random.Random], Way | None]
"""Changes the schedule of one Func, and returns the way to the changed schedule; None if the rule
does not apply to the Func. The schedule may be illegal.
"""


GOES_ON = 0.85
"""The chance that loop fusion goes on with the callees of a callee: that of the published tuner."""


def random_constants(place: PlacedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Randomizes the constants: all factors of the Func."""

    def choose(partial: PartialSchedule) -> DecisionOption:
        is_own = partial.func == func
        return chosen.choice(partial.options) if is_own else partial.nearest(place.form)

    numbers = [one for one in place.way if one.state.has_structure]
    if not any(one.func == func for one in numbers):
        return None
    structural = place.way[: len(place.way) - len(numbers)]
    return (*structural, *numbers[0].led(choose))


def random_schedule(place: PlacedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Replaces the schedule of the Func by a random one."""
    number = next((n for n, one in enumerate(place.way) if _decides(one, func)), None)
    if number is None:
        return None
    before = place.way[number]
    known = parameters(Schedule(before.state.entries))
    numbers = {name: place.way[-1].state.numbers[name] for name in known}
    start = PartialSchedule(evolve(before.state, numbers=numbers), before.taken)
    found = with_random_func(start, chosen)
    if found is None:
        return None

    after = found[0]
    decided = [before]
    for label in after.taken[len(before.taken) :]:
        decided.append(decided[-1].take(label))

    def choose(partial: PartialSchedule) -> DecisionOption:
        if partial.func == func:  # a factor, which has its number
            known = {**after.state.numbers, **partial.state.numbers}
            return next(
                one for one in partial.options if one.after.numbers.items() <= known.items()
            )
        return partial.nearest(place.form)

    return (*place.way[:number], *decided[:-1], *decided[-1].led(choose))


def copied_schedule(place: PlacedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Replaces the schedule of the Func by that of another one, dimension by dimension."""
    schedule, pipeline = place.schedule, place.way[-1].state.pipeline
    others = [one.name for one in pipeline.functions if one.name != func]
    if not others:
        return None
    other = chosen.choice(others)
    entry = copied_entry(
        schedule.of(other), schedule.of(func), *map(pipeline.function, (other, func))
    )
    return _nearest(place, [entry])


def added_transformation(place: PlacedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Adds a random domain transformation to those of the Func."""
    return _transformed(place, func, chosen, lambda before, after: after > before)


def removed_transformation(place: PlacedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Removes a random domain transformation of the Func."""
    return _transformed(place, func, chosen, lambda before, after: after < before)


def replaced_transformation(place: PlacedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Replaces a random domain transformation of the Func by another one."""
    return _transformed(place, func, chosen, lambda before, after: after == before)


def loop_fusion(place: PlacedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Tiles the Func fully, and computes callees in vectors inside its tiles: under the inner loop
    over x. Goes on with the callees of each callee until a coin fails.
    """
    state = place.way[-1].state
    entry = fully_tiled(state, func, chosen)
    level = None if entry is None else _inside_tile(entry)
    if entry is None or level is None:
        return None
    return _nearest(place, [entry, *_fused_callees(state, func, level, chosen)])


def _fused_callees(
    state: ProcessState, func: str, level: LoopLevel, chosen: random.Random
) -> Iterator[FuncSchedule]:
    """The entries of the callees that loop fusion computes at a level."""
    open_, seen = [func], {func}
    while open_:
        for name in state.function(open_.pop()).callees:
            if name in seen or state.pipeline.is_image.get(name, False):
                continue
            seen.add(name)
            entry = vectors_at(state, name, chosen, level)
            if entry is not None:
                yield entry
            if chosen.random() < GOES_ON:
                open_.append(name)


def template(place: PlacedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Replaces the schedule of the Func by a common pattern."""
    state = place.way[-1].state
    entry = chosen.choice(TEMPLATES)(state, func, chosen, place.schedule)
    return None if entry is None else _nearest(place, [entry])


GENERIC: Mapping[str, Mutation] = {
    "constants": random_constants,
    "random": random_schedule,
    "copy": copied_schedule,
    "add": added_transformation,
    "remove": removed_transformation,
    "replace": replaced_transformation,
}
"""The rules that know nothing of images."""


IMAGING: Mapping[str, Mutation] = {"fusion": loop_fusion, "template": template}
"""The rules that know what suits images."""


def transformations(entry: FuncSchedule) -> int:
    """The number of domain transformations of a Func: its splits, fuses and loops that are not
    serial.
    """
    return sum(
        len(order.splits) + sum(loop.kind is not LoopKind.SERIAL for loop in order.loops)
        for order in entry.stages
    )


def _transformed(
    place: PlacedSchedule,
    func: str,
    chosen: random.Random,
    wanted: Callable[[int, int], bool],
) -> Way | None:
    """The way with another option of a random decision about the domain orders of the Func, so that
    ``wanted`` holds for the number of its transformations before and after.
    """
    old = place.schedule.of(func)
    numbers = [n for n, one in enumerate(place.way) if _decides(one, func)]
    for number in chosen.sample(numbers, len(numbers)):
        partial, taken = place.way[number], place.way[number + 1].taken[-1]
        after = {one.label: _entry_after(one, func) for one in partial.options}
        own = after[taken]
        options = [
            option
            for option in partial.options
            if (entry := after[option.label]) is not None
            and own is not None
            and entry.stages != own.stages
            and wanted(transformations(own), transformations(entry))
        ]
        if not options:
            continue
        way = partial.take(chosen.choice(options)).led(_like(place.form, func, chosen))
        found = (*place.way[: number + 1], *way)
        new = found[-1].schedule.of(func)
        # A loop may only have moved: the form has a place for it further inside.
        if wanted(transformations(old), transformations(new)):
            return found
    return None


def _like(form: FormParts, func: str, chosen: random.Random) -> Guide:
    """Follows a form; factors of the Func that the form lacks have random numbers."""

    def choose(partial: PartialSchedule) -> DecisionOption:
        if partial.func == func and partial.state.has_structure:
            (part,) = partial.options[0].claims
            if part not in form:
                return chosen.choice(partial.options)
        return partial.nearest(form)

    return choose


def _decides(partial: PartialSchedule, func: str) -> bool:
    """Whether the next decision is about the Func, and not about a factor."""
    return partial.func == func and not partial.state.has_structure


def _entry_after(option: DecisionOption, func: str) -> FuncSchedule | None:
    """The entry of the Func after an option, as far as it is decided."""
    state = option.after
    entries = (*state.entries, *(() if state.draft is None else (state.draft,)))
    return next((one for one in entries if one.name == func), None)


def _inside_tile(entry: FuncSchedule) -> LoopLevel | None:
    """The level inside the tile of a Func: its innermost loop outside vectors and threads."""
    found = None
    for loop in entry.stages[0].loops:
        if loop.kind.has_constant_extent or loop.kind is LoopKind.GPU_THREAD:
            break
        found = LoopLevel(entry.name, loop.name)
    return found


def _nearest(place: PlacedSchedule, entries: Iterable[FuncSchedule]) -> Way:
    """The way to the schedule of the space that is nearest to that of a place with these entries
    in place of its own.
    """
    schedule = place.schedule
    for entry in entries:
        schedule = schedule.replace(entry)
    start = place.way[0]
    return tuple(start.along(form_of(start.state, schedule)))
