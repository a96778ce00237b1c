"""Polishing: the numbers of complete schedules are chosen again, Func by Func.

A search chooses the numbers of a Func before its producers are decided; once they are, others may
be better. Others stay: those of a Func in whose nest no producer runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeAlias

from attrs import evolve

from spaces.enumerate.search.events import Event
from spaces.enumerate.search.stagewise.changed_nests import Nests
from spaces.enumerate.search.stagewise.long_tiles import may_reach_far
from spaces.enumerate.search.stagewise.repeats import context_of
from spaces.enumerate.search.stagewise.root_nests import nests_of_funcs
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay
from spaces.enumerate.search.stagewise.ways import FEW, StageDecisions
from spaces.enumerate.space.patterns.menus import entry_parameters
from spaces.model.schedules.schedule import FuncSchedule

Around: TypeAlias = Callable[[HalfDecided, str], Nests | None]
"""The nests of a state that are priced to choose the numbers of a Func; None for all."""


MOST = 4000
"""The work (:attr:`Board.work`) up to which the numbers of all Funcs are chosen again: about four
seconds of a core. Beyond it, those of Funcs at root are: their tiles are those of whole nests. In
long chains only these made schedules cheaper.
"""

AGREEING = 3
"""After this many equal choices in equal contexts, later equal contexts get the same choice without
a comparison.
"""


def polished(task: StageDecisions, state: HalfDecided, rounds: int) -> Iterator[Event]:
    """Chooses the numbers of a complete, legal state again where later decisions may have made
    others better, and offers the result. It first compares numbers by the nests that they change.
    If the whole schedule then costs more than before, it starts again: it compares the numbers that
    changed, or in a small pipeline all of them, by all nests. Beyond :data:`MOST` it looks at Funcs
    at root alone.

    Raises:
        OutOfTime: the search is at its end.
    """
    entries = list(_unsettled(task, state))
    again = task.exact(_all_chosen_again(task, state, rounds, entries, task.nests_around))
    if again.cost > state.cost:
        is_small = len(state.partial.state.pipeline.functions) <= FEW
        changed = [entry for entry in entries if is_small or _differ(state, again, entry)]
        again = task.exact(_all_chosen_again(task, state, rounds, changed, lambda *_: None))
    yield from task.offered([again])


def _all_chosen_again(
    task: StageDecisions,
    state: HalfDecided,
    rounds: int,
    entries: Sequence[FuncSchedule],
    around: Around,
) -> HalfDecided:
    most = task.pricer.board.work + MOST
    for _ in range(rounds):
        known: dict[Hashable, list[tuple[int, ...]]] = {}
        for entry in entries:
            if task.pricer.board.work >= most and not entry.compute.is_root:
                continue
            names = entry_parameters(entry)
            with task.deadline.kept():
                nests = around(state, entry.name)
                context = None if nests is None else _context(task, state, entry, nests)
                before = known.get(context, [])
                if len(before) >= AGREEING and len(set(before)) == 1:
                    again = dict(zip(names, before[0], strict=True))
                    state = evolve(state, numbers={**state.numbers, **again})
                else:
                    state = _chosen_again(task, state, entry, nests)
            if context is not None:
                found = tuple(state.numbers[name] for name in names)
                known.setdefault(context, []).append(found)
    return state


def _context(
    task: StageDecisions, state: HalfDecided, entry: FuncSchedule, nests: Nests
) -> Hashable:
    """All that the best numbers of a Func depend on, up to names: the nests that they change, with
    their numbers. In equal contexts they are chosen once.
    """
    process = state.partial.state
    entries = {one.name: one for one in process.entries}
    found = context_of(process, entry.name, nests.funcs, entries)
    numbers = tuple(state.numbers.get(name) for name in found.names)
    return found.key, numbers, tuple(task.menus(state, entry).values())


def _differ(one: HalfDecided, other: HalfDecided, entry: FuncSchedule) -> bool:
    """Whether a Func has other numbers in one state than in the other."""
    return any(one.numbers[name] != other.numbers[name] for name in entry_parameters(entry))


def _unsettled(task: StageDecisions, state: HalfDecided) -> Iterator[FuncSchedule]:
    """The entries whose best numbers later decisions may have changed. If a model adds up the costs
    of nests, those of a Func are settled if no producer runs in its nest and its tiles do not
    enlarge what is read.
    """
    process = state.partial.state
    entries, pipeline = process.entries, process.pipeline
    if not task.pricer.adds_nests or any(entry.companions for entry in entries):
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
    task: StageDecisions, state: HalfDecided, entry: FuncSchedule, nests: Nests | None
) -> HalfDecided:
    """A complete state with the numbers of one Func chosen again, while all others are fixed. Only
    the given nests are priced, or all if ``nests`` is None; the cost of the state changes by as
    much as theirs.
    """
    free = task.menus(state, entry)
    if not free:
        return state
    pipeline = state.partial.state.pipeline
    names = [function.name for function in reversed(pipeline.functions)]
    way = task.scored(pipeline, OpenWay(state, names, free, nests))
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
