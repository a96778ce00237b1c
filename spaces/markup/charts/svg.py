"""Charts as SVG. Texts take the colour of what is around them, so it is light and dark with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spaces.markup.charts.chart import Bars, Chart, ChartLine, Dots, Look, Parallel, Plane
from spaces.markup.charts.colors import GRAY
from spaces.markup.charts.labels import HIGH
from spaces.markup.charts.layout import BarLayout, LegendEntry, ParallelLayout, PlaneLayout
from spaces.markup.element import Child, Markup, joined, tag

_SIZE = 4.0
"""Half the width of a point."""


def chart_svg(chart: Chart) -> Markup:
    """The drawing of a chart."""
    match chart:
        case Plane():
            return _plane(PlaneLayout(chart))
        case Bars():
            return _bars(BarLayout(chart))
        case Parallel():
            return _parallel(ParallelLayout(chart))


def _whole(title: str, width: float, height: float, *shapes: Child) -> Markup:
    return tag(
        "svg",
        tag("title", title),
        shapes,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        class_="chart",
    )


def _text(x: float, y: float, text: Child, anchor: str = "start", **more: str) -> Markup:
    """A text whose middle is at a height."""
    return tag("text", text, x=f"{x:.1f}", y=f"{y + 4.2:.1f}", text_anchor=anchor, **more)


_HALO = "paint-order:stroke;stroke:var(--paper,Canvas);stroke-width:3px;stroke-linejoin:round"
"""The background around a name that stands on lines or points."""


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _stroke(look: Look, width: float) -> dict[str, str]:
    dashes = {"stroke_dasharray": "6 4"} if look.shape == "dashes" else {}
    return {"stroke": look.color, "stroke_width": f"{width:g}", "fill": "none", **dashes}


def _sign(look: Look, x: float, y: float) -> Markup:
    """The sign of a look in a legend."""
    if look.shape in ("line", "dashes"):
        return tag("path", d=_path([(x - 8, y), (x + 8, y)]), **_stroke(look, 2.5))
    return tag("g", tag("path", d=_outline(look, x, y)), **_paint(look))


def _legend(entries: Iterable[LegendEntry]) -> list[Markup]:
    return [
        joined(_sign(one.look, one.x, one.y), _text(one.x + 12, one.y, one.look.name))
        for one in entries
    ]


def _paint(look: Look) -> dict[str, str]:
    if look.shape in ("ring", "arrow", "cross"):
        return {"fill": "none", "stroke": look.color, "stroke_width": "1.8"}
    return {"fill": look.color}


def _outline(look: Look, x: float, y: float) -> str:
    """The path of a point."""
    r = _SIZE
    match look.shape:
        case "square":
            return _path([(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)]) + "Z"
        case "triangle":
            return _path([(x, y - r - 2), (x + r + 1, y + r), (x - r - 1, y + r)]) + "Z"
        case "arrow":
            return _path([(x - r, y + r), (x, y), (x + r, y + r)])
        case "cross":
            r -= 0.5
            return _path([(x - r, y - r), (x + r, y + r)]) + _path([(x - r, y + r), (x + r, y - r)])
        case "ring":
            return _circle(x, y, r + 2)
        case _:
            return _circle(x, y, r - 1)


def _circle(x: float, y: float, r: float) -> str:
    return f"M{x - r:.1f} {y:.1f}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0"


def _plane(layout: PlaneLayout) -> Markup:
    plane, area = layout.plane, layout.area
    left, right = area.x, area.x + area.width
    bottom, grid, written = area.y + area.height, [], []
    for value, shown in plane.x.ticks:
        x = layout.at(value, plane.y.low)[0]
        grid.append(_path([(x, area.y), (x, bottom)]))
        written.append(_text(x, bottom + 12, shown, "middle"))
    for value, shown in plane.y.ticks:
        y = layout.at(plane.x.low, value)[1]
        grid.append(_path([(left, y), (right, y)]))
        written.append(_text(left - 6, y, shown, "end"))
    middle = area.y + area.height / 2
    written.append(_text((left + right) / 2, bottom + 32, plane.x.title, "middle"))
    written.append(
        _text(0, 0, plane.y.title, "middle", transform=f"translate(11 {middle:.1f}) rotate(-90)")
    )
    frame = _path([(left, area.y), (left, bottom), (right, bottom)])
    named = [_text(one.box.x, one.box.y + HIGH / 2, one.text, style=_HALO) for one in layout.labels]
    return _whole(
        plane.title,
        layout.width,
        layout.height,
        tag("path", d="".join(grid), stroke=GRAY, stroke_opacity=".25", fill="none"),
        tag("path", d=frame, stroke=GRAY, fill="none"),
        [_line(layout, line) for line in plane.lines],
        [_dots(layout, dots) for dots in plane.dots],
        written,
        named,
        _legend(layout.legend),
    )


def _line(layout: PlaneLayout, line: ChartLine) -> Markup:
    points = [layout.at(*point) for point in line.points]
    return tag(
        "path", d=_path(points), **_stroke(line.look, 2 if line.look.shape == "line" else 1.5)
    )


def _dots(layout: PlaneLayout, dots: Dots) -> Markup:
    hinted = [dot for dot in dots.dots if dot.about]
    silent = [layout.at(dot.x, dot.y) for dot in dots.dots if not dot.about]
    shapes = [
        tag("path", tag("title", dot.about), d=_outline(dots.look, *layout.at(dot.x, dot.y)))
        for dot in hinted
    ]
    return joined(
        tag("g", shapes, **_paint(dots.look)) if shapes else None,
        _silent(dots.look, silent) if silent else None,
    )


def _silent(look: Look, places: Sequence[tuple[float, float]]) -> Markup:
    """Points as one path; discs are lines without length and with round ends."""
    if look.shape == "disc":
        d = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
        round_ends = {"stroke_width": f"{2 * (_SIZE - 1):g}", "stroke_linecap": "round"}
        return tag("path", d=d, stroke=look.color, **round_ends)
    return tag("path", d="".join(_outline(look, *place) for place in places), **_paint(look))


def _bars(layout: BarLayout) -> Markup:
    shapes: list[Markup] = []
    for place, bar in enumerate(layout.bars.bars):
        box = layout.bar_box(place)
        middle = box.y + box.height / 2
        shapes.append(_text(layout.left - 8, middle, bar.name, "end"))
        shapes.append(
            tag(
                "rect", x=f"{box.x:.1f}", y=f"{box.y:.1f}", width=f"{box.width:.1f}",
                height=f"{box.height:.1f}", fill=bar.look.color,
            )
        )  # fmt: skip
        end = box.x + box.width
        if bar.interval is not None:
            low, high = map(layout.reach, bar.interval)
            whisker = _path([(low, middle), (high, middle)])
            for x in (low, high):
                whisker += _path([(x, middle - 4), (x, middle + 4)])
            shapes.append(tag("path", d=whisker, stroke="currentColor", stroke_width="1.5"))
            end = max(end, high)
        shapes.append(_text(end + 6, middle, bar.text))
        if bar.note:
            shapes.append(_text(layout.left, box.y + box.height + 9, bar.note, class_="quiet"))
    if layout.bars.unit:
        shapes.append(
            _text(layout.left, layout.height - HIGH / 2 - 2, layout.bars.unit, class_="quiet")
        )
    return _whole(layout.bars.title, layout.width, layout.height, shapes)


def _parallel(layout: ParallelLayout) -> Markup:
    chart = layout.chart
    strands = []
    for strand in chart.strands:
        points = [(x, layout.y(p)) for x, p in zip(layout.xs, strand.places, strict=True)]
        hint = tag("title", strand.about) if strand.about else None
        width = 2.2 if strand.about else 0.8
        strands.append(tag("path", hint, d=_path(points), **_stroke(strand.look, width)))
    axes = []
    for x, axis in zip(layout.xs, chart.axes, strict=True):
        axes.append(
            tag("path", d=_path([(x, layout.top), (x, layout.bottom)]), stroke=GRAY, fill="none")
        )
        for number, line in enumerate(reversed(axis.title)):
            y = layout.top - 20 - number * HIGH
            axes.append(_text(x - 8, y, line, **({} if number else {"class_": "quiet"})))
        axes += [_text(x + 5, layout.y(place), text, style=_HALO) for place, text in axis.ticks]
    return _whole(chart.title, layout.width, layout.height, strands, axes, _legend(layout.legend))
