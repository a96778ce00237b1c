"""The walk of a search that decides one Func after another, consumers first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from typing import TypeAlias

from attrs import frozen

from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.stagewise.stage_decisions import StageDecisions
from spaces.enumerate.search.stagewise.state import HalfDecided
from spaces.model.deadline import OutOfTime

Decide: TypeAlias = Callable[[list[HalfDecided], Sequence[str]], list[HalfDecided]]
"""From some states and the names of the Funcs decided then, consumers first, the states in which
the last of these Funcs is decided, too.
"""

COMPLETING = 0.125
"""The share of the time limit that is left to complete half-decided schedules."""


@frozen
class Complete:
    """States in which every Func is decided.

    Attributes:
        task: what the steps to them shared.
        legal: those with a legal schedule and the cost of their whole pipeline, cheapest first.
        unjudged: others, which may be illegal.
    """

    task: StageDecisions
    legal: list[HalfDecided]
    unjudged: list[HalfDecided]


def names_of(start: HalfDecided) -> list[str]:
    """The Funcs that a walk decides, in its order."""
    return [one.name for one in reversed(start.partial.state.pipeline.functions)]


def walk_funcs(
    task: StageDecisions,
    start: HalfDecided,
    decide: Decide,
    share: float,
    number: int = 1,
    numbers: int = 1,
    wanted: int | None = None,
    known: Collection[str] = (),
) -> Generator[Event, None, Complete | None]:
    """The states in which every Func is decided. None if the time is over; then what was decided is
    completed and offered.

    Args:
        task: what the steps share.
        start: the state before the walk.
        decide: a step of it.
        share: the share of the time limit at which it ends.
        number: the number of this walk, from 1.
        numbers: how many walks the search makes before its last step, the choice of numbers.
        wanted: how many legal states are wanted, the cheapest ones; all if not given.
        known: the Funcs that ``start`` decides, whose cost it has.
    """
    names, states = names_of(start), [start]
    try:
        for step, name in enumerate(names, start=1):
            yield Expanded((number - 1) * len(names) + step, numbers * len(names) + 1, name)
            if name in known:
                continue
            with task.pricer.board.until(share * (1 - COMPLETING)).kept():
                states = decide(states, names[:step])
            yield task.pricer.board.scored
        if not all(state.is_priced for state in states):
            wanted = None  # those without a price may be the cheapest
        legal: list[HalfDecided] = []
        unjudged = sorted(states, key=lambda state: state.cost)
        while unjudged and len(legal) != wanted:
            state = task.price_complete(unjudged.pop(0))
            if state.is_priced:
                legal.append(state)
    except OutOfTime:
        yield from task.offer_completions(states)
        return None
    return Complete(task, sorted(legal, key=lambda state: state.cost), unjudged)


def last_step(start: HalfDecided, numbers: int = 1) -> Expanded:
    """The step after some walks, in which the numbers of complete schedules are chosen again."""
    last = numbers * len(names_of(start)) + 1
    return Expanded(last, last, "numbers")
