"""Where everything of a chart stands, in pixels from its upper left corner."""

from __future__ import annotations

from itertools import pairwise

from attrs import field, frozen

from spaces.markup.charts.chart import Bar, Bars, ChartLine, Dot, Look, Parallel, Plane
from spaces.markup.charts.labels import HIGH, LabelBox, along, around, place_labels, width_of

WIDTH = 540.0
"""The width of a plane, and of bars."""

_LEFT, _RIGHT, _BOTTOM = 64.0, 14.0, 44.0
"""The room beside a plane."""

_PLANE_HIGH = 270.0

_DOT = 4.0
"""The radius of a point."""

_MOST_LOOKED_AT = 250
"""Names keep away from this many points of each kind; further ones would take long."""

_BAR_HIGH, _BAR_NOTED = 26.0, 42.0
"""The room of a bar, and of one with a note."""

_BAR_GAP = 8.0

_AXIS_APART = 130.0
"""Between parallel axes."""

_PARALLEL_HIGH = 300.0


@frozen
class PlacedName:
    """A text: its middle is at half the height of its box."""

    text: str
    box: LabelBox


@frozen
class LegendEntry:
    """A look with its name, and the middle of its sign."""

    look: Look
    x: float
    y: float


@frozen
class PlaneLayout:
    """The places of a plane.

    Attributes:
        area: where points lie.
        width: of the whole.
        height: of the whole.
        labels: the names of points and lines.
        legend: the looks, in the order in which they are drawn.
    """

    plane: Plane
    area: LabelBox = field(init=False)
    width: float = field(init=False, default=WIDTH)
    height: float = field(init=False)
    labels: tuple[PlacedName, ...] = field(init=False)
    legend: tuple[LegendEntry, ...] = field(init=False)

    @area.default
    def _area(self) -> LabelBox:
        top = _legend_height(_looks(self.plane), WIDTH) + 6
        return LabelBox(_LEFT, top, WIDTH - _LEFT - _RIGHT, _PLANE_HIGH)

    @height.default
    def _height(self) -> float:
        return self.area.y + self.area.height + _BOTTOM

    @legend.default
    def _legend(self) -> tuple[LegendEntry, ...]:
        return legend_of(_looks(self.plane), WIDTH)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a point."""
        area = self.area
        return (
            area.x + self.plane.x.place(x) * area.width,
            area.y + (1 - self.plane.y.place(y)) * area.height,
        )

    @labels.default
    def _labels(self) -> tuple[PlacedName, ...]:
        texts, boxes, taken = [], [], []
        for dots in self.plane.dots:
            named = [dot for dot in dots.dots if dot.label]
            looked_at = [*named, *dots.dots[:_MOST_LOOKED_AT]]
            taken += [self._dot_box(dot) for dot in dict.fromkeys(looked_at)]
            texts += [dot.label for dot in named]
            boxes += [around(dot.label, *self.at(dot.x, dot.y)) for dot in named]
        for line in self.plane.lines:
            taken += self._line_boxes(line)
            if line.label:
                texts.append(line.label)
                boxes.append(self._beside(line))
        placed = place_labels(boxes, self.area, taken)
        return tuple(map(PlacedName, texts, placed))

    def _dot_box(self, dot: Dot) -> LabelBox:
        x, y = self.at(dot.x, dot.y)
        return LabelBox(x - _DOT, y - _DOT, 2 * _DOT, 2 * _DOT)

    def _line_boxes(self, line: ChartLine) -> list[LabelBox]:
        """Thin boxes where a line is level or upright; a slope has none."""
        places = [self.at(*point) for point in line.points]
        found = []
        for (x0, y0), (x1, y1) in pairwise(places):
            if x0 == x1 or y0 == y1:
                found.append(
                    LabelBox(min(x0, x1), min(y0, y1) - 0.5, abs(x1 - x0) + 1, abs(y1 - y0) + 1)
                )
        return found

    def _beside(self, line: ChartLine) -> list[LabelBox]:
        places = [self.at(*point) for point in line.points]
        (left, first), (right, last) = places[0], places[-1]
        if first == last:
            return along(line.label, left, right, last)
        return around(line.label, right, last)


def _looks(plane: Plane) -> list[Look]:
    looks = [*(line.look for line in plane.lines), *(dots.look for dots in plane.dots)]
    return list(dict.fromkeys(looks))


def legend_of(looks: list[Look], width: float) -> tuple[LegendEntry, ...]:
    """The signs of a legend with their places, in rows of a width."""
    x, y, found = 12.0, HIGH / 2 + 2, []
    for look in looks:
        wide = 34 + width_of(look.name)
        if x + wide > width and x > 12:
            x, y = 12.0, y + HIGH + 3
        found.append(LegendEntry(look, x, y))
        x += wide
    return tuple(found)


def _legend_height(looks: list[Look], width: float) -> float:
    entries = legend_of(looks, width)
    return entries[-1].y + HIGH / 2 + 4 if entries else 4.0


def _bar_height(bar: Bar) -> float:
    return _BAR_NOTED if bar.note else _BAR_HIGH


@frozen
class BarLayout:
    """The places of bars.

    Attributes:
        tops: the upper end of each row.
        left: where bars begin.
        room: the length of the longest bar.
    """

    bars: Bars
    width: float = field(init=False, default=WIDTH)
    tops: tuple[float, ...] = field(init=False)
    height: float = field(init=False)
    left: float = field(init=False)
    room: float = field(init=False)

    @tops.default
    def _tops(self) -> tuple[float, ...]:
        y, found = 6.0, []
        for bar in self.bars.bars:
            found.append(y)
            y += _bar_height(bar)
        return tuple(found)

    @height.default
    def _height(self) -> float:
        rows = sum(_bar_height(bar) for bar in self.bars.bars)
        return 6.0 + rows + (HIGH + 4 if self.bars.unit else 0)

    @left.default
    def _left(self) -> float:
        return max([width_of(bar.name) for bar in self.bars.bars], default=0.0) + 12

    @room.default
    def _room(self) -> float:
        texts = max([width_of(bar.text) for bar in self.bars.bars], default=0.0)
        return WIDTH - self.left - texts - 14

    @property
    def longest(self) -> float:
        """The length that takes all the room."""
        ends = [max(bar.length, bar.interval[1] if bar.interval else 0) for bar in self.bars.bars]
        return max(ends, default=0.0) or 1.0

    def reach(self, length: float) -> float:
        """Where a bar of a length ends."""
        return self.left + self.room * length / self.longest

    def bar_box(self, place: int) -> LabelBox:
        """The rectangle of a bar; at least a pixel of it is seen."""
        length = self.bars.bars[place].length
        wide = max(self.reach(length) - self.left, 1.0)
        return LabelBox(self.left, self.tops[place] + 3, wide, _BAR_HIGH - _BAR_GAP)


@frozen
class ParallelLayout:
    """The places of parallel axes.

    Attributes:
        xs: where each axis stands.
        top: the upper end of the axes.
        bottom: the lower end.
    """

    chart: Parallel
    xs: tuple[float, ...] = field(init=False)
    width: float = field(init=False)
    legend: tuple[LegendEntry, ...] = field(init=False)
    top: float = field(init=False)
    bottom: float = field(init=False)
    height: float = field(init=False)

    @xs.default
    def _xs(self) -> tuple[float, ...]:
        return tuple(20.0 + place * _AXIS_APART for place in range(len(self.chart.axes)))

    @width.default
    def _width(self) -> float:
        return max(len(self.chart.axes) * _AXIS_APART + 30, WIDTH)

    @legend.default
    def _legend(self) -> tuple[LegendEntry, ...]:
        return legend_of(list(dict.fromkeys(s.look for s in self.chart.strands)), WIDTH)

    @top.default
    def _top(self) -> float:
        lines = max((len(axis.title) for axis in self.chart.axes), default=0)
        return _legend_height([one.look for one in self.legend], WIDTH) + lines * HIGH + 20

    @bottom.default
    def _bottom(self) -> float:
        return self.top + _PARALLEL_HIGH

    @height.default
    def _height(self) -> float:
        return self.bottom + 14

    def y(self, place: float) -> float:
        """The height of a place on an axis."""
        return self.bottom - place * (self.bottom - self.top)
