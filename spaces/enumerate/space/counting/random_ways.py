"""Random schedules of a process, each with a weight that makes estimates unbiased.

One Func after another is decided, consumers first, with a random option of each decision. Once a
Func is decided, its factors get random numbers, and if the decided Funcs break a rule, this Func is
decided again. As in sequential importance sampling, the weight of a schedule is what one over its
chance would be.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from fractions import Fraction

from attrs import evolve

from spaces.enumerate.space.counting.rest_at_root import suits_rest_at_root
from spaces.enumerate.space.process.decision import random_option
from spaces.enumerate.space.process.partial import Guide, PartialSchedule
from spaces.model.deadline import ask_clock
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import Schedule

TRIES = 120
"""How often a Func is decided again, at most."""

RELUCTANCE = 200
"""Of the ways that the plainest rest makes illegal, one in this many is accepted."""


def random_way(start: PartialSchedule, chosen: random.Random) -> tuple[Schedule, Fraction] | None:
    """A random completion and its weight; None if no way on was found, which has weight 0.

    The mean over many calls of ``weight * f(schedule)`` is the sum of ``f`` over all completions
    that are legal.
    """
    partial, weight = start, Fraction(1)
    while not partial.state.has_structure or partial.state.open_menus:
        found = with_random_func(partial, chosen)
        if found is None:
            return None
        partial, share = found
        weight *= share
    return partial.schedule, weight


def with_random_func(
    partial: PartialSchedule, chosen: random.Random
) -> tuple[PartialSchedule, Fraction] | None:
    """The partial schedule after random decisions about the next Func, with numbers for all Funcs
    decided so far, and its weight; None if no way on was found.

    Tries until two ways are accepted and takes the first one. If the n-th is the second, one in
    n - 1 of the ways before it is accepted, an unbiased estimate of their share.
    """
    first: tuple[PartialSchedule, Fraction] | None = None
    for tried in range(TRIES):
        ask_clock()
        after, weight = _one_way(partial, chosen)
        times = _accepted(after, chosen)
        if times and first is not None:
            return first[0], first[1] / tried
        if times:
            first = after, weight * times
    return None if first is None else (first[0], first[1] / TRIES)


def with_random_funcs(
    partial: PartialSchedule,
    funcs: Collection[str],
    guide: Guide,
    numbers: Mapping[str, int],
    chosen: random.Random,
) -> tuple[PartialSchedule, ...] | None:
    """The way to a completion for which all decisions about some Funcs are random, and ``guide``
    makes the others; None if no way on was found.

    Args:
        partial: where the way begins.
        funcs: these Funcs.
        guide: makes the other decisions.
        numbers: those of other Funcs, by parameter: what is random is legal with them.
        chosen: makes the random choices.
    """
    way, drawn = [partial], dict[str, int]()
    while not way[-1].is_complete:
        partial = way[-1]
        state = partial.state
        if partial.func not in funcs:
            way.append(partial.take(guide(partial)))
        elif state.has_structure:  # a factor
            known = {**drawn, **state.numbers}.items()
            way.append(
                partial.take(next(o for o in partial.options if o.after.numbers.items() <= known))
            )
        else:
            menus = state.menus
            names = parameters(Schedule(state.entries))
            known_numbers = {**numbers, **drawn}
            own = {name: known_numbers.get(name, menus[name][0]) for name in names}
            found = with_random_func(
                PartialSchedule(evolve(state, numbers=own), partial.taken), chosen
            )
            if found is None:
                return None
            drawn |= found[0].state.numbers
            for label in found[0].taken[len(partial.taken) :]:
                way.append(way[-1].take(label))
    return tuple(way)


def _accepted(partial: PartialSchedule, chosen: random.Random) -> int:
    """One over the chance that a way is accepted; 0 if it is not."""
    if not partial.can_be_legal:
        return 0
    if suits_rest_at_root(partial.state):
        return 1
    return 0 if chosen.randrange(RELUCTANCE) else RELUCTANCE


def _one_way(partial: PartialSchedule, chosen: random.Random) -> tuple[PartialSchedule, Fraction]:
    """The partial schedule after random decisions about one more Func, with numbers, and one over
    the chance of these.
    """
    weight, before = Fraction(1), len(partial.state.entries)
    while not partial.state.has_structure:
        option, times = random_option(partial.options, chosen)
        weight *= times
        partial = partial.take(option)
        if partial.state.draft is None and len(partial.state.entries) > before:
            break
    state = partial.state
    numbers = dict(state.numbers)
    for name, menu in state.open_menus.items():
        weight *= len(menu)
        numbers[name] = chosen.choice(menu)
    return PartialSchedule(evolve(state, numbers=numbers), partial.taken), weight
