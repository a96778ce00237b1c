"""Arrays whose elements lie apart, mirrored, or in another order of axes, inside larger arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from attrs import frozen
from hypothesis import strategies as st
from numpy.typing import NDArray

UNTOUCHED = 77
"""The value of the larger array between and around the elements."""


@frozen
class Layout:
    """How elements lie in memory.

    Attributes:
        order: the axes from the smallest to the largest stride.
        steps: for each axis the factor of its stride; negative mirrors it.
        padding: elements before, after, and at the end of each line.
    """

    order: tuple[int, ...]
    steps: tuple[int, ...]
    padding: int

    def place(self, shape: tuple[int, ...], dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """The memory, filled with :data:`UNTOUCHED`, and an array of that shape in it."""
        lengths = {axis: shape[axis] * abs(self.steps[axis]) + self.padding for axis in self.order}
        whole = tuple(lengths[axis] for axis in reversed(self.order))
        room = 64 + math.prod(shape)  # a dense array of the shape fits before and behind
        memory = np.full(math.prod(whole) + 2 * room, UNTOUCHED, dtype)
        box = memory[room : room + math.prod(whole)].reshape(whole)
        box = box.transpose([self.order[::-1].index(axis) for axis in range(len(shape))])
        for axis, step in enumerate(self.steps):
            index: list[Any] = [slice(None)] * len(shape)
            index[axis] = slice(None, shape[axis] * abs(step), abs(step))
            box = box[tuple(index)]
            if step < 0:
                box = np.flip(box, axis)
        assert box.shape == shape
        return memory, box


@st.composite
def layouts(draw: st.DrawFn, dimensions: int) -> Layout:
    """A layout of any kind: dense, padded, every second or third element, mirrored, transposed."""
    steps = st.sampled_from([1, 1, -1, 2, -2, 3])
    return Layout(
        tuple(draw(st.permutations(range(dimensions - 1, -1, -1)))),
        tuple(draw(steps) for _ in range(dimensions)),
        draw(st.sampled_from([0, 0, 1, 5])),
    )
