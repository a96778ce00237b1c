"""The charts of a study, from its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve

from spaces.markup.charts.axis import Axis, axis_around, axis_from_zero
from spaces.markup.charts.chart import (
    Bar,
    Bars,
    ChartLine,
    Dot,
    Dots,
    Look,
    Parallel,
    ParallelAxis,
    Plane,
    Strand,
)
from spaces.markup.quantities import shown_count
from spaces.tuning.plots.decisions import BEST, UNDECIDED, Decided, DecisionColumn, DecisionTable
from spaces.tuning.plots.funnel import Funnel
from spaces.tuning.plots.predictions import Prediction, Predictions
from spaces.tuning.plots.progress import ProgressPoint
from spaces.tuning.plots.standing import Standing
from spaces.tuning.sources import REFERENCE, START

_BLUE, _GREEN, _ORANGE, _RED, _GRAY = "#4c82d9", "#2f9e6b", "#c9772b", "#d9534f", "#7a8794"

MEASURED = Look("measured", _BLUE, "disc")
SLOWER = Look("slower", _BLUE, "arrow")
FAILED = Look("failed", _RED, "cross")
FASTEST = Look("fastest", _GREEN, "triangle")
BY_HAND = Look("by hand", _ORANGE, "square")
REFERENCE_BAR = Look("reference", _GRAY, "square")
BEST_SO_FAR = Look("fastest so far", _GREEN, "line")
REFERENCE_LINE = Look("reference", _GRAY, "dashes")
BY_HAND_LINE = Look("by hand", _ORANGE, "dashes")
ODD = Look("far from its price", _RED, "ring")
AS_PRICED = Look("as priced, by the median trial", _GRAY, "line")
REST = Look("others", _GRAY, "line")
TOP = Look(f"the fastest {BEST}", _BLUE, "line")
WINNER = Look("the fastest", _GREEN, "line")

TIME = "time of a run, ms"

MOST_DOTS = 600
"""A chart has so many points of a kind at most; of more it shows every n-th."""

MOST_STRANDS = 160
"""So many lines across parallel axes."""

_GIVEN = 3
"""So many schedules that were there before have a line."""

AXES = 8
"""So many decisions are drawn."""

_MOST_VALUES = 9
"""An axis has so many values of its own; others share a place."""

_SPREAD = 0.05
"""The part of an axis over which equal values are spread, so that bundles of lines are seen."""

_HINTS = 200
"""So many points of a kind say what they are when a reader points at them."""


_WITHIN = 0.9
"""Axes of times reach as far as this part of them; slower ones stand at the edge."""


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
    y = _time_axis(times.values(), [times[one.number] for one in given])
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


def _time_axis(times: Iterable[float], shown: Iterable[float] = ()) -> Axis:
    """An axis for most of some times in ms, the fastest ones, and for all of those shown."""
    ordered = sorted(times)
    most = max([ordered[int(_WITHIN * (len(ordered) - 1))], *shown])
    return axis_around(TIME, [one for one in ordered if one <= most], shown_count)


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
    """Points that say what they are; every n-th of too many, and silent ones of many."""
    hinted = len(points) <= _HINTS
    some = points[:: _stride(len(points), MOST_DOTS)]
    return tuple(Dot(x(one), y(one), "", _about(one) if hinted else "") for one in some)


def _stride(count: int, most: int) -> int:
    return max(1, math.ceil(count / most))


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


def funnel_chart(made: Funnel) -> Bars | None:
    """What became of the candidates of a study."""
    if not made.stages[0].count:
        return None
    bars = []
    for stage in made.stages:
        lost = ", ".join(f"{count:,} {what}" for what, count in stage.lost.items())
        text = f"{stage.count:,}"
        bars.append(Bar(stage.name, stage.count, text, MEASURED, lost and f"then {lost}"))
    return Bars("How many candidates were made, proposed, measured and kept", "", tuple(bars))


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
                for one in usual[:: _stride(len(usual), MOST_DOTS)]
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
    """The line on which times are as prices say, as far as it lies in the plane."""
    left, right = max(x.low, y.low / scale), min(x.high, y.high / scale)
    if not left < right:
        return ()
    if x.is_log == y.is_log:
        return (ChartLine(AS_PRICED, ((left, left * scale), (right, right * scale))),)
    places = [left + (right - left) * step / 40 for step in range(41)]
    return (ChartLine(AS_PRICED, tuple((one, one * scale) for one in places if one > 0)),)


def decisions_chart(table: DecisionTable) -> Parallel | None:
    """The decisions that explain most, as parallel coordinates; the last axis is the time."""
    columns = table.columns[:AXES]
    if not columns:
        return None
    time = _time_axis(table.milliseconds)
    scales = [_value_places(column) for column in columns]
    axes = [
        ParallelAxis(_heading(column), _value_ticks(scale))
        for column, scale in zip(columns, scales, strict=True)
    ]
    ticks = tuple((time.place(value), f"{shown} ms") for value, shown in time.ticks)
    axes.append(ParallelAxis(("time of a run",), ticks))
    count = len(table.trials)
    strands = []
    for row, trial in enumerate(table.trials):
        look = _strand_look(row, trial.proposal.source)
        if look is REST and row % _stride(count, MOST_STRANDS):
            continue
        spread = row / count - 0.5  # equal values lie beside each other, the fastest lowest
        places = [
            scale[column.values[row]] + _SPREAD * spread
            for column, scale in zip(columns, scales, strict=True)
        ]
        milliseconds = table.milliseconds[row]
        about = f"trial {trial.number} ({trial.proposal.source}): {shown_count(milliseconds)} ms"
        end = min(time.place(milliseconds), 1.0)
        strands.append(Strand(look, (*places, end), "" if look is REST else about))
    strands.sort(key=lambda one: (REST, BY_HAND_LINE, TOP, WINNER).index(one.look))
    return Parallel("The decisions of the measured schedules", tuple(axes), tuple(strands))


def _strand_look(row: int, source: str) -> Look:
    if row == 0:
        return WINNER
    if source == START:
        return BY_HAND_LINE
    return TOP if row < BEST else REST


def _heading(column: DecisionColumn) -> tuple[str, ...]:
    return _clipped(column.decision.stage, 17), _clipped(column.decision.what, 17)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _value_places(column: DecisionColumn) -> dict[Decided, float]:
    """The place of each value: numbers rise, and other values stand with the one of the fastest
    trial at the bottom.
    """
    met = list(dict.fromkeys(column.values))
    own = met[: _MOST_VALUES - 1] if len(met) > _MOST_VALUES else met
    if all(isinstance(value, int) or value == UNDECIDED for value in own):
        own = sorted(own, key=lambda value: value if isinstance(value, int) else -1)
    count = len(own) + (len(own) < len(met))
    step = (1 - _SPREAD) / max(count - 1, 1)
    places = {value: _SPREAD / 2 + place * step for place, value in enumerate(own)}
    return places | {value: 1.0 - _SPREAD / 2 for value in met if value not in places}


def _value_ticks(places: Mapping[Decided, float]) -> tuple[tuple[float, str], ...]:
    at: dict[float, list[Decided]] = {}
    for value, place in places.items():
        at.setdefault(place, []).append(value)
    return tuple(
        (place, _clipped(str(values[0]), 17) if len(values) == 1 else f"{len(values)} others")
        for place, values in at.items()
    )


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
