"""The arguments of every search strategy, and the board that keeps its best schedules."""

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
    """When a search ends, and how many schedules it returns.

    Attributes:
        top: the number of schedules to find; no two have the same structure.
        seconds: the search ends after this time with the best so far; None for no limit. With a
            limit, the result depends on the machine; without a limit, a seed always gives the same
            stream.
        seed: the seed of all random choices of a strategy.

    Raises:
        ValueError: ``top`` is not a positive integer, ``seconds`` is not a time, or ``seed`` is not
            an integer from 0.
    """

    top: int = field(default=1)
    seconds: float | None = field(default=None, converter=_seconds)
    seed: int = field(default=0)

    @top.validator
    def _is_count(self, _: Any, top: object) -> None:
        if not _is_whole(top) or top < 1:
            raise ValueError(
                f"Limits.top is {shown_number(top)}; it must be an integer of at least 1."
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
"""A search: it yields events, and :class:`~spaces.enumerate.events.Done` as the last one."""


@define
class Board:
    """The best schedules of a running search, and the number of scored structures and choices."""

    limits: Limits
    structures: int = 0
    choices: int = 0
    _is_priced: bool = field(init=False, default=False)
    _best: dict[Schedule, Found] = field(init=False, factory=dict)
    _began: float = field(init=False, factory=time.monotonic)

    @property
    def out_of_time(self) -> bool:
        """Whether the search has used its time."""
        seconds = self.limits.seconds
        return seconds is not None and time.monotonic() - self._began >= seconds

    def score(self, model: CostModel, batch: Batch) -> NDArray[np.float64]:
        """The costs of a batch; counts the batch.

        Raises:
            BatchError: the model does not give a number for each choice.
        """
        costs = batch.full(model.cost(batch))
        costs[np.isnan(costs)] = np.inf  # a choice without a cost is useless
        self._is_priced |= bool(np.isfinite(costs).any())
        self.structures += 1
        self.choices += costs.size
        return costs

    @property
    def scored(self) -> Scored:
        """An event with the number of scored structures and choices."""
        return Scored(self.structures, self.choices)

    def offer(self, structure: Schedule, found: Found) -> Iterator[Event]:
        """Takes a legal schedule of a structure into the best, if it is good enough."""
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
            EmptySpaceError: the search found no legal schedule, or none has a finite cost.
        """
        if not self._best and self.choices and not self._is_priced:
            raise EmptySpaceError(
                f"The cost model gives no finite cost to any of {self.choices} choices of "
                f"{self.structures} structures of {space.pipeline.name}; it must give one to each "
                "useful choice."
            )
        if not self._best:
            raise EmptySpaceError(
                f"The search found no legal schedule of {space.pipeline.name} for "
                f"{space.device.name} among {self.choices} choices of {self.structures} structures"
                + ("" if complete else " within its time")
                + "; widen the options (explain_empty says which), or give the search more time."
            )
        best = heapq.nsmallest(self.limits.top, self._best.values(), key=lambda f: f.cost)
        return Done(tuple(best), self.structures, self.choices, complete)
