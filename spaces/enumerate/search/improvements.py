"""How a search came to its best schedule, for people: the steps, and a drawing of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from spaces.markup.charts.axis import axis_around, axis_from_zero
from spaces.markup.charts.chart import ChartLine, Dot, Dots, Look, Plane
from spaces.markup.quantities import shown_count

_BEST = Look("cheapest so far", "#2f9e6b", "line")
_IMPROVED = Look("a cheaper schedule", "#2f9e6b", "triangle")


@frozen
class Improvement:
    """A schedule that was cheaper than all before it.

    Attributes:
        seconds: when, from the beginning of the search.
        structures: how many structures had a cost by then.
        cost: its cost, in the unit of the model.
    """

    seconds: float
    structures: int
    cost: float


def improvements_chart(steps: Sequence[Improvement], seconds: float) -> Plane | None:
    """The least cost against time; None if there are no two costs to compare.

    Args:
        steps: the improvements, in order.
        seconds: how long the search took.
    """
    drawn = [one for one in steps if 0 < one.cost < float("inf")]
    if len(drawn) < 2:
        return None
    x = axis_from_zero("time of searching, s", max(seconds, drawn[-1].seconds), shown_count)
    y = axis_around("cost, in the unit of the model", [one.cost for one in drawn], shown_count)
    dots = tuple(Dot(one.seconds, one.cost) for one in drawn)
    line = ChartLine(_BEST, tuple(_corners(drawn, max(seconds, drawn[-1].seconds))))
    return Plane("The cheapest schedule against time", x, y, (line,), (Dots(_IMPROVED, dots),))


def _corners(steps: Sequence[Improvement], end: float) -> Iterable[tuple[float, float]]:
    level = steps[0].cost
    for one in steps:
        yield one.seconds, level
        level = one.cost
        yield one.seconds, level
    yield end, level
