"""Polishing: the numbers of complete schedules are chosen again, Func by Func.

A search chooses the numbers of a Func before its producers are decided; once they are, others may
be better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spaces.enumerate.events import Event
from spaces.enumerate.half_decided import HalfDecided, OpenWay
from spaces.enumerate.menus import entry_parameters
from spaces.enumerate.stage_decisions import StageDecisions


def polished(task: StageDecisions, states: Sequence[HalfDecided], rounds: int) -> Iterator[Event]:
    """Offers complete, legal states, as they are, and then with the numbers of each Func chosen
    again, if that is cheaper.

    Raises:
        OutOfTime: the search is at its end.
    """
    for state in states:
        yield from task.offered(state)
    for state in states:
        again = state
        for _ in range(rounds):
            for entry in state.partial.state.entries:
                with task.deadline.kept():
                    again = _chosen_again(task, again, entry.name, entry_parameters(entry))
        if again is not state:
            again = task.exact(again)
        yield from task.offered(min(state, again, key=lambda one: one.cost))


def _chosen_again(
    task: StageDecisions, state: HalfDecided, name: str, free: tuple[str, ...]
) -> HalfDecided:
    """A complete state with the numbers of one Func chosen again, while others are fixed. If the
    model adds up nests, the cost of the state is that of the nests around.
    """
    if not free:
        return state
    pipeline = state.partial.state.pipeline
    names = [function.name for function in reversed(pipeline.functions)]
    changed, others = task.nests_around(state, name)
    way = task.scored(pipeline, OpenWay(state, names, free, changed, others))
    if way is None or way.cost >= state.cost:
        return state
    return min(state, task.legal(pipeline, way).chosen, key=lambda one: one.cost)
