"""One piece of memory for all that a plan allocates: where each buffer lies in it.

Buffers whose lives do not meet share bytes, so a call takes one piece instead of many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from attrs import frozen

from spaces.backend.cuda.kernel import AllocStep, FreeStep
from spaces.backend.cuda.memory_pool import GRANULE
from spaces.backend.cuda.plan import DevicePart, Plan, PlannedLaunch, PlannedStep

PointedPlace: TypeAlias = int | str
"""Bytes from the beginning of the piece; or a buffer of the call, by its name."""


@frozen
class Scratch:
    """The memory of a plan.

    Attributes:
        nbytes: the size of the piece.
        pointers: for each part on the device, where the pointers of its launches point, in order.
    """

    nbytes: int
    pointers: tuple[tuple[PointedPlace, ...], ...]

    @staticmethod
    def of(planned: Plan) -> Scratch:
        """Places the largest buffers first, each at the first gap that it fits in."""
        lives = sorted(_lives(planned.steps), key=lambda one: -one.nbytes)
        begin, end = (np.array([getattr(one, what) for one in lives]) for what in ("begin", "end"))
        low, high = np.zeros((2, len(lives)), np.int64)
        for number, life in enumerate(lives):
            placed = slice(number)  # a host that loops makes thousands of buffers
            beside = (begin[placed] < life.end) & (life.begin < end[placed])
            taken = zip(low[placed][beside].tolist(), high[placed][beside].tolist(), strict=True)
            low[number] = _gap(sorted(taken), life.nbytes)
            high[number] = low[number] + life.nbytes
        places = {(one.buffer, one.begin): int(at) for one, at in zip(lives, low, strict=True)}
        return Scratch(int(max(high, default=0)), tuple(_pointers(planned, places)))


@frozen
class _Life:
    """A buffer from the step that allocates it to the one that frees it, or to the end."""

    buffer: str
    nbytes: int
    begin: int
    end: int


def _lives(steps: Sequence[PlannedStep]) -> list[_Life]:
    begun: dict[str, tuple[int, int]] = {}
    lives = []
    for number, step in enumerate(steps):
        if isinstance(step, AllocStep):
            begun[step.buffer] = number, -(-max(step.nbytes, 1) // GRANULE) * GRANULE
        elif isinstance(step, FreeStep):
            begin, nbytes = begun.pop(step.buffer)
            lives.append(_Life(step.buffer, nbytes, begin, number))
    left = (_Life(name, nbytes, begin, len(steps)) for name, (begin, nbytes) in begun.items())
    return [*lives, *left]


def _pointers(
    planned: Plan, places: Mapping[tuple[str, int], int]
) -> Iterator[tuple[PointedPlace, ...]]:
    living: dict[str, int] = {}
    number = 0
    for part in planned.parts:
        if not isinstance(part, DevicePart):
            number += 1
            continue
        found: list[PointedPlace] = []
        for step in part.steps:
            match step:
                case AllocStep():
                    living[step.buffer] = places[step.buffer, number]
                case FreeStep():
                    del living[step.buffer]
                case PlannedLaunch():
                    found += (living.get(name, name) for name, _ in step.buffers)
            number += 1
        yield tuple(found)


def _gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """The first place where that many bytes meet no interval of the sorted ones."""
    begin = 0
    for low, high in taken:
        if low - begin >= size:
            break
        begin = max(begin, high)
    return begin
