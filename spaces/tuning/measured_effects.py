"""What the results of a study say about schedules that it has not measured.

A cost model ranks structures well. Changes of one fast schedule have nearly equal costs, and what
tells them apart is what the model leaves out. Their results tell it. The parts of a schedule, such
as where a Func is stored or a tile size, have effects that add up. A ridge regression finds them
(Hoerl and Kennard, 1970). It corrects the cost of the model, and where it has seen nothing, the
cost stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Self, TypeAlias

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.canonical import CanonicalForm, canonical_form
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.trial import Trial

SchedulePart: TypeAlias = tuple[str, str | int]
"""What is decided, and how."""

SLOW = math.log(2.0)
"""A schedule that takes more than twice as long as the fastest is slow; how slow does not count."""

RIDGE = 1.0
"""The variance of the noise of a result, divided by that of the effect of a part."""


@frozen(eq=False)
class MeasuredEffects:
    """The effects of parts of schedules on their time, as the results of a study tell them.

    Attributes:
        parts: the parts of the schedules with results, each with its column.
    """

    parts: dict[SchedulePart, int]
    _means: NDArray[np.float64] = field(repr=False)
    _effects: NDArray[np.float64] = field(repr=False)
    _mean: float
    _cost: float

    @classmethod
    def fit(cls, pipeline: Pipeline, trials: Sequence[Trial]) -> Self:
        """The effects that the results of some trials tell.

        Args:
            pipeline: the pipeline of their schedules.
            trials: trials, the fastest first. Those without times or cost do not count.
        """
        known = [
            one for one in trials if one.ratio < math.inf and _is_price(one.proposal.predicted)
        ]
        rows = [known_parts(pipeline, one.schedule) for one in known]
        columns = {part: place for place, part in enumerate(dict.fromkeys(_each(rows)))}
        if not known:
            return cls(columns, np.zeros(0), np.zeros(0), 0.0, 0.0)
        has = np.zeros((len(rows), len(columns)))
        for place, row in enumerate(rows):
            has[place, [columns[part] for part in row]] = 1.0
        cost = known[0].proposal.predicted or 0.0
        priced = [_slower(one.proposal.predicted, cost) for one in known]
        timed = [_slower(one.ratio, known[0].ratio) for one in known]
        error = np.subtract(timed, priced)
        means, mean = has.mean(axis=0), float(error.mean())
        spread = has - means
        # Fewer results than parts: the dual form is the smaller system.
        weights = np.linalg.solve(spread @ spread.T + RIDGE * np.eye(len(known)), error - mean)
        return cls(columns, means, spread.T @ weights, mean, cost)

    def expect(self, form: CanonicalForm, cost: float | None) -> float:
        """How much slower a schedule is than the fastest one: the logarithm of the ratio of their
        times. What the model prices at more than twice the cost counts as twice.

        Args:
            form: the schedule.
            cost: its cost by the model; None or infinite if it has none.
        """
        if self._cost == 0.0:
            return math.log(cost) if _is_price(cost) and cost is not None else math.inf
        has = np.zeros(len(self.parts))
        has[[self.parts[part] for part in parts_of(form) if part in self.parts]] = 1.0
        return float(_slower(cost, self._cost) + self._mean + (has - self._means) @ self._effects)

    def is_slow(self, cost: float | None) -> bool:
        """Whether the model prices a schedule at more than twice the cost of the fastest one."""
        return self._cost > 0.0 and _slower(cost, self._cost) >= SLOW


def parts_of(form: CanonicalForm) -> list[SchedulePart]:
    """The parts of a schedule: its derivations, its decisions, and the loops of each stage."""
    return [
        *(("derivation", one) for one in form.derivations),
        *form.parts.items(),
        *((stage, loop) for stage, loops in form.loops.items() for loop in loops),
    ]


@lru_cache(maxsize=1024)
def known_parts(pipeline: Pipeline, schedule: Schedule) -> tuple[SchedulePart, ...]:
    """The parts of a schedule with a result, which each generation asks for again."""
    return tuple(parts_of(canonical_form(pipeline, schedule)))


def _each(rows: Iterable[Iterable[SchedulePart]]) -> Iterable[SchedulePart]:
    return (part for row in rows for part in row)


def _is_price(cost: float | None) -> bool:
    """Whether a cost can be compared by its ratio to another one."""
    return cost is not None and 0.0 < cost < math.inf


def _slower(value: float | None, least: float) -> float:
    """The logarithm of a ratio of two times or costs, from -:data:`SLOW` to :data:`SLOW`."""
    if value is None or not _is_price(value):
        return SLOW
    return min(SLOW, max(-SLOW, math.log(value / least)))
