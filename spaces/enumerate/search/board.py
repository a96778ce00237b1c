"""The board of a running search: its best schedules, and what it has judged and priced."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from spaces.enumerate.search.events import Certificate, Done, Event, Found, Improved, Scored
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.structure_distance import is_nearer, strip_factors
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.amounts import amount
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.schedules.schedule import Schedule

REMEMBERED = 48
"""How many offered schedules a board remembers beside its best ones: the cheapest, each of another
structure. A search of hours offers millions.
"""


@define
class Board:
    """The best schedules of a running search, and its funnel.

    Attributes:
        limits: when the search ends.
        considered: the number of structures that the search has looked at.
        legal: the number of structures with a legal choice, among those judged.
        structures: the number of structures with a cost.
        choices: the number of choices of tile sizes with a cost.
        pruned: the number of partial schedules with a lower bound above the worst cost kept.
        work: the number of Funcs in all batches that got costs: what a search spends, on any
            machine.
        deadline: the end of the time limit, which begins with the board.
        held: a legal schedule that has no cost yet.
    """

    limits: Limits
    considered: int = 0
    legal: int = 0
    structures: int = 0
    choices: int = 0
    pruned: int = 0
    work: int = field(init=False, default=0)
    deadline: Deadline = field(init=False)
    held: Schedule | None = field(init=False, default=None)
    _is_priced: bool = field(init=False, default=False)
    _best: dict[Schedule, Found] = field(init=False, factory=dict)
    _offered: dict[Schedule, Found] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.deadline = Deadline.after(self.limits.seconds)

    def until(self, share: float) -> Deadline:
        """The moment at which this share of the time limit is used."""
        seconds = self.limits.seconds
        return self.deadline if seconds is None else self.deadline.later((share - 1) * seconds)

    @property
    def has_schedule(self) -> bool:
        """Whether there is a legal schedule to hand over."""
        return bool(self._best) or self.held is not None

    def ask_for_one_more(self) -> None:
        """Asks whether one more structure may get a cost.

        Raises:
            OutOfTime: as many structures as the limits allow have a cost.
        """
        if self.limits.structures is not None and self.structures >= self.limits.structures:
            raise OutOfTime

    def count(self, costs: NDArray[np.float64], structures: int = 1) -> None:
        """Counts the costs of the choices of that many further structures."""
        self._is_priced |= bool(np.isfinite(costs).any())
        self.choices += costs.size
        self.structures += structures

    @property
    def _scored(self) -> str:
        return f"{amount(self.choices, 'choice')} of {amount(self.structures, 'structure')}"

    @property
    def scored(self) -> Scored:
        """An event with the funnel."""
        return Scored(self.structures, self.choices, self.considered, self.legal, self.pruned)

    def hold(self, schedule: Schedule) -> Iterator[Event]:
        """Keeps a legal schedule that there is no time to price, if the board has no other."""
        if not self.has_schedule:
            self.held = schedule
            yield Improved(Found(np.inf, schedule))

    def offer(self, found: Found) -> Iterator[Event]:
        """Takes a legal schedule into the best, if it is good enough. Of two whose structures are
        nearer to each other than ``limits.apart``, the cheaper one stays.
        """
        if not np.isfinite(found.cost):
            return
        if self.limits.top > 1:
            self._remember(found)
        if found.cost > self.worst:
            return
        least = min((known.cost for known in self._best.values()), default=np.inf)
        structure = strip_factors(found.schedule)
        near = [s for s in self._best if is_nearer(s, structure, self.limits.apart)]
        if any(self._best[s].cost <= found.cost for s in near):
            return
        for one in near:
            del self._best[one]
        self._best[structure] = found
        if len(self._best) > self.limits.top:
            # Of equally dear ones the last leaves, so that their order does not depend on ``top``.
            del self._best[max(reversed(self._best), key=lambda s: self._best[s].cost)]
        if found.cost < least:
            yield Improved(found)

    @property
    def worst(self) -> float:
        """The cost above which no schedule is taken: the dearest one on a full board."""
        is_full = len(self._best) == self.limits.top
        return max(known.cost for known in self._best.values()) if is_full else np.inf

    @property
    def best(self) -> list[Found]:
        """The best schedules so far, cheapest first."""
        return heapq.nsmallest(self.limits.top, self._best.values(), key=lambda f: f.cost)

    def _remember(self, found: Found) -> None:
        """Keeps the cheapest schedule of each structure, and of all structures the cheapest."""
        structure = strip_factors(found.schedule)
        known = self._offered.get(structure)
        if known is None or found.cost < known.cost:
            self._offered[structure] = found
        if len(self._offered) > 2 * REMEMBERED:
            cheapest = heapq.nsmallest(
                REMEMBERED, self._offered.items(), key=lambda item: item[1].cost
            )
            self._offered = dict(cheapest)

    def offered_below(self, most: float) -> list[Found]:
        """The cheapest schedules offered so far that cost at most ``most``, cheapest first, at most
        :data:`REMEMBERED`, and of each structure the cheapest. A search for one schedule keeps
        none.
        """
        found = heapq.nsmallest(REMEMBERED, self._offered.values(), key=lambda one: one.cost)
        return [one for one in found if one.cost <= most]

    def keep(self, chosen: Sequence[Found]) -> None:
        """Keeps these schedules alone, the best one and others."""
        self._best = {strip_factors(one.schedule): one for one in chosen}

    def certificate(self, left: float) -> Certificate | None:
        """The certificate of a search that left out two kinds of schedules only: those that cost at
        least ``left``, and those that cost more than :attr:`worst` did at that moment. None if this
        proves nothing.
        """
        costs = [found.cost for found in self.best]
        if left == -np.inf or not costs:
            return None
        proven = sum(cost <= left for cost in costs)
        # A schedule that two others keep away may belong to the best once one of these has left.
        kept = proven if self.limits.apart == 1 else min(proven, 1)
        return Certificate(min(left, costs[0]), kept)

    def done(self, space: ScheduleSpace, complete: bool, left: float = -np.inf) -> Done:
        """The last event.

        Args:
            space: the space.
            complete: whether the search finished before its limits.
            left: the least that a schedule may cost which the search left out, if it left it out
                for another reason than a cost above :attr:`worst`.

        Raises:
            EmptySpaceError: the search found no legal schedule, or none has a finite cost.
        """
        if self.held is not None and not self._best:
            unpriced = (Found(np.inf, self.held),)
            return Done(unpriced, self.structures, self.choices, complete)
        if not self._best and self.choices and not self._is_priced:
            raise EmptySpaceError(
                f"The cost model gives no finite cost to any of {self._scored} of "
                f"{space.pipeline.name}; it must give one to each useful choice."
            )
        if not self._best:
            raise EmptySpaceError(
                "No simple schedule is legal, and the search found no legal schedule of "
                f"{space.pipeline.name} for {space.device.name} among {self._scored}"
                + ("" if complete else " within its time")
                + "; widen the options (explain_empty says which), or give the search more time."
            )
        return Done(
            tuple(self.best), self.structures, self.choices, complete, self.certificate(left)
        )
