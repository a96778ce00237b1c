"""Polishing: the numbers of complete schedules are chosen again, Func by Func.

A search chooses the numbers of a Func before its producers are decided; once they are, others may
be better. Those of a Func in whose nest no producer runs are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from attrs import evolve

from spaces.enumerate.changed_nests import Nests
from spaces.enumerate.events import Event
from spaces.enumerate.half_decided import HalfDecided, OpenWay
from spaces.enumerate.root_nests import nests_of_funcs
from spaces.enumerate.stage_decisions import StageDecisions
from spaces.model.schedules.schedule import FuncSchedule

Around: TypeAlias = Callable[[HalfDecided, str], Nests | None]
"""The nests of a state that are priced to choose the numbers of a Func; None for all."""


def polished(task: StageDecisions, state: HalfDecided, rounds: int) -> Iterator[Event]:
    """Offers a complete, legal state with the numbers of each Func chosen again: by the nests that
    they change or, if the whole schedule costs more in the end, by all.

    Raises:
        OutOfTime: the search is at its end.
    """
    again = task.exact(_all_chosen_again(task, state, rounds, task.nests_around))
    if again.cost > state.cost:
        again = task.exact(_all_chosen_again(task, state, rounds, lambda *_: None))
    yield from task.offered([again])


def _all_chosen_again(
    task: StageDecisions, state: HalfDecided, rounds: int, around: Around
) -> HalfDecided:
    for _ in range(rounds):
        for entry in _unsettled(state):
            with task.deadline.kept():
                state = _chosen_again(task, state, entry, around)
    return state


def _unsettled(state: HalfDecided) -> Iterator[FuncSchedule]:
    """The entries whose numbers were chosen before the nest of the Func was complete: those of
    Funcs in whose nest a producer runs, too, for consumers are decided first.
    """
    process = state.partial.state
    nests = nests_of_funcs(process.pipeline, {entry.name: entry for entry in process.entries})
    later: frozenset[str] = frozenset()
    for entry in process.entries:
        if nests[entry.name] & later:
            yield entry
        later |= nests[entry.name]


def _chosen_again(
    task: StageDecisions, state: HalfDecided, entry: FuncSchedule, around: Around
) -> HalfDecided:
    """A complete state with the numbers of one Func chosen again, while others are fixed. Its cost
    is less by as much as that of the nests that are priced.
    """
    free = task.menus(state, entry)
    if not free:
        return state
    pipeline = state.partial.state.pipeline
    names = [function.name for function in reversed(pipeline.functions)]
    way = task.scored(pipeline, OpenWay(state, names, free, around(state, entry.name)))
    present = None if way is None else way.structure.index(state.numbers)
    if way is None or present is None:
        return state
    before = float(way.costs.flat[present])
    if way.cost >= before:
        return state
    # The last step judges numbers that a part of the nests decides.
    chosen = way.chosen if way.way.changed is not None else task.legal(pipeline, way).chosen
    gain = before - chosen.cost
    return evolve(chosen, cost=state.cost - gain) if gain > 0 else state
