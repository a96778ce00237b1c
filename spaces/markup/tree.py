"""The guide lines of a tree that is written as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

BRANCH, LAST, THROUGH, NONE = "├─ ", "└─ ", "│  ", "   "
"""The guides of one level: of a row, of the last one of its parent, past a row, and past none."""


def last_at_levels(depths: Sequence[int]) -> list[tuple[bool, ...]]:
    """For each row of a tree, given by their depths with parents first: at each level from 1 to its
    own, whether the row there is the last one of its parent.

    >>> last_at_levels([0, 1, 2, 1])
    [(), (False,), (False, True), (True,)]
    """
    found: list[tuple[bool, ...]] = []
    followed: list[int] = []
    for depth in reversed(depths):
        while followed and followed[-1] > depth:
            followed.pop()
        known = set(followed)
        found.append(tuple(level not in known for level in range(1, depth + 1)))
        if not (followed and followed[-1] == depth):
            followed.append(depth)
    return found[::-1]


def guide(lasts: Sequence[bool]) -> str:
    """The guides in front of a row, which :func:`last_at_levels` describes."""
    if not lasts:
        return ""
    return guide_past(lasts[:-1]) + (LAST if lasts[-1] else BRANCH)


def guide_past(lasts: Iterable[bool]) -> str:
    """The guides in front of what belongs to a row and stands below it."""
    return "".join(NONE if last else THROUGH for last in lasts)
