"""Where names stand in a chart: each near its thing, and on no other name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

LETTER = 7.0
"""The width of a letter in pixels, on average."""

HIGH = 15.0
"""The height of a line of text."""

_GAP = 7.0
"""Between a point and its name."""

_FAR = (1.0, 2.4, 4.0, 6.5, 9.0)
"""Names of points that crowd are this many gaps away."""


_AWAY = 4.0
"""A name covers this many more square pixels of points and lines before it takes the next place."""


@frozen
class LabelBox:
    """A rectangle in pixels, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    def shared_with(self, other: LabelBox) -> float:
        """The area that lies in both."""
        wide = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        high = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(wide, 0.0) * max(high, 0.0)

    @property
    def area(self) -> float:
        """Its area."""
        return self.width * self.height


def width_of(text: str) -> float:
    """The width of a text in pixels, about."""
    return len(text) * LETTER


def around(text: str, x: float, y: float) -> list[LabelBox]:
    """Boxes for the name of a point: beside it, above and below it, and then further away."""
    wide = width_of(text)
    found = []
    for far in _FAR:
        gap = _GAP * far
        found += [
            LabelBox(x + gap, y - HIGH / 2, wide, HIGH),
            LabelBox(x - gap - wide, y - HIGH / 2, wide, HIGH),
            LabelBox(x - wide / 2, y - gap - HIGH, wide, HIGH),
            LabelBox(x - wide / 2, y + gap, wide, HIGH),
            LabelBox(x + gap, y - gap - HIGH, wide, HIGH),
            LabelBox(x + gap, y + gap, wide, HIGH),
            LabelBox(x - gap - wide, y - gap - HIGH, wide, HIGH),
            LabelBox(x - gap - wide, y + gap, wide, HIGH),
        ]
    return found


def along(text: str, left: float, right: float, y: float) -> list[LabelBox]:
    """Boxes for the name of a level line: above or below it, from its right end to its left one."""
    wide = width_of(text)
    return [
        LabelBox(right - wide - share * max(right - left - wide, 0.0), top, wide, HIGH)
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
        for top in (y - HIGH - 2, y + 2)
    ]


def place_labels(
    wanted: Iterable[Sequence[LabelBox]], area: LabelBox, taken: Iterable[LabelBox] = ()
) -> list[LabelBox]:
    """A box for each name: one of the first of its boxes that lies in the area, on no other name,
    and on little else.

    Args:
        wanted: for each name the boxes where it may stand, the best first.
        area: where names may stand.
        taken: what names should not cover.
    """
    others = list(taken)
    found: list[LabelBox] = []
    for boxes in wanted:
        costs = [
            _AWAY * place
            + 10 * (box.area - box.shared_with(area) + sum(map(box.shared_with, found)))
            + sum(map(box.shared_with, others))
            for place, box in enumerate(boxes)
        ]
        found.append(boxes[costs.index(min(costs))])
    return found
