"""The quick search: stage by stage, and then rewrites of what it found."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence

from attrs import field, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event
from spaces.enumerate.search.first_schedules import offer_first_incumbent
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites.registry import list_rewrites
from spaces.enumerate.search.rewrites.rewrite import FindRewrites, FoundSchedule
from spaces.enumerate.search.rewrites.while_cheaper import Rewriting
from spaces.enumerate.search.stagewise.search_in_share import search_alone
from spaces.enumerate.search.stagewise.stagewise import QUICK, Stagewise
from spaces.enumerate.search.stagewise.walk import Complete
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import OutOfTime


@frozen(kw_only=True)
class QuickSearch:
    """Searches stage by stage (:class:`Stagewise`), and rewrites the best schedule while this makes
    it cheaper. The rewrites:

    - clones of Funcs that several nests read, if the space has ``clone_in``;
    - wrappers of images that sums read, if the space is for a CPU and has ``in_``;
    - partial results of reductions to few elements, if it is for a GPU and has ``rfactor``;
    - vectors across lines, of all Funcs off rows in a nest, if it is for a CPU;
    - other numbers;
    - nests in strips of rows, if these are in the space;
    - Funcs inlined that it stores.

    It begins no rewrite of the structure once the rewrites took as much work (:attr:`Board.work`)
    as the search before, or took :data:`QUICK`.

    Attributes:
        walk: the search that finds the schedule, and that decides what a rewrite leaves open.
        wider: a second search, made if the first one took at most half of :data:`QUICK`. A wide
            beam alone finds dearer schedules for some pipelines: it goes on from fewer choices of
            each state that it keeps.
        rewrites: what finds the rewrites to try, one kind after the other.
    """

    walk: Stagewise = field(default=Stagewise())
    wider: Stagewise | None = field(default=Stagewise(width=4))
    rewrites: Sequence[FindRewrites] = list_rewrites()

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        yield from search_alone(self, pricer, offer_first_incumbent(pricer))

    def search_in_share(self, pricer: Pricer, share: float = 1.0) -> Generator[Event, None, bool]:
        """Searches in a share of the time limit, and offers to a board what it finds. Returns
        whether it ended in time.
        """
        board = pricer.board
        begun = board.work
        walks = 1 if self.wider is None else 2
        complete = yield from self.walk.find_states(pricer, share, 1, walks)
        if complete is not None and self.wider and board.work - begun <= QUICK / 2:
            other = yield from self.wider.find_states(pricer, share, 2, walks)
            complete = None if other is None else min(complete, other, key=_least_cost)
        if complete is None:
            return False
        if not complete.legal:
            return True
        most = board.work + min(board.work - begun, QUICK)
        states = (*complete.legal, *complete.unjudged)
        found = FoundSchedule.of_states(complete.task.pricer, pricer.space, states)
        rewriting = Rewriting(complete.task, self.walk, self.rewrites, most, share)
        try:
            yield from rewriting.rewrite_while_cheaper(found)
        except OutOfTime:
            return False
        yield board.scored
        return True


def _least_cost(complete: Complete) -> float:
    return complete.legal[0].cost if complete.legal else math.inf
