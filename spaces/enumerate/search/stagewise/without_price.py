"""Decisions that need no price: Funcs that are surely inlined, and decisions that recur.

A search that goes on with one state alone need not know what such a decision costs. The missing
cost is the same in all ways that follow, and the complete schedule gets its own price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from attrs import evolve

from spaces.enumerate.search.stagewise.dominance import is_read_once
from spaces.enumerate.search.stagewise.recurring_decisions import RecurringDecisions
from spaces.enumerate.search.stagewise.stage_decisions import StageDecisions
from spaces.enumerate.search.stagewise.state import CostOfOthers, FreeNumbers, HalfDecided, OpenWay
from spaces.enumerate.search.stagewise.ways import NEST
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.process.topics.placing import may_start_nest


def inline_func(
    task: StageDecisions, state: HalfDecided, names: Sequence[str], known: PartialSchedule | None
) -> HalfDecided | None:
    """The state in which the last of some Funcs is inlined, with the cost of the state before. None
    if the Func has other ways, or numbers to choose.

    Args:
        task: what the steps of the search share.
        state: the state before.
        names: the decided Funcs and the next one, consumers first.
        known: the way that the search takes, if it knows it.
    """
    space, name, process = task.space, names[-1], state.partial.state
    adds_up = task.pricer.adds_nests and state.is_priced
    if not adds_up or space.where or space.sizes or name in process.pipeline.outputs:
        return None
    if known is None:
        part, around = task.ways.nests_of_readers(state, name)
        starts_nest = len(around.funcs) >= NEST and may_start_nest(process, name)
        reads_once = not starts_nest and is_read_once(part, around, name)
        if not reads_once or not task.ways.should_be_inlined(state, name, part, around):
            return None
        ways = state.partial.ways(name, lambda entry: entry.compute.is_inline)
        known, *others = islice(ways, 2)
        if others:
            return None
    after = HalfDecided(known, state.numbers, state.cost, state)
    (entry,) = after.entries((name,))
    if not entry.compute.is_inline or task.ways.free_numbers(after, names):
        return None
    return after


def repeat_decision(
    task: StageDecisions,
    state: HalfDecided,
    names: Sequence[str],
    known: PartialSchedule,
    numbers: Callable[[FreeNumbers], Mapping[str, int] | None],
) -> HalfDecided | None:
    """The state in which the last of some Funcs is decided as before, with the same numbers, at
    the cost of the state before. None if it needs a price or a verdict.

    Args:
        task: what the steps of the search share.
        state: the state before.
        names: the decided Funcs and the next one, consumers first.
        known: the way that the search takes.
        numbers: the numbers that it chose before from some menus; None if it chose from others.
    """
    space, process = task.space, state.partial.state
    if space.where or space.sizes or names[-1] in process.pipeline.outputs:
        return None
    changed, others = task.ways.find_changed_nests(state, names)
    after = HalfDecided(known, state.numbers, state.cost, state)
    free = task.ways.free_numbers(after, names)
    if changed is None or task.prices.is_doubtful(OpenWay(after, names, free, changed, others)):
        return None
    chosen = numbers(free)
    if chosen is None:
        return None
    every = {**state.numbers, **chosen}
    return evolve(after, numbers=every, others=CostOfOthers(changed, every, others))


def decide_without_price(
    task: StageDecisions,
    state: HalfDecided,
    decided: Sequence[str],
    known: PartialSchedule | None,
    recurring: RecurringDecisions,
) -> HalfDecided | None:
    """The state after the only one before, if the last Func is surely inlined, or if its decision
    and its numbers recur; None if it needs a price.

    Args:
        task: what the steps of the search share.
        state: the state before.
        decided: the decided Funcs and the next one, consumers first.
        known: the way that the search takes, if the decision recurs.
        recurring: the decisions of the search.
    """
    found = inline_func(task, state, decided, known)
    if found is None and known is not None:

        def numbers(free: FreeNumbers) -> Mapping[str, int] | None:
            return recurring.find_numbers(state, decided[-1], free)

        found = repeat_decision(task, state, decided, known, numbers)
    return found
