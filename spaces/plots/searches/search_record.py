"""What a search found, with prices by Func, beside schedules by hand: the source of its plots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

from attrs import field, frozen

from spaces.cost.batch import Batch, BatchError
from spaces.cost.model import CostFunction, CostModel, PartedModel
from spaces.cost.price import PricePart, name_of_model, read_parts
from spaces.cost.registry import cost_model, default_model
from spaces.enumerate.search.events import Done
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.articles import shown_kind
from spaces.model.schedules.schedule import Schedule


@frozen
class PricedSchedule:
    """A schedule with its cost.

    Attributes:
        name: what a reader calls it: its rank among what was found, or the name of a schedule by
            hand.
        schedule: the schedule.
        cost: by the model of the search; infinite if the model gave none.
        parts: the parts of the cost; empty if the model has none.
        is_by_hand: whether a person wrote it.
    """

    name: str
    schedule: Schedule
    cost: float
    parts: tuple[PricePart, ...] = ()
    is_by_hand: bool = False

    @property
    def is_priced(self) -> bool:
        """Whether its cost is a number above zero, which charts can show."""
        return 0 < self.cost < math.inf


@frozen(repr=False)
class SearchRecord:
    """The result of a search, with what its plots show beside.

    Attributes:
        done: the result.
        space: the space that was searched.
        model: the name of the cost model.
        found: the schedules of the result, the cheapest first.
        by_hand: the legal schedules by hand, in the order in which they were given.
        illegal: the names of the schedules by hand that the space calls illegal.
    """

    done: Done
    space: ScheduleSpace
    model: str
    found: tuple[PricedSchedule, ...]
    by_hand: tuple[PricedSchedule, ...] = field(default=())
    illegal: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<SearchRecord of {self.space.pipeline.name}: {len(self.found)} schedules>"

    @cached_property
    def ranked(self) -> tuple[PricedSchedule, ...]:
        """What was found and the schedules by hand, the cheapest first; those without a price last.
        What was found stands before schedules by hand of the same cost.
        """
        return tuple(sorted((*self.found, *self.by_hand), key=lambda one: one.cost))


_NONE: Mapping[str, Schedule] = {}


def search_record(
    done: Done,
    space: ScheduleSpace,
    model: str | CostModel | CostFunction | None = None,
    by_hand: Mapping[str, Schedule] = _NONE,
    *,
    model_name: str = "",
) -> SearchRecord:
    """What a search found, as pages and plots show it.

    Args:
        done: the result of the search.
        space: the space that was searched.
        model: the cost model of the search; by default :func:`default_model`.
        by_hand: schedules to show beside, by name.
        model_name: what a reader calls the model; by default its own name.

    Raises:
        TypeError: something else is given than the result of a search and its space.
        ValueError: the cost model is unknown, or is not for the device of the space.
    """
    if not isinstance(done, Done):
        raise TypeError(
            f"search_record takes the last event of a search, a Done, not {shown_kind(done)}; "
            "best(search(space)) returns it."
        )
    if not isinstance(space, ScheduleSpace):
        raise TypeError(f"search_record takes a ScheduleSpace, not {shown_kind(space)}.")
    given = default_model(space.device) if model is None else model
    made = cost_model(given, space.device)
    found = tuple(
        PricedSchedule(f"rank {rank}", one.schedule, one.cost, _parts(space, made, one.schedule))
        for rank, one in enumerate(done.best, 1)
    )
    legal, illegal = [], []
    for name, schedule in by_hand.items():
        if space.verdict(schedule).legal:
            cost = _cost(space, made, schedule)
            parts = _parts(space, made, schedule)
            legal.append(PricedSchedule(name, schedule, cost, parts, is_by_hand=True))
        else:
            illegal.append(name)
    called = model_name or name_of_model(given)
    return SearchRecord(done, space, called, found, tuple(legal), tuple(illegal))


def _cost(space: ScheduleSpace, model: CostModel, schedule: Schedule) -> float:
    """The cost of a legal schedule at the estimates; infinite if the model gives none."""
    try:
        batch = Batch.of(space.pipeline, schedule)
        cost = float(batch.full(model.cost(batch)))
    except BatchError:
        return math.inf
    return math.inf if math.isnan(cost) else cost


def _parts(space: ScheduleSpace, model: CostModel, schedule: Schedule) -> tuple[PricePart, ...]:
    """The parts of a cost, the dearest first; none if the model has none."""
    if not isinstance(model, PartedModel):
        return ()
    parts = read_parts(model, Batch.of(space.pipeline, schedule).features)
    found = (PricePart(*name, cost) for name, cost in parts.items() if cost)
    return tuple(sorted(found, key=lambda one: -one.cost))
