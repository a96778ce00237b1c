"""Access modes: whether compiled code tests what it touches of memory, and what it says then."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from attrs import frozen

POISON = 0xFF
"""What each byte of fresh memory holds in hardened code: NaN in floats, -1 or the largest number in
integers."""


class AccessMode(StrEnum):
    """Whether compiled code tests its accesses of memory."""

    PLAIN = "plain"
    """Code tests nothing: legal schedules stay inside their memory."""

    HARDENED = "hardened"
    """Code tests every load and store against the bytes that it obtained, and memory that was never
    written reads as poison. For tests: slower, with the same results."""


class AccessKind(IntEnum):
    """What is done to memory."""

    READ = 0
    WRITE = 1
    TOUCH = 2
    """One of the two."""


@frozen
class Side:
    """One dimension of memory: its first coordinate, how many there are, and how many elements lie
    between neighbors.
    """

    min: int
    extent: int
    stride: int


@frozen
class Outside:
    """An access outside of what was obtained.

    Attributes:
        buffer: the Func, one component of a Tuple, or the image whose memory was meant.
        access: what was done.
        offset: the first byte that it touches, counted from the element at the least coordinates.
        nbytes: how many bytes it touches.
        first: the first byte of the memory, counted in the same way.
        last: the byte behind its last one.
        element_bytes: the bytes of an element.
        sides: the dimensions, innermost first, as far as they are known.
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
        """The coordinates of the first element outside, innermost first, as the strides give them;
        where no dimensions are known, the number of the element.
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
                    else (
                        -(rest // -side.stride),
                        rest % -side.stride,
                    )
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
    """Hardened code was about to touch memory outside of what it obtained, and stopped.

    Attributes:
        func: the Func or image whose memory was meant.
        coordinate: the coordinates touched, innermost first.
        outside: all that is known.
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
