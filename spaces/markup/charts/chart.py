"""What a chart shows: points and lines in a plane, bars, or lines across parallel axes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import evolve, frozen

from spaces.markup.charts.axis import Axis

SignShape: TypeAlias = Literal[
    "disc", "ring", "square", "triangle", "arrow", "cross", "line", "dashes"
]
"""Points are of the first six shapes, lines are whole or dashed. An arrow points up, to what lies
above the plane.
"""


@frozen
class Look:
    """How points or lines of one kind look. The legend lists the looks of a chart.

    Attributes:
        name: what they are.
        color: as ``#rrggbb``, of medium lightness: it stands on white and on black.
        shape: their shape; a kind differs from others by its shape, too.
    """

    name: str
    color: str
    shape: SignShape


@frozen
class Dot:
    """A point.

    Attributes:
        x: its place.
        y: likewise.
        label: its name beside it; empty for most.
        about: what a reader who points at it sees.
    """

    x: float
    y: float
    label: str = ""
    about: str = ""


@frozen
class Dots:
    """Points of one kind."""

    look: Look
    dots: tuple[Dot, ...]


@frozen
class ChartLine:
    """A line through some points, in order, with its name beside an end."""

    look: Look
    points: tuple[tuple[float, float], ...]
    label: str = ""


@frozen
class Plane:
    """Points and lines in a plane.

    Attributes:
        title: what the chart shows.
        x: the axis at the bottom.
        y: the axis at the left.
        lines: drawn below the points.
        dots: those that come later cover others.
    """

    title: str
    x: Axis
    y: Axis
    lines: tuple[ChartLine, ...] = ()
    dots: tuple[Dots, ...] = ()


def without_hints(plane: Plane) -> Plane:
    """The same plane with points that say nothing when a reader points at them: its drawing takes a
    tenth of the bytes.
    """
    quiet = [
        evolve(dots, dots=tuple(evolve(dot, about="") for dot in dots.dots)) for dots in plane.dots
    ]
    return evolve(plane, dots=tuple(quiet))


@frozen
class Bar:
    """A bar.

    Attributes:
        name: what it counts.
        length: from zero.
        text: its length, as it is written.
        note: a few words below the name.
        look: of the bar.
        interval: where the true length lies; None if that is known.
    """

    name: str
    length: float
    text: str
    look: Look
    note: str = ""
    interval: tuple[float, float] | None = None


@frozen
class Bars:
    """Bars below each other, from a common zero.

    Attributes:
        title: what the chart shows.
        unit: what the lengths are; empty where the texts of the bars say it.
        bars: from the top.
    """

    title: str
    unit: str
    bars: tuple[Bar, ...]


@frozen
class Strand:
    """A line across parallel axes: its place on each, from 0 at the bottom to 1 at the top."""

    look: Look
    places: tuple[float, ...]
    about: str = ""


@frozen
class ParallelAxis:
    """One of several parallel axes.

    Attributes:
        title: lines of its heading.
        ticks: places from 0 to 1, and what stands there.
    """

    title: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]


@frozen
class Parallel:
    """Lines across parallel axes.

    Attributes:
        title: what the chart shows.
        axes: from the left.
        strands: those that come later cover others.
    """

    title: str
    axes: tuple[ParallelAxis, ...]
    strands: tuple[Strand, ...]


Chart: TypeAlias = Plane | Bars | Parallel
