"""Arrays of callers for interpreted programs: they begin anywhere, and their rows may be far
apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from attrs import field, frozen

from spaces.backend.ir.program import LoopProgram
from tests.backend.lowering.expression_interpreter import Cells
from tests.backend.lowering.program_interpreter import Stopped, is_flat, run_program
from tests.differential.subjects import Ranges

FAR = (1 << 30) + 7
"""A stride with which an int32 index overflows after two steps."""


@frozen
class Arrays:
    """The arrays of one call: their ranges and strides, and the values of the images."""

    ranges: Mapping[str, Ranges]
    strides: Mapping[str, tuple[int, ...]]
    images: Mapping[str, Any]
    _memory: dict[bool, dict[str, Cells]] = field(factory=dict)

    def memory(self, flat: bool) -> dict[str, Cells]:
        """The elements of the images."""
        if flat not in self._memory:
            images = self.images.items()
            self._memory[flat] = {name: self.cells(name, array, flat) for name, array in images}
        return self._memory[flat]

    def places(self, name: str) -> Iterator[tuple[int, ...]]:
        """Every coordinate, in the order of a NumPy array: the last dimension is the innermost."""
        spans = [range(low, low + extent) for low, extent in reversed(self.ranges[name])]
        return (at[::-1] for at in product(*spans))

    def flat_places(self, name: str) -> list[int]:
        """The flat index of every coordinate, in the same order."""
        found = np.zeros(1, np.int64)
        for (_, extent), stride in zip(self.ranges[name], self.strides[name], strict=True):
            found = np.add.outer(np.arange(extent) * stride, found).reshape(-1)
        return found.tolist()

    def cells(self, name: str, values: Any, flat: bool) -> Cells:
        """The elements of an array, by coordinate or by flat index."""
        places = self.flat_places(name) if flat else self.places(name)
        return dict(zip(places, values.reshape(-1).tolist(), strict=True))

    @property
    def variables(self) -> dict[str, int]:
        """Sizes and strides."""
        return {
            f"{name}.{part}.{d}": value
            for name, ranges in self.ranges.items()
            for d, ((low, extent), stride) in enumerate(
                zip(ranges, self.strides[name], strict=True)
            )
            for part, value in (("min", low), ("extent", extent), ("stride", stride))
        }


def spread(rng: random.Random, steps: Sequence[int | None], ranges: Ranges) -> tuple[int, ...]:
    """Strides with which no two elements of an array share a place; known strides are kept."""
    found: list[int] = []
    reach = 1
    for step, (_, extent) in zip(steps, ranges, strict=True):
        stride = step or rng.choice((reach, reach + 3, max(reach, FAR)))
        found.append(stride)
        reach = max(reach, stride * extent)
    return tuple(found)


def outcome(
    program: LoopProgram, arrays: Arrays, scalars: Mapping[str, Any], negative: bool
) -> Mapping[str, Cells] | str:
    """The values of the outputs after a run, by coordinate; or the message with which it ended."""
    flat = is_flat(program)
    outputs = [buffer.name for buffer in program.buffers if buffer.is_output]
    places = {n: arrays.flat_places(n) if flat else list(arrays.places(n)) for n in outputs}
    try:
        found = run_program(
            program,
            {**scalars, **arrays.variables},
            {**arrays.memory(flat), **{name: {} for name in outputs}},
            {name: frozenset(allowed) for name, allowed in places.items()},
            negative,
        )
    except Stopped as stopped:
        return str(stopped.args[0])
    where = {n: dict(zip(places[n], arrays.places(n), strict=True)) for n in outputs}
    return {n: {where[n][at]: v for at, v in found[n].items()} for n in outputs}
