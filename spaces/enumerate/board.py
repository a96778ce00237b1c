"""What every search strategy is given, and the board on which it keeps the best."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.enumerate.events import Done, Event, Found, Improved, Scored
from spaces.enumerate.space import EmptySpaceError, ScheduleSpace
from spaces.model.expressions.numbers import seconds_given, shown_number
from spaces.model.schedules.schedule import Schedule


def _seconds(value: Any) -> float | None:
    return None if value is None else seconds_given("Limits.seconds", value)


@frozen(kw_only=True)
class Limits:
    """When a search ends, and what it hands over.

    Attributes:
        top: how many schedules to find; no two have the same structure.
        seconds: time after which it ends with the best so far; None for no limit. What is found
            within a time depends on the machine; without one, a seed gives the same stream.
        seed: where a strategy draws lots, the same seed draws the same.

    Raises:
        ValueError: ``top`` is no number of schedules, ``seconds`` no time, or ``seed`` no whole
            number from 0.
    """

    top: int = field(default=1)
    seconds: float | None = field(default=None, converter=_seconds)
    seed: int = field(default=0)

    @top.validator
    def _is_count(self, _: Any, top: object) -> None:
        if not _is_whole(top) or top < 1:
            raise ValueError(
                f"Limits.top is {shown_number(top)}; it is how many schedules to find, at least 1."
            )

    @seed.validator
    def _is_seed(self, _: Any, seed: object) -> None:
        if not _is_whole(seed) or seed < 0:
            raise ValueError(
                f"Limits.seed is {shown_number(seed)}; it is a whole number, at least 0."
            )


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


Strategy: TypeAlias = Callable[[ScheduleSpace, CostModel, Limits], Iterator[Event]]
"""A search: it yields events, the last of which is :class:`~spaces.enumerate.events.Done`."""


@define
class Board:
    """The best schedules of a running search, and how much has been scored."""

    limits: Limits
    structures: int = 0
    choices: int = 0
    _is_priced: bool = field(init=False, default=False)
    _best: dict[Schedule, Found] = field(init=False, factory=dict)
    _began: float = field(init=False, factory=time.monotonic)

    @property
    def out_of_time(self) -> bool:
        """Whether the time of the search is over."""
        seconds = self.limits.seconds
        return seconds is not None and time.monotonic() - self._began >= seconds

    def score(self, model: CostModel, batch: Batch) -> NDArray[np.float64]:
        """The costs of a batch, counted.

        Raises:
            BatchError: the model gives something else than a number for each choice.
        """
        costs = batch.full(model.cost(batch))
        costs[np.isnan(costs)] = np.inf  # what has no cost is of no use
        self._is_priced |= bool(np.isfinite(costs).any())
        self.structures += 1
        self.choices += costs.size
        return costs

    @property
    def scored(self) -> Scored:
        """How much has been scored."""
        return Scored(self.structures, self.choices)

    def offer(self, structure: Schedule, found: Found) -> Iterator[Event]:
        """Consider a legal schedule of a structure for the best."""
        if not np.isfinite(found.cost):
            return
        lead = min((f.cost for f in self._best.values()), default=np.inf)
        known = self._best.get(structure)
        if known is None or found.cost < known.cost:
            self._best[structure] = found
            if len(self._best) > self.limits.top:
                del self._best[max(self._best, key=lambda s: self._best[s].cost)]
        if found.cost < lead:
            yield Improved(found)

    def done(self, space: ScheduleSpace, complete: bool) -> Done:
        """The last event.

        Raises:
            EmptySpaceError: nothing legal was found, or the cost model has a price for nothing.
        """
        if not self._best and self.choices and not self._is_priced:
            raise EmptySpaceError(
                f"The cost model gives none of {self.choices} choices of {self.structures} "
                f"structures of {space.pipeline.name} a finite cost; give those that are of use "
                "one."
            )
        if not self._best:
            raise EmptySpaceError(
                f"No legal schedule of {space.pipeline.name} for {space.device.name} was found "
                f"among {self.choices} choices of {self.structures} structures"
                + ("" if complete else " before the time was over")
                + "; widen the options (explain_empty says which), or give the search more time."
            )
        best = heapq.nsmallest(self.limits.top, self._best.values(), key=lambda f: f.cost)
        return Done(tuple(best), self.structures, self.choices, complete)
