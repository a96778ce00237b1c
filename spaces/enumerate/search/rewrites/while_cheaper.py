"""Rewrites a found schedule as long as this makes it cheaper."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from typing import TypeAlias

from attrs import evolve, frozen

from spaces.enumerate.search.events import Event, Expanded, Found
from spaces.enumerate.search.rewrites.price_change import (
    price_by_nests,
    price_exactly,
    price_whole,
)
from spaces.enumerate.search.rewrites.rewrite import (
    FindRewrites,
    FoundSchedule,
    OpenFuncs,
    OpenNumbers,
    Rewrite,
)
from spaces.enumerate.search.search_steps import is_clearly_cheaper
from spaces.enumerate.search.stagewise.stage_decisions import StageDecisions
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.search.stagewise.state import HalfDecided
from spaces.enumerate.search.stagewise.walk import Complete
from spaces.model.deadline import OutOfTime
from spaces.model.schedules.parameters import entry_parameters

NUMBERS = 4000
"""The most work (:attr:`Board.work`) that a search spends on one kind of rewrites of numbers: about
four seconds of a core. It spends no more than the search took before.
"""


PriceChange: TypeAlias = Callable[[FoundSchedule, OpenNumbers], FoundSchedule | None]
"""Prices what a rewrite makes of a schedule; None if it costs as much as before."""


@frozen
class Rewriting:
    """Rewrites the schedule of one search.

    Attributes:
        task: what the steps of the search share.
        walk: decides the Funcs that a rewrite opens.
        finders: find the rewrites to try, one kind after the other.
        most: the work (:attr:`Board.work`) at which the search begins no rewrite of the structure.
        share: the share of the time limit at which it ends.
    """

    task: StageDecisions
    walk: Stagewise
    finders: Sequence[FindRewrites]
    most: float
    share: float = 1.0

    def rewrite_while_cheaper(self, found: FoundSchedule) -> Iterator[Event]:
        """Tries rewrites of a schedule, and goes on from each schedule that is cheaper, until none
        is. Tries each rewrite once. Offers what it goes on from.

        Raises:
            OutOfTime: the search is at its end.
        """
        tried: set[Rewrite] = set()
        is_cheaper = True
        while is_cheaper:
            is_cheaper = False
            for find in self.finders:
                rewrites = [one for one in find(found) if one not in tried]
                tried.update(rewrites)
                cheaper = yield from self._try_rewrites(found, rewrites)
                is_cheaper |= cheaper is not found
                found = cheaper

    def _try_rewrites(
        self, found: FoundSchedule, rewrites: Sequence[Rewrite]
    ) -> Generator[Event, None, FoundSchedule]:
        """The schedule after the rewrites of one kind that make it cheaper together. Compares by
        the nests that they change. If the whole schedule then turns out to be illegal or dearer,
        compares all of them again by whole schedules.
        """
        for price in (price_by_nests, price_whole):
            cheaper = yield from self._go_on(found, rewrites, price)
            if cheaper is found:
                return found
            with self.task.deadline.kept():
                exact = price_exactly(cheaper)
            if is_worth(exact, found):
                board = self.task.pricer.board
                yield from board.offer(Found(exact.cost, exact.with_numbers))
                return exact
        return found

    def _go_on(
        self, found: FoundSchedule, rewrites: Sequence[Rewrite], price: PriceChange
    ) -> Generator[Event, None, FoundSchedule]:
        """Goes from a schedule to cheaper ones, with one more of some rewrites each time. First
        takes those that are worth a change, then the others if these are so together.
        """
        board = self.task.pricer.board
        taken: list[Rewrite] = []
        has_small_gain = False
        keeps_structure = all(rewrite.keeps_structure for rewrite in rewrites)
        most = board.work + min(NUMBERS, board.work) if keeps_structure else self.most
        for rewrite in rewrites:
            if board.work >= most:
                break
            cheaper = yield from self._find_cheapest(rewrite, found, price)
            if is_worth(cheaper, found):
                found = cheaper
                taken.append(rewrite)
            else:
                has_small_gain |= cheaper is not found
        together = found
        for rewrite in rewrites if has_small_gain else ():
            if board.work < most and rewrite not in taken:
                together = yield from self._find_cheapest(rewrite, together, price)
        return together if is_worth(together, found) else found

    def _find_cheapest(
        self, rewrite: Rewrite, found: FoundSchedule, price: PriceChange
    ) -> Generator[Event, None, FoundSchedule]:
        """The cheapest schedule that a rewrite makes of one; the one itself if none is cheaper."""
        cheapest = found
        for opening in rewrite.open(found):
            match opening:
                case OpenFuncs():
                    made = yield from self._decide(opening, found)
                case OpenNumbers():
                    with self.task.deadline.kept():
                        made = price(found, opening)
            if made is not None and made.cost < cheapest.cost:
                cheapest = made
        return cheapest

    def _decide(
        self, opening: OpenFuncs, found: FoundSchedule
    ) -> Generator[Event, None, FoundSchedule | None]:
        """The schedule after the Funcs that an opening leaves open are decided. Begins with that of
        the states of a schedule that is cheapest with what they decide. None if none is known.

        Raises:
            OutOfTime: the time of the walk is over.
        """
        if not found.states:
            return None
        before = self.task.within(found.pricer.space)
        task = self.task.within(found.pricer.space.with_directive(opening.directive))
        given = found.states[0].partial.state.pipeline.derivations
        steps = (*given[len(task.space.pipeline.derivations) :], *opening.steps)
        until = {name for step in opening.steps for name in (step.func, step.name)}
        with task.deadline.kept():
            begin = task.start(steps)
            starts = [before.replay_decisions(one, begin, until) for one in found.states]
            start = min(starts, key=task.cost_so_far) if len(starts) > 1 else starts[0]
            known = _find_kept(start, until)
            if known:
                start = evolve(start, cost=task.cost_so_far(start))
        walk = self.walk.decide_rest(task, start, self.share, known)
        complete = yield from _without_steps(walk)
        if complete is None:
            raise OutOfTime
        if not complete.legal:
            return None
        states = (*complete.legal, *complete.unjudged)
        return FoundSchedule.of_states(task.pricer, found.space, states)


def _find_kept(start: HalfDecided, changed: Collection[str]) -> list[str]:
    """The Funcs that a state decides as a legal schedule does: all of it, with numbers, or none. It
    may have decided a changed Func, too, where there was no choice.
    """
    entries = start.partial.state.entries
    names = [entry.name for entry in entries]
    numbers = {name for entry in entries for name in entry_parameters(entry)}
    return names if numbers <= set(start.numbers) and not set(names) & set(changed) else []


def _without_steps(
    events: Generator[Event, None, Complete | None],
) -> Generator[Event, None, Complete | None]:
    """The events but those of steps, for a search whose steps were counted before."""
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            found: Complete | None = end.value
            return found
        if not isinstance(event, Expanded):
            yield event


def is_worth(one: FoundSchedule, other: FoundSchedule) -> bool:
    """Whether a schedule costs so much less than another that it is worth the change: of numbers
    alone always, of the structure if it is clearly cheaper.
    """
    if one.schedule == other.schedule:
        return one.cost < other.cost
    return is_clearly_cheaper(one.cost, other.cost)
