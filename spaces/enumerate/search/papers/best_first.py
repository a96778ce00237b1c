"""Best-first search: the partial schedule with the least lower bound comes first."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from itertools import count

from attrs import define, field, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.first_schedules import offer_incumbents
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.papers.exhaustive import offer_cheapest_of_parts
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.listing import structure_of
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import OutOfTime, ask_clock


@frozen(kw_only=True)
class BestFirst:
    """Finds the cheapest schedules of a space, and proves that they are: for ``Options.small`` and
    a :class:`~spaces.cost.model.BoundedModel`. In larger spaces, it says how much cheaper than the
    best schedule another one may be when the time ends.

    The search takes the open partial schedule with the least lower bound, and opens what follows
    from it by one more decision, or scores all choices of its structure. It ends when no open one
    has a bound below the worst cost that it keeps. It skips no option because others dominate it:
    it leaves out what cannot be legal, and what costs at least as much as all that it keeps. With a
    model without bounds, it scores every structure.

    Attributes:
        most_open: how many partial schedules are open at most. Once there are as many, the search
            looks at all completions of the one with the least bound, depth first, before it opens
            others. Meanwhile it keeps the other options along one way to a schedule, too.
    """

    most_open: int = 20_000

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        board = pricer.board
        yield from offer_incumbents(pricer)
        opened = _Open(self.most_open)
        try:
            with board.deadline.kept():
                opened.add(_keep_promising(pricer, (space.start(),), -math.inf), board.worst)
            for number in count(1):
                node = opened.next(board.worst)
                if node is None:
                    break
                state = node.partial.state
                if state.has_structure:
                    yield Expanded(number, 0, "structure")
                    yield from offer_cheapest_of_parts(pricer, structure_of(state))
                else:
                    yield Expanded(number, 0, state.agenda[0].name)
                    following = map(node.partial.take, node.partial.options)
                    with board.deadline.kept():
                        opened.add(_keep_promising(pricer, following, node.bound), board.worst)
        except OutOfTime:
            yield board.scored
            yield board.done(space, complete=False, left=opened.least)
            return
        yield board.scored
        yield board.done(space, complete=True, left=math.inf)


@frozen
class _Node:
    """A partial schedule and a lower bound of the cost of its completions."""

    bound: float
    partial: PartialSchedule

    @property
    def order(self) -> tuple[float, int]:
        """The least bound comes first; of equal ones the one with the most decisions."""
        return (self.bound, -len(self.partial.taken))


def _keep_promising(
    pricer: Pricer, partials: Iterable[PartialSchedule], bound: float
) -> Iterator[_Node]:
    """Those with a completion that may be legal, and cheap enough to keep.

    Args:
        pricer: says what completions cost at least, and has the best schedules so far.
        partials: partial schedules.
        bound: that of the one from which they follow.
    """
    board = pricer.board
    for partial in partials:
        ask_clock()
        own = bound
        if partial.state.draft is None:  # options of a Func change no bound before it is decided
            own = max(bound, pricer.bound_cost(partial))
            if own >= board.worst:
                board.pruned += 1
                continue
            if not partial.can_be_legal:
                continue
        yield _Node(own, partial)


@define
class _Open:
    """The open partial schedules.

    Attributes:
        most: their largest number, beyond which the search goes depth first.
        least: a lower bound of the cost of all completions of the open ones.
    """

    most: int
    least: float = field(init=False, default=-math.inf)
    _heap: list[tuple[float, int, int, _Node]] = field(init=False, factory=list)
    _stack: list[_Node] = field(init=False, factory=list)
    _numbers: Iterator[int] = field(init=False, factory=count)

    def add(self, nodes: Iterable[_Node], worst: float) -> None:
        """Opens nodes that follow from the last one; ``worst`` as for :meth:`next`."""
        found = list(nodes)
        if not self._stack and len(self._heap) + len(found) > self.most:
            self._heap = [one for one in self._heap if one[0] < worst]
            heapq.heapify(self._heap)
        if self._stack or len(self._heap) + len(found) > self.most:
            self._stack += sorted(found, key=lambda node: node.order, reverse=True)
        else:
            for node in found:
                heapq.heappush(self._heap, (*node.order, next(self._numbers), node))

    def next(self, worst: float) -> _Node | None:
        """The node to look at, no longer an open one; None if none has a bound below ``worst``."""
        while self._stack:
            node = self._stack.pop()
            if node.bound < worst:
                return node
        if not self._heap:
            return None
        *_, node = heapq.heappop(self._heap)
        if node.bound >= worst:
            return None
        self.least = node.bound
        return node


STRATEGIES = {"best-first": BestFirst()}
