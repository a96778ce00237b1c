"""The eight mutation rules of [RK13] section 5. Each changes the schedule of one Func."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from spaces.enumerate.search.neighbours.genetic.copying import copy_entry
from spaces.enumerate.search.neighbours.genetic.templates import TEMPLATES, tile_fully, vectorize_at
from spaces.enumerate.space.counting.random_ways import with_random_funcs
from spaces.enumerate.space.edits import DecidedSchedule, Way, find_way_near
from spaces.enumerate.space.process.decision import DecisionOption, FormParts
from spaces.enumerate.space.process.partial import Guide, PartialSchedule
from spaces.enumerate.space.process.state import ProcessState
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import FuncSchedule, LoopLevel

Mutation: TypeAlias = Callable[[DecidedSchedule, str, random.Random], Way | None]
"""Edits the schedule of one Func, and returns the decisions that lead to the edited schedule, which
may be illegal; None if the rule does not apply to the Func.
"""


GOES_ON = 0.85
"""The chance that loop fusion goes on with the callees of a callee: that of the published tuner."""


def randomize_constants(parent: DecidedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Randomizes the constants: all factors of the Func."""

    def choose(partial: PartialSchedule) -> DecisionOption:
        is_own = partial.func == func
        return chosen.choice(partial.options) if is_own else partial.nearest(parent.form)

    numbers = [one for one in parent.way if one.state.has_structure]
    if not any(one.func == func for one in numbers):
        return None
    structural = parent.way[: len(parent.way) - len(numbers)]
    return (*structural, *numbers[0].led(choose))


def randomize_schedule(parent: DecidedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Replaces the schedule of the Func by a random one."""
    number = next((n for n, one in enumerate(parent.way) if _decides(one, func)), None)
    if number is None:
        return None
    numbers = parent.way[-1].state.numbers

    def choose(partial: PartialSchedule) -> DecisionOption:
        return partial.nearest(parent.form)

    rest = with_random_funcs(parent.way[number], (func,), choose, numbers, chosen)
    return None if rest is None else (*parent.way[:number], *rest)


def copy_schedule(parent: DecidedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Replaces the schedule of the Func by that of another one, dimension by dimension."""
    schedule, pipeline = parent.schedule, parent.way[-1].state.pipeline
    others = [one.name for one in pipeline.functions if one.name != func]
    if not others:
        return None
    other = chosen.choice(others)
    entry = copy_entry(
        schedule.of(other), schedule.of(func), *map(pipeline.function, (other, func))
    )
    return _lead_near(parent, [entry])


def add_transformation(parent: DecidedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Adds a random domain transformation to those of the Func."""
    return _transform(parent, func, chosen, lambda before, after: after > before)


def remove_transformation(parent: DecidedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Removes a random domain transformation of the Func."""
    return _transform(parent, func, chosen, lambda before, after: after < before)


def replace_transformation(parent: DecidedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Replaces a random domain transformation of the Func by another one."""
    return _transform(parent, func, chosen, lambda before, after: after == before)


def fuse_loops(parent: DecidedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Tiles the Func fully, and computes callees in vectors inside its tiles: under the inner loop
    over x. Goes on with the callees of each callee until a coin fails.
    """
    state = parent.way[-1].state
    entry = tile_fully(state, func, chosen)
    level = None if entry is None else _find_tile(entry)
    if entry is None or level is None:
        return None
    return _lead_near(parent, [entry, *_fuse_callees(state, func, level, chosen)])


def _fuse_callees(
    state: ProcessState, func: str, level: LoopLevel, chosen: random.Random
) -> Iterator[FuncSchedule]:
    """The entries of the callees that loop fusion computes at a level."""
    open_, seen = [func], {func}
    while open_:
        for name in state.function(open_.pop()).callees:
            if name in seen or state.pipeline.is_image.get(name, False):
                continue
            seen.add(name)
            entry = vectorize_at(state, name, chosen, level)
            if entry is not None:
                yield entry
            if chosen.random() < GOES_ON:
                open_.append(name)


def apply_template(parent: DecidedSchedule, func: str, chosen: random.Random) -> Way | None:
    """Replaces the schedule of the Func by a common pattern."""
    state = parent.way[-1].state
    entry = chosen.choice(TEMPLATES)(state, func, chosen, parent.schedule)
    return None if entry is None else _lead_near(parent, [entry])


GENERIC: Mapping[str, Mutation] = {
    "constants": randomize_constants,
    "random": randomize_schedule,
    "copy": copy_schedule,
    "add": add_transformation,
    "remove": remove_transformation,
    "replace": replace_transformation,
}
"""The rules that know nothing of images."""


IMAGING: Mapping[str, Mutation] = {"fusion": fuse_loops, "template": apply_template}
"""The rules that know what suits images."""


MUTATIONS: Mapping[str, Mutation] = {**GENERIC, **IMAGING}
"""All rules, by name."""


def count_transformations(entry: FuncSchedule) -> int:
    """The number of domain transformations of a Func: its splits, fuses and loops that are not
    serial.
    """
    return sum(
        len(order.splits) + sum(loop.kind is not LoopKind.SERIAL for loop in order.loops)
        for order in entry.stages
    )


def _transform(
    parent: DecidedSchedule,
    func: str,
    chosen: random.Random,
    wanted: Callable[[int, int], bool],
) -> Way | None:
    """Takes another option of a random decision about the domain orders of the Func, so that
    ``wanted`` holds for the numbers of its transformations before and after.
    """
    old = parent.schedule.of(func)
    numbers = [n for n, one in enumerate(parent.way) if _decides(one, func)]
    for number in chosen.sample(numbers, len(numbers)):
        partial, taken = parent.way[number], parent.way[number + 1].taken[-1]
        after = {one.label: _entry_after(one, func) for one in partial.options}
        own = after[taken]
        options = [
            option
            for option in partial.options
            if (entry := after[option.label]) is not None
            and own is not None
            and entry.stages != own.stages
            and wanted(count_transformations(own), count_transformations(entry))
        ]
        if not options:
            continue
        way = partial.take(chosen.choice(options)).led(_follow(parent.form, func, chosen))
        found = (*parent.way[: number + 1], *way)
        new = found[-1].schedule.of(func)
        # A loop may only have moved: the form has a place for it further inside.
        if wanted(count_transformations(old), count_transformations(new)):
            return found
    return None


def _follow(form: FormParts, func: str, chosen: random.Random) -> Guide:
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


def _find_tile(entry: FuncSchedule) -> LoopLevel | None:
    """The level inside the tile of a Func: its innermost loop outside vectors and threads."""
    found = None
    for loop in entry.stages[0].loops:
        if loop.kind.has_constant_extent or loop.kind is LoopKind.GPU_THREAD:
            break
        found = LoopLevel(entry.name, loop.name)
    return found


def _lead_near(parent: DecidedSchedule, entries: Iterable[FuncSchedule]) -> Way:
    """The way to the schedule of the space that is nearest to the parent with other entries of some
    Funcs.
    """
    schedule = parent.schedule
    for entry in entries:
        schedule = schedule.replace(entry)
    return find_way_near(parent.way[0], schedule)
