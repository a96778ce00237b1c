"""The walk of a search that decides one Func after another, consumers first."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from spaces.enumerate.events import Event, Expanded
from spaces.enumerate.half_decided import HalfDecided
from spaces.enumerate.stage_decisions import COMPLETING, StageDecisions
from spaces.model.deadline import OutOfTime

Deciding: TypeAlias = Callable[[list[HalfDecided], Sequence[str]], list[HalfDecided]]
"""From some states and the names of the Funcs decided then, consumers first, the states in which
the last of these Funcs is decided, too.
"""


def names_of(start: HalfDecided) -> list[str]:
    """The Funcs that a walk decides, in its order."""
    return [one.name for one in reversed(start.partial.state.pipeline.functions)]


def walked(
    task: StageDecisions,
    start: HalfDecided,
    deciding: Deciding,
    share: float,
    number: int = 1,
    numbers: int = 1,
) -> Generator[Event, None, list[HalfDecided] | None]:
    """The legal states in which every Func is decided, cheapest first. None if the time is over;
    then what was decided is completed and offered.

    Args:
        task: what the steps share.
        start: the state before the walk.
        deciding: a step of it.
        share: the share of the time limit at which it ends.
        number: the number of this walk, from 1.
        numbers: how many walks the search makes before its last step, the choice of numbers.
    """
    names, states = names_of(start), [start]
    try:
        for step, name in enumerate(names, start=1):
            yield Expanded((number - 1) * len(names) + step, numbers * len(names) + 1, name)
            with task.board.until(share * (1 - COMPLETING)).kept():
                states = deciding(states, names[:step])
            yield task.board.scored
        legal = [state for state in map(task.exact, states) if state.is_priced]
    except OutOfTime:
        yield from task.completions(states)
        return None
    return sorted(legal, key=lambda state: state.cost)


def last_step(start: HalfDecided, numbers: int = 1) -> Expanded:
    """The step after some walks, in which the numbers of complete schedules are chosen again."""
    last = numbers * len(names_of(start)) + 1
    return Expanded(last, last, "numbers")
