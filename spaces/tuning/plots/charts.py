"""The charts of a study, from its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from attrs import evolve

from spaces.markup.charts.axis import Axis, axis_around, axis_from_zero
from spaces.markup.charts.chart import Bar, Bars, ChartLine, Dot, Dots, Look, Plane
from spaces.markup.charts.colors import BLUE, GRAY, GREEN, ORANGE, RED
from spaces.markup.quantities import shown_count
from spaces.plots.ranked_axis import ranked_axis, stride
from spaces.tuning.plots.predictions import Prediction, Predictions
from spaces.tuning.plots.progress import ProgressPoint
from spaces.tuning.plots.standing import Standing
from spaces.tuning.sources import REFERENCE, START

MEASURED = Look("measured", BLUE, "disc")
SLOWER = Look("slower", BLUE, "arrow")
FAILED = Look("failed", RED, "cross")
FASTEST = Look("fastest", GREEN, "triangle")
BY_HAND = Look("by hand", ORANGE, "square")
REFERENCE_BAR = Look("reference", GRAY, "square")
BEST_SO_FAR = Look("fastest so far", GREEN, "line")
REFERENCE_LINE = Look("reference", GRAY, "dashes")
BY_HAND_LINE = Look("by hand", ORANGE, "dashes")
ODD = Look("far from its price", RED, "ring")
AS_PRICED = Look("as priced, by the median trial", GRAY, "line")

TIME = "time of a run, ms"

MOST_DOTS = 600
"""The most points of one kind in a chart. If there are more, it shows every n-th."""

_GIVEN = 3
"""The most lines of schedules that were given."""

_HINTS = 200
"""Up to this many points of one kind, each says what it is when a reader points at it."""


def trials_chart(points: Sequence[ProgressPoint]) -> Plane | None:
    """The fastest schedule against the number of results."""
    most = max((one.results for one in points), default=0)
    axis = axis_from_zero("results of trials", float(most), lambda one: f"{one:,.0f}")
    title = "The fastest schedule against the number of results"
    return _progress_chart(title, points, axis, lambda one: float(one.results))


def time_chart(points: Sequence[ProgressPoint]) -> Plane | None:
    """The fastest schedule against the time of tuning; None if the store knows no times."""
    timed = [one for one in points if one.seconds is not None]
    most = max((one.seconds or 0.0 for one in timed), default=0.0)
    unit, size = ("min", 60.0) if most > 180 else ("s", 1.0)
    axis = axis_from_zero(
        f"time of tuning after the first search, {unit}", most / size, shown_count
    )
    title = "The fastest schedule against the time of tuning"
    return _progress_chart(title, timed, axis, lambda one: (one.seconds or 0.0) / size)


def _progress_chart(
    title: str,
    points: Sequence[ProgressPoint],
    axis: Axis,
    place: Callable[[ProgressPoint], float],
) -> Plane | None:
    times = {one.number: one.milliseconds for one in points if one.milliseconds is not None}
    if not times:
        return None
    timed = [one for one in points if one.number in times]
    given = [one for one in timed if one.source in (REFERENCE, START)]
    y = ranked_axis(TIME, times.values(), [times[one.number] for one in given])
    best = next(one for one in timed if one.milliseconds == points[-1].best)
    lines = [ChartLine(BEST_SO_FAR, tuple(_steps(points, place)))]
    for one in given[:_GIVEN]:
        time = times[one.number]
        look = REFERENCE_LINE if one.source == REFERENCE else BY_HAND_LINE
        named = evolve(look, name=_named(look.name, one, time))
        lines.append(ChartLine(named, ((axis.low, time), (axis.high, time))))
    inside = [one for one in timed if times[one.number] <= y.high and one != best]
    beyond = [one for one in timed if times[one.number] > y.high]
    failed = [one for one in points if one.number not in times]
    fastest = evolve(FASTEST, name=_named(FASTEST.name, best, times[best.number]))
    dots = [Dots(MEASURED, _dots(inside, place, lambda one: times[one.number]))]
    if beyond:
        slower = evolve(SLOWER, name=f"slower than {shown_count(y.high)} ms")
        dots.append(Dots(slower, _dots(beyond, place, lambda one: y.high)))
    if failed:  # they have no time
        dots.append(Dots(FAILED, _dots(failed, place, lambda one: y.high)))
    dots.append(Dots(fastest, _dots([best], place, lambda one: times[one.number])))
    return Plane(title, axis, y, tuple(lines), tuple(dots))


def _named(what: str, one: ProgressPoint, milliseconds: float) -> str:
    return f"{what}: {shown_count(milliseconds)} ms, trial {one.number}"


def _about(one: ProgressPoint) -> str:
    time = "failed" if one.milliseconds is None else f"{shown_count(one.milliseconds)} ms"
    return f"trial {one.number} ({one.source}): {time}"


def _dots(
    points: Sequence[ProgressPoint],
    x: Callable[[ProgressPoint], float],
    y: Callable[[ProgressPoint], float],
) -> tuple[Dot, ...]:
    """Points that say what they are, if they are few. Many have no text, and of too many only every
    n-th is drawn.
    """
    hinted = len(points) <= _HINTS
    some = points[:: stride(len(points), MOST_DOTS)]
    return tuple(Dot(x(one), y(one), "", _about(one) if hinted else "") for one in some)


def _steps(
    points: Sequence[ProgressPoint], place: Callable[[ProgressPoint], float]
) -> Iterable[tuple[float, float]]:
    """The corners of the line of the fastest so far."""
    level: float | None = None
    for one in points:
        if one.best is not None and one.best != level:
            if level is not None:
                yield place(one), level
            level = one.best
            yield place(one), level
    if level is not None:
        yield place(points[-1]), level


def predictions_chart(made: Predictions, model: str) -> Plane | None:
    """What the model predicted against what was measured."""
    if len(made.points) < 2:
        return None
    x = axis_around(
        f"cost by {model}, in its own unit", [one.predicted for one in made.points], shown_count
    )
    y = axis_around(TIME, [one.milliseconds for one in made.points], shown_count)
    odd = {one.prediction.number for one in made.odd}
    first = made.points[0]
    usual = [one for one in made.points[1:] if one.number not in odd]
    hinted = len(usual) <= _HINTS
    dots = [
        Dots(
            MEASURED,
            tuple(
                Dot(one.predicted, one.milliseconds, "", _priced(one) if hinted else "")
                for one in usual[:: stride(len(usual), MOST_DOTS)]
            ),
        ),
        Dots(
            evolve(FASTEST, name="fastest with a price"),
            (Dot(first.predicted, first.milliseconds, f"trial {first.number}", _priced(first)),),
        ),
    ]
    if made.odd:
        named = [one.prediction for one in made.odd if one.prediction.number != first.number]
        dots.append(
            Dots(
                ODD,
                tuple(
                    Dot(one.predicted, one.milliseconds, f"trial {one.number}", _priced(one))
                    for one in named
                ),
            )
        )
    lines = _price_line(made.scale, x, y)
    return Plane("What the cost model predicted and what was measured", x, y, lines, tuple(dots))


def _priced(one: Prediction) -> str:
    priced = f"cost {shown_count(one.predicted)}, {shown_count(one.milliseconds)} ms"
    return f"trial {one.number} ({one.source}): {priced}"


def _price_line(scale: float, x: Axis, y: Axis) -> tuple[ChartLine, ...]:
    """The line on which times are in proportion to prices, as far as it lies in the plane."""
    left, right = max(x.low, y.low / scale), min(x.high, y.high / scale)
    if not left < right:
        return ()
    if x.is_log == y.is_log:
        return (ChartLine(AS_PRICED, ((left, left * scale), (right, right * scale))),)
    places = [left + (right - left) * step / 40 for step in range(41)]
    return (ChartLine(AS_PRICED, tuple((one, one * scale) for one in places if one > 0)),)


def standing_chart(made: Sequence[Standing]) -> Bars | None:
    """The fastest trials, those by hand and the reference, with the intervals of their times."""
    if not made:
        return None
    bars = []
    for place, one in enumerate(made):
        look = {REFERENCE: REFERENCE_BAR, START: BY_HAND}.get(one.source, MEASURED)
        look = FASTEST if place == 0 else look
        name = {REFERENCE: "reference", START: f"by hand, trial {one.number}"}.get(
            one.source, f"trial {one.number}"
        )
        interval = (one.low, one.high) if math.isfinite(one.high) else None
        text = f"{shown_count(one.milliseconds)} ms"
        if place:
            text += f", {one.times_best:.2f} ×"
        bars.append(Bar(name, one.milliseconds, text, look, "", interval))
    unit = "time of a run with its 95 % interval, ordered by the upper ends"
    return Bars("The fastest schedules beside those by hand and the reference", unit, tuple(bars))
