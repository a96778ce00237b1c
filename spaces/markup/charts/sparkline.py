"""The first line of a chart in one row of characters, for terminals."""

from __future__ import annotations

from spaces.markup.charts.chart import Plane

LEVELS = "▁▂▃▄▅▆▇█"
"""Characters by height."""


def sparkline(plane: Plane, width: int) -> str:
    """The height of the first line of a chart at that many places from the left; nothing where the
    line is not.
    """
    points = sorted((plane.x.place(x), plane.y.place(y)) for x, y in plane.lines[0].points)
    found, last = "", None
    for column in range(width):
        end = (column + 1) / width
        while points and points[0][0] <= end:
            last = points.pop(0)[1]
        found += " " if last is None else LEVELS[min(max(int(last * len(LEVELS)), 0), 7)]
    return found.rstrip()
