"""One piece of memory for all that a plan allocates: where each buffer lies in it.

Buffers whose lives do not meet share bytes, so a call takes one piece instead of many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from attrs import frozen

from backend.cuda.kernel import AllocStep, FreeStep
from backend.cuda.memory_pool import GRANULE
from backend.cuda.plan import DevicePart, Plan, PlannedLaunch

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
        """Places each buffer at the first gap that it fits in when it is made."""
        living: dict[str, tuple[int, int]] = {}
        nbytes, pointers = 0, []
        for part in planned.parts:
            if not isinstance(part, DevicePart):
                continue
            found: list[PointedPlace] = []
            for step in part.steps:
                match step:
                    case AllocStep():
                        size = -(-max(step.nbytes, 1) // GRANULE) * GRANULE
                        begin = _gap(sorted(living.values()), size)
                        living[step.buffer] = begin, begin + size
                        nbytes = max(nbytes, begin + size)
                    case FreeStep():
                        del living[step.buffer]
                    case PlannedLaunch():
                        names = (name for name, _ in step.buffers)
                        found += (living[n][0] if n in living else n for n in names)
            pointers.append(tuple(found))
        return Scratch(nbytes, tuple(pointers))


def _gap(living: Sequence[tuple[int, int]], size: int) -> int:
    """The first place where so many bytes meet no interval of the sorted ones."""
    begin = 0
    for low, high in living:
        if low - begin >= size:
            break
        begin = max(begin, high)
    return begin
