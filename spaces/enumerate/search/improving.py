"""The default search: a quick one, and edits of what it finds in the rest of a time limit."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from attrs import field, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.board import Board
from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.first_schedules import offer_first_incumbent, offer_schedule
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.quick_search import QuickSearch
from spaces.enumerate.search.runners_up import offer_runners_up
from spaces.enumerate.search.search_steps import (
    PART,
    conclude_search,
    offer_draw_if_none,
)
from spaces.enumerate.search.shares import share_cost
from spaces.enumerate.search.stagewise.device_policy import policy_of
from spaces.enumerate.space.edits import ALL_ALIKE, DecidedSchedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import OutOfTime
from spaces.model.schedules.schedule import Schedule


@frozen(kw_only=True)
class Improving:
    """A quick search, :class:`QuickSearch`. With a time limit it then looks for cheaper schedules
    in the rest of the time.

    Without ``Limits.seconds`` it ends after the quick search. So a seed gives one result, in about
    a second for a pipeline of ten Funcs.

    With ``Limits.seconds`` it changes one decision of the best schedule at a time: where a Func is
    computed and stored, its loops, their kinds, its numbers. Their order follows from the seed. It
    goes on from each schedule that is cheaper. It ends when none of these changes makes the best
    schedule cheaper. A longer time limit then finds nothing more. Two changes together may still be
    cheaper, and so may numbers that the search does not try. Its result never costs more than that
    of the quick search.

    If restrictions name loops that whole patterns lack, there is no quick search. The changes then
    begin with a random schedule and end when none is cheaper, also without a time limit.

    Attributes:
        first: the quick search.
        numbers: how many choices of the numbers of a Func are tried with an edit, at most.
    """

    first: QuickSearch = field(default=QuickSearch())
    numbers: int = 64

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        board = pricer.board
        is_quick = is_complete = False
        if space.has_patterns:
            yield from offer_first_incumbent(pricer)
            is_complete = yield from self.first.search_in_share(pricer)
            is_quick = limits.seconds is None or not is_complete
        yield from offer_draw_if_none(pricer)
        decided = None
        if not is_quick:
            try:
                decided = _decide_best(space, board)
            except OutOfTime:
                is_complete = False
        if decided is not None:
            changes = improve_schedule(pricer, decided, self.numbers)
            yield from conclude_search(pricer, changes, tries_changes=True)
        else:
            yield from offer_runners_up(pricer)
            yield board.done(space, is_complete)


@frozen(kw_only=True)
class ImprovingFrom:
    """Changes one decision of a schedule at a time while this makes it cheaper, as
    :class:`Improving` does after its quick search. So a search goes on from what an earlier one
    found.

    Attributes:
        start: a legal schedule.
        numbers: how many choices of the numbers of a Func are tried with an edit, at most.
    """

    start: Schedule
    numbers: int = 64

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        yield from offer_schedule(pricer, self.start)
        decided = _decide_best(space, pricer.board)
        changes = () if decided is None else improve_schedule(pricer, decided, self.numbers)
        yield from conclude_search(pricer, iter(changes), tries_changes=decided is not None)


def improve_schedule(pricer: Pricer, decided: DecidedSchedule, numbers: int) -> Iterator[Event]:
    """Goes from the best schedule to cheaper ones until no edit of one decision is cheaper.

    Raises:
        OutOfTime: the search is at its end.
    """
    board, chosen = pricer.board, random.Random(pricer.board.limits.seed)
    least, tried = board.best[0].cost, 0
    is_improved = True
    while is_improved:
        is_improved = False
        weights = weigh_funcs(pricer, decided.schedule)
        for edit in decided.shuffle_edits(chosen, weights):
            if tried % PART == 0:
                yield Expanded(tried // PART + 1, 0, "improvement")
                yield board.scored
            tried += 1
            structure = edit.open_numbers(chosen, numbers)
            found = pricer.find_cheapest_below(structure, board.worst)
            if found is None:
                continue
            yield from board.offer(found)
            if found.cost < least:
                least, decided = found.cost, edit.with_numbers_of(found.schedule)
                is_improved = True
                break


def weigh_funcs(pricer: Pricer, schedule: Schedule) -> Mapping[str, float]:
    """How likely edits of each Func of a schedule are to come first."""
    policy = policy_of(pricer.space.device)
    return share_cost(pricer, schedule) if policy.edits_dear_funcs_first else ALL_ALIKE


def _decide_best(space: ScheduleSpace, board: Board) -> DecidedSchedule | None:
    """Finds the decisions that lead to the best schedule of the board. Returns None if the board
    has no schedule, or if the space lacks the schedule: a search may fall back to plain loops
    outside the space.

    Raises:
        OutOfTime: the search is at its end.
    """
    if not board.best:
        return None
    try:
        with board.deadline.kept():
            return DecidedSchedule.of(space, board.best[0].schedule)
    except ValueError:
        return None
