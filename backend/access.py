"""Access modes: whether compiled code tests its accesses of memory, and the error if one is
outside.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

from attrs import frozen

POISON = 0xFF
"""The value of each byte of fresh memory in hardened code. Floats read as NaN, integers as -1 or
the largest number.
"""


class AccessMode(StrEnum):
    """Whether compiled code tests its accesses of memory."""

    PLAIN = "plain"
    """Code tests no access: legal schedules stay inside their memory."""

    HARDENED = "hardened"
    """Code tests that every load and store is inside the memory it obtained, and memory that was
    never written reads as poison. For tests: it is slower and gives the same results.
    """


class AccessKind(IntEnum):
    """Whether an access reads or writes memory."""

    READ = 0
    WRITE = 1
    TOUCH = 2
    """The kind of an access."""


@frozen
class Side:
    """One dimension of memory: first coordinate, extent, and stride in elements."""

    min: int
    extent: int
    stride: int


@frozen
class Outside:
    """An access outside of the obtained memory.

    Attributes:
        buffer: the Func, component of a Tuple, or image to whose memory the access belongs.
        access: whether it reads or writes.
        offset: the first byte that it touches, counted from the element at the least coordinates.
        nbytes: how many bytes it touches.
        first: the first byte of the memory, counted in the same way.
        last: the byte behind the last byte of the memory.
        element_bytes: the size of an element in bytes.
        sides: the dimensions, innermost first; empty if they are not known.
    """

    buffer: str
    access: AccessKind
    offset: int
    nbytes: int
    first: int
    last: int
    element_bytes: int
    sides: tuple[Side, ...]

    @property
    def coordinate(self) -> tuple[int, ...]:
        """The coordinates of the first element outside, innermost first, computed from the strides.
        If the dimensions are not known, the number of the element.
        """
        at = self.offset
        if at >= self.first:  # the first elements of a vector may be inside
            at = max(at, self.last)
        rest = at // self.element_bytes
        if not self.sides:
            return (rest,)
        found = [0] * len(self.sides)
        order = sorted(range(len(self.sides)), key=lambda d: -abs(self.sides[d].stride))
        for d in order:
            side = self.sides[d]
            if side.stride and (side.extent > 1 or d == order[0]):
                found[d], rest = (
                    divmod(rest, side.stride)
                    if side.stride > 0
                    else (-(rest // -side.stride), rest % -side.stride)
                )
        return tuple(side.min + n for side, n in zip(self.sides, found, strict=True))

    def __str__(self) -> str:
        verb = {AccessKind.READ: "reads", AccessKind.WRITE: "writes", AccessKind.TOUCH: "touches"}[
            self.access
        ]
        place = f"{self.buffer}({', '.join(map(str, self.coordinate))})"
        bound = "; ".join(
            f"dimension {d} holds {side.min} .. {side.min + side.extent - 1}"
            if side.extent > 0
            else f"dimension {d} holds nothing"
            for d, side in enumerate(self.sides)
        )
        last = self.offset + self.nbytes - 1
        return (
            f"The compiled program {verb} {place}, outside of its memory"
            f"{f' ({bound})' if bound else ''}: bytes {self.offset} .. {last}, where there are "
            f"bytes {self.first} .. {self.last - 1}. "
            "A schedule that verify finds legal never does this; verify this one, and if it is "
            "legal, report the pipeline and the schedule."
        )


class AccessError(RuntimeError):
    """Hardened code ended before an access outside of the memory that it obtained.

    Attributes:
        func: the Func or image to whose memory the access belongs.
        coordinate: the coordinates of the access, innermost first.
        outside: the whole report.
    """

    def __init__(self, outside: Outside) -> None:
        super().__init__(str(outside))
        self.outside = outside

    @property
    def func(self) -> str:
        return self.outside.buffer

    @property
    def coordinate(self) -> tuple[int, ...]:
        return self.outside.coordinate
