"""Boxes of coordinates, the values of a Func or image on one, and meshes of variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from attrs import frozen

from spaces.backend.arguments import ArgumentError, Array

IntegerBox: TypeAlias = tuple[tuple[int, int], ...]
"""The first and the last coordinate of each dimension, innermost first; never empty."""

LARGEST_BOX = 1 << 31
"""A box with more elements is an error: surely a coordinate should have been clamped."""


class ImageBoundsError(ArgumentError):
    """A pipeline reads an image outside of its array."""


def union(a: IntegerBox | None, b: IntegerBox) -> IntegerBox:
    """The smallest box that contains both."""
    if a is None:
        return b
    return tuple((min(p, r), max(q, s)) for (p, q), (r, s) in zip(a, b, strict=True))


def covers(outer: IntegerBox, inner: IntegerBox) -> bool:
    """Whether every coordinate of ``inner`` lies in ``outer``."""
    return all(p <= r and s <= q for (p, q), (r, s) in zip(outer, inner, strict=True))


def shape(box: IntegerBox) -> tuple[int, ...]:
    """The NumPy shape of an array of the box's values: dimension 0 last."""
    return tuple(high - low + 1 for low, high in reversed(box))


def box_of(coordinates: Sequence[Array]) -> IntegerBox | None:
    """The smallest box around coordinates; None without coordinates."""
    if any(c.size == 0 for c in coordinates):
        return None
    return tuple((int(c.min()), int(c.max())) for c in coordinates)


def checked(func: str, box: IntegerBox) -> IntegerBox:
    """Returns the box itself, unless it is absurdly large.

    Raises:
        ArgumentError: it has more than :data:`LARGEST_BOX` elements.
    """
    if math.prod(shape(box)) > LARGEST_BOX:
        ranges = ", ".join(f"{low} .. {high}" for low, high in box)
        raise ArgumentError(
            f"Func {func} is needed at {ranges}, too much to compute; "
            "clamp the coordinates at which it is read or updated."
        )
    return box


@frozen
class Values:
    """The values of a Func or image on a box: an array for each of its components."""

    box: IntegerBox
    arrays: tuple[Array, ...]

    def at(self, coordinates: Sequence[Array], component: int | None = None) -> Array:
        """The values of a component at coordinates inside the box, innermost first."""
        lows = [low for low, _ in self.box]
        places = [c - low for c, low in zip(coordinates, lows, strict=True)]
        return np.asarray(self.arrays[component or 0][tuple(reversed(places))])

    def offsets(self, coordinates: Sequence[Array]) -> Array:
        """The positions of coordinates in a flattened array."""
        result = np.zeros((), np.intp)
        stride = 1
        for c, (low, high) in zip(coordinates, self.box, strict=True):
            result = result + (c.astype(np.intp) - low) * stride
            stride *= high - low + 1
        return np.asarray(result)


def mesh(ranges: Sequence[tuple[str, int, int]]) -> dict[str, Array]:
    """Int32 coordinates for variables with their first and last value, the outermost first.

    Each variable has its own NumPy axis, so that all of them broadcast to the whole box.
    """
    result: dict[str, Array] = {}
    for axis, (name, low, high) in enumerate(ranges):
        along = np.arange(low, high + 1, dtype=np.int32)
        result[name] = along.reshape([-1 if a == axis else 1 for a in range(len(ranges))])
    return result
