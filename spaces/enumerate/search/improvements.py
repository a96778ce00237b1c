"""How a search came to its best schedule, for people: the steps, and a drawing of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve, frozen

from spaces.markup.charts.axis import Axis, axis_around, axis_from_zero
from spaces.markup.charts.chart import ChartLine, Dot, Dots, Look, Plane
from spaces.markup.charts.colors import GREEN, ORANGE
from spaces.markup.quantities import shown_count
from spaces.model.schedules.schedule import Schedule

_BEST = Look("cheapest so far", GREEN, "line")
_IMPROVED = Look("a cheaper schedule", GREEN, "triangle")
_BESIDE = Look("", ORANGE, "dashes")


@frozen
class Improvement:
    """A schedule that was cheaper than all before it.

    Attributes:
        seconds: when, from the beginning of the search.
        structures: how many structures had a cost by then.
        cost: its cost, in the unit of the model.
        schedule: the schedule.
    """

    seconds: float
    structures: int
    cost: float
    schedule: Schedule


_NONE: Mapping[str, float] = {}


def improvements_chart(
    steps: Sequence[Improvement], seconds: float, beside: Mapping[str, float] = _NONE
) -> Plane | None:
    """The least cost against time; None if there are no two costs to compare.

    Args:
        steps: the improvements, in order.
        seconds: how long the search took.
        beside: the costs of other schedules by name.
    """
    end = max([seconds, *(one.seconds for one in steps)])
    axis = axis_from_zero("time of searching, s", end, shown_count)
    title = "The cheapest schedule against time"
    return _chart(title, steps, axis, lambda one: one.seconds, end, beside)


def structures_chart(
    steps: Sequence[Improvement], structures: int, beside: Mapping[str, float] = _NONE
) -> Plane | None:
    """The least cost against the number of structures with a cost, likewise."""
    end = float(max([structures, *(one.structures for one in steps)]))
    axis = axis_from_zero("structures with a cost", end, lambda one: f"{one:,.0f}")
    title = "The cheapest schedule against the number of structures"
    return _chart(title, steps, axis, lambda one: float(one.structures), end, beside)


def _chart(
    title: str,
    steps: Sequence[Improvement],
    x: Axis,
    place: Callable[[Improvement], float],
    end: float,
    beside: Mapping[str, float],
) -> Plane | None:
    drawn = [one for one in steps if 0 < one.cost < float("inf")]
    if len(drawn) < 2:
        return None
    costs = [one.cost for one in drawn]
    y = axis_around("cost, in the unit of the model", [*costs, *beside.values()], shown_count)
    dots = tuple(Dot(place(one), one.cost) for one in drawn)
    corners = _corners([(place(one), one.cost) for one in drawn], end)
    others = [
        ChartLine(evolve(_BESIDE, name=name), ((x.low, cost), (x.high, cost)))
        for name, cost in beside.items()
    ]
    lines = (ChartLine(_BEST, tuple(corners)), *others)
    return Plane(title, x, y, lines, (Dots(_IMPROVED, dots),))


def _corners(steps: Sequence[tuple[float, float]], end: float) -> Iterable[tuple[float, float]]:
    """The corners of the line of the least cost so far, from its places and costs."""
    level = steps[0][1]
    for place, cost in steps:
        yield place, level
        level = cost
        yield place, level
    yield end, level
