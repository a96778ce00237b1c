"""Polishing: the numbers of complete schedules are chosen again, Func by Func.

A search chooses the numbers of a Func before its producers are decided; once they are, others may
be better. Others stay: those of a Func in whose nest no producer runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from attrs import evolve

from spaces.cost.model import AdditiveModel
from spaces.enumerate.changed_nests import Nests
from spaces.enumerate.events import Event
from spaces.enumerate.half_decided import HalfDecided, OpenWay
from spaces.enumerate.overreach import may_reach_far
from spaces.enumerate.root_nests import nests_of_funcs
from spaces.enumerate.stage_decisions import StageDecisions
from spaces.model.schedules.schedule import FuncSchedule

Around: TypeAlias = Callable[[HalfDecided, str], Nests | None]
"""The nests of a state that are priced to choose the numbers of a Func; None for all."""


def polished(task: StageDecisions, state: HalfDecided, rounds: int) -> Iterator[Event]:
    """Offers a complete, legal state with the numbers chosen again that may have better ones by
    now: by the nests that they change or, if the whole schedule costs more in the end, by all.

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
        for entry in _unsettled(task, state):
            with task.deadline.kept():
                state = _chosen_again(task, state, entry, around)
    return state


def _unsettled(task: StageDecisions, state: HalfDecided) -> Iterator[FuncSchedule]:
    """The entries whose best numbers later decisions may have changed. If a model adds up the costs
    of nests, those of a Func are settled if no producer runs in its nest and its tiles do not
    enlarge what is read.
    """
    process = state.partial.state
    entries, pipeline = process.entries, process.pipeline
    if not isinstance(task.model, AdditiveModel) or any(entry.companions for entry in entries):
        yield from entries
        return
    nests = nests_of_funcs(pipeline, {entry.name: entry for entry in entries})
    later: frozenset[str] = frozenset()
    for entry in entries:
        reaches_far = may_reach_far(pipeline, entry, task.menus(state, entry))
        if nests[entry.name] & later or reaches_far:
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
    present = None if way is None else way.way.priced.index(state.numbers)
    if way is None or present is None:
        return state
    before = float(way.costs.flat[present])
    if way.cost >= before:
        return state
    # The last step judges numbers that a part of the nests decides.
    chosen = way.chosen if way.way.changed is not None else task.legal(pipeline, way).chosen
    gain = before - chosen.cost
    return evolve(chosen, cost=state.cost - gain) if gain > 0 else state
