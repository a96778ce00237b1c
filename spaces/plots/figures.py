"""Charts as figures of matplotlib, with the same places as in SVG."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from spaces.markup.charts.chart import Bars, Chart, ChartLine, Look, Parallel, Plane
from spaces.markup.charts.colors import GRAY
from spaces.markup.charts.labels import HIGH
from spaces.markup.charts.layout import BarLayout, LegendEntry, ParallelLayout, PlaneLayout
from spaces.model.extras import how_to_install

INK = "#1c2127"

_DPI = 96.0
"""The pixels of an inch in a browser: a chart is as large in a picture."""

_SHARP = 192.0
"""The pixels of an inch of a picture that is made of pixels."""

_TEXT, _QUIET = 9.0, 8.0
"""The sizes of letters in points."""

_MARKERS = {"disc": "o", "ring": "o", "square": "s", "triangle": "^", "arrow": 6, "cross": "x"}
"""What matplotlib calls shapes; 6 is a caret that points up."""

_HOLLOW = ("ring", "arrow", "cross")


class PlotsUnavailable(RuntimeError):
    """matplotlib is not installed; ``str`` gives a sentence."""


def chart_figure(chart: Chart) -> Any:
    """A ``matplotlib.figure.Figure`` of a chart, on white.

    Raises:
        PlotsUnavailable: matplotlib is not installed.
    """
    match chart:
        case Plane():
            return _plane(PlaneLayout(chart))
        case Bars():
            return _bars(BarLayout(chart))
        case Parallel():
            return _parallel(ParallelLayout(chart))


def write_figure(chart: Chart, path: str | Path) -> None:
    """Writes a chart in the format that the end of the name says: ``.png``, ``.svg``, ``.pdf`` or
    another one of matplotlib. Equal charts give equal files.

    Raises:
        PlotsUnavailable: matplotlib is not installed.
        ValueError: matplotlib has no such format.
        OSError: the file cannot be written.
    """
    matplotlib = _import("matplotlib")
    kind = Path(path).suffix.lower()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind.lstrip("."))
    with matplotlib.rc_context({"svg.hashsalt": "spaces", "svg.fonttype": "none"}):
        chart_figure(chart).savefig(path, dpi=_SHARP, metadata=undated)


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise PlotsUnavailable(
            f"Pictures need matplotlib, which can't be imported ({error}): "
            f"{how_to_install('plots')}."
        ) from None


def _sheet(width: float, height: float) -> tuple[Any, Any]:
    """A figure, and axes over all of it whose units are pixels from the upper left corner."""
    figure = _import("matplotlib.figure").Figure((width / _DPI, height / _DPI), facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    return figure, axes


def _text(
    axes: Any,
    x: float,
    y: float,
    text: str,
    *,
    at: str = "left",
    size: float = _TEXT,
    turn: int = 0,
) -> Any:
    return axes.text(
        x, y, text, ha=at, va="center", size=size, rotation=turn, color=INK, parse_math=False
    )


def _with_halo(text: Any) -> None:
    effects = _import("matplotlib.patheffects")
    text.set_path_effects([effects.withStroke(linewidth=2.5, foreground="white")])


def _stroke(axes: Any, look: Look, points: Iterable[Sequence[float]], width: float) -> None:
    xs, ys = zip(*points, strict=True)
    style = (0, (4, 2.6)) if look.shape == "dashes" else "-"
    axes.plot(xs, ys, color=look.color, linestyle=style, linewidth=width)


def _points(axes: Any, look: Look, points: Iterable[Sequence[float]]) -> None:
    xs, ys = zip(*points, strict=True)
    is_hollow = look.shape in _HOLLOW
    axes.plot(
        xs,
        ys,
        linestyle="",
        marker=_MARKERS[look.shape],
        markersize={"disc": 4.5, "ring": 9.0, "triangle": 8.0}.get(look.shape, 6.0),
        markerfacecolor="none" if is_hollow else look.color,
        markeredgecolor=look.color,
        markeredgewidth=1.3 if is_hollow else 0.0,
    )


def _legend(axes: Any, entries: Iterable[LegendEntry]) -> None:
    for one in entries:
        if one.look.shape in ("line", "dashes"):
            _stroke(axes, one.look, [(one.x - 8, one.y), (one.x + 8, one.y)], 1.8)
        else:
            _points(axes, one.look, [(one.x, one.y)])
        _text(axes, one.x + 12, one.y, one.look.name)


def _rules(
    axes: Any,
    segments: Sequence[Sequence[Sequence[float]]],
    *,
    color: str = GRAY,
    width: float = 0.8,
    alpha: float = 1.0,
) -> None:
    """Lines that belong to no kind, thin and gray if nothing else is said."""
    lines = _import("matplotlib.collections").LineCollection
    axes.add_collection(lines(segments, colors=color, linewidths=width, alpha=alpha))


def _plane(layout: PlaneLayout) -> Any:
    plane, area = layout.plane, layout.area
    figure, axes = _sheet(layout.width, layout.height)
    left, right, bottom = area.x, area.x + area.width, area.y + area.height
    grid = []
    for value, shown in plane.x.ticks:
        x = layout.at(value, plane.y.low)[0]
        grid.append([(x, area.y), (x, bottom)])
        _text(axes, x, bottom + 12, shown, at="center")
    for value, shown in plane.y.ticks:
        y = layout.at(plane.x.low, value)[1]
        grid.append([(left, y), (right, y)])
        _text(axes, left - 6, y, shown, at="right")
    _rules(axes, grid, alpha=0.3)
    _rules(axes, [[(left, area.y), (left, bottom), (right, bottom)]])
    _text(axes, (left + right) / 2, bottom + 32, plane.x.title, at="center")
    _text(axes, 11, area.y + area.height / 2, plane.y.title, at="center", turn=90)
    for line in plane.lines:
        _line(axes, layout, line)
    for dots in plane.dots:
        if dots.dots:
            _points(axes, dots.look, [layout.at(dot.x, dot.y) for dot in dots.dots])
    for one in layout.labels:
        _with_halo(_text(axes, one.box.x, one.box.y + HIGH / 2, one.text))
    _legend(axes, layout.legend)
    return figure


def _line(axes: Any, layout: PlaneLayout, line: ChartLine) -> None:
    _stroke(axes, line.look, [layout.at(*point) for point in line.points], 1.4)


def _bars(layout: BarLayout) -> Any:
    figure, axes = _sheet(layout.width, layout.height)
    for place, bar in enumerate(layout.bars.bars):
        box = layout.bar_box(place)
        middle, end = box.y + box.height / 2, box.x + box.width
        _text(axes, layout.left - 8, middle, bar.name, at="right")
        axes.barh(middle, box.width, box.height, left=box.x, color=bar.look.color)
        if bar.interval is not None:
            low, high = map(layout.reach, bar.interval)
            ends = [[(x, middle - 4), (x, middle + 4)] for x in (low, high)]
            _rules(axes, [[(low, middle), (high, middle)], *ends], color=INK, width=1.2)
            end = max(end, high)
        _text(axes, end + 6, middle, bar.text)
        if bar.note:
            _text(axes, layout.left, box.y + box.height + 9, bar.note, size=_QUIET)
    if layout.bars.unit:
        _text(axes, layout.left, layout.height - HIGH / 2 - 2, layout.bars.unit, size=_QUIET)
    axes.set_xlim(0, layout.width)
    axes.set_ylim(layout.height, 0)
    return figure


def _parallel(layout: ParallelLayout) -> Any:
    figure, axes = _sheet(layout.width, layout.height)
    for strand in layout.chart.strands:
        points = [(x, layout.y(p)) for x, p in zip(layout.xs, strand.places, strict=True)]
        _stroke(axes, strand.look, points, 1.6 if strand.about else 0.6)
    _rules(axes, [[(x, layout.top), (x, layout.bottom)] for x in layout.xs])
    for x, axis in zip(layout.xs, layout.chart.axes, strict=True):
        for number, line in enumerate(reversed(axis.title)):
            y = layout.top - 20 - number * HIGH
            _text(axes, x - 8, y, line, size=_TEXT if number else _QUIET)
        for place, text in axis.ticks:
            _with_halo(_text(axes, x + 5, layout.y(place), text))
    _legend(axes, layout.legend)
    return figure
