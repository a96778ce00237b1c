"""Where the elements of inputs and outputs lie in memory, with guards and canaries around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from spaces.model.algorithm.pipeline import Pipeline
from tests.backend.guarded import guarded
from tests.differential.dice import Dice

LAYOUTS = (
    "padded",
    "mirrored rows",
    "mirrored columns",
    "every second row",
    "every second column",
    "transposed",
)
"""Layouts that are not dense. A row is what has one coordinate of the last dimension."""

DENSE = "dense"
_CANARY = 0xAB
_PADDING = 3

Values = NDArray[Any]


@frozen
class Placed:
    """An array that views a part of guarded memory; the rest of the memory are canaries."""

    array: Values
    _memory: Values = field(repr=False)

    def is_touched_elsewhere(self) -> bool:
        """Whether something wrote beside the elements of the array."""
        # As unsigned numbers: a truth value would be written as 0 or 1.
        words = self.array.view(f"u{self.array.itemsize}")
        kept = words.copy()
        words[...] = int.from_bytes(bytes([_CANARY]) * words.itemsize, "little")
        touched = bool((self._memory.view(np.uint8) != _CANARY).any())
        words[...] = kept
        return touched


def placed(values: Values, layout: str) -> Placed:
    """A copy of ``values``, the last dimension first, in memory of a layout. Its last element ends
    at a page that traps, as far as gaps after it allow.
    """
    if values.ndim == 0:
        one = placed(values.reshape(1), DENSE)
        return Placed(one.array.reshape(()), one._memory)
    order = tuple(range(values.ndim))
    order = order[::-1] if layout == "transposed" else order
    shape = [values.shape[axis] for axis in order]
    if layout.startswith("every second"):
        axis = 0 if layout.endswith("row") else -1
        shape[axis] = max(0, 2 * shape[axis] - 1)
    shape[-1] += _PADDING if layout == "padded" else 0
    memory = guarded(np.zeros(shape, values.dtype))[0]
    memory.view(np.uint8)[...] = _CANARY
    array = memory[_part(layout, values.ndim)].transpose(np.argsort(order))
    array[...] = values
    return Placed(array, memory)


def run_placed(
    run: Callable[..., Mapping[str, Values]],
    pipeline: Pipeline,
    layouts: Mapping[str, str],
    images: Mapping[str, Values],
    *,
    sizes: Mapping[str, Sequence[tuple[int, int]]],
) -> Mapping[str, Values]:
    """The outputs of compiled code, in arrays of these layouts.

    Raises:
        AssertionError: something is written beside them.
    """
    out = {
        buffer: placed(np.zeros([n for _, n in reversed(sizes[f.name])], type.dtype), layout)
        for f in map(pipeline.function, pipeline.outputs)
        for layout in (layouts.get(f.name, DENSE),)
        for buffer, type in zip(f.buffers, f.types, strict=True)
    }
    found = run(images, sizes=sizes, out={name: one.array for name, one in out.items()})
    for name, one in out.items():
        assert not one.is_touched_elsewhere(), f"something is written beside output {name}"
    return found


def _part(layout: str, dimensions: int) -> tuple[slice, ...]:
    """The part of memory that an array views."""
    along: dict[str, tuple[int, slice]] = {
        "padded": (-1, slice(None, -_PADDING)),
        "mirrored rows": (0, slice(None, None, -1)),
        "mirrored columns": (-1, slice(None, None, -1)),
        "every second row": (0, slice(None, None, 2)),
        "every second column": (-1, slice(None, None, 2)),
    }
    found = [slice(None)] * dimensions
    if layout in along:
        axis, part = along[layout]
        found[axis] = part
    return tuple(found)


def layouts_of(dice: Dice, group: str, buffers: Sequence[str]) -> dict[str, str]:
    """A layout for each of some buffers; half of them are dense."""
    return {
        buffer: dice.pick(group, LAYOUTS) if dice.aimed(group) or dice.rng.random() < 0.5 else DENSE
        for buffer in buffers
    }


def layout_constructs(group: str, layouts: Mapping[str, str]) -> frozenset[str]:
    """Constructs of the layouts of buffers with dimensions."""
    return frozenset(f"{group}: {layout}" for layout in layouts.values() if layout != DENSE)
