"""Buffers that remember for each place its coordinate, its writer and its readers."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from attrs import define, field, frozen

from spaces.backend.arguments import Array, Range
from spaces.backend.replay.formulas import stored
from spaces.backend.replay.report import Coordinate, FaultKind
from spaces.model.expressions.types import Type

Iterations: TypeAlias = tuple[tuple[int, str], ...]
"""The concurrent iterations around a task, outermost first: the number of the loop's execution, and
the iteration in words. Steps that a barrier separates belong to different executions.
"""


def concurrent(a: Iterations, b: Iterations) -> bool:
    """Whether ``a`` and ``b`` run concurrently."""
    for (loop, iteration), (other_loop, other_iteration) in zip(a, b, strict=False):
        if loop != other_loop:
            return False
        if iteration != other_iteration:
            return True
    return False


@frozen
class WrongAccess:
    """The reason why an access is wrong."""

    kind: FaultKind
    detail: str


@define
class _Cell:
    owner: Coordinate
    value: Any
    writer: Iterations
    unset: WrongAccess | None
    readers: dict[Iterations, None] = field(factory=dict)


@define
class Picture:
    """An image of the caller, which no statement writes. ``ranges`` are (min, extent) by
    dimension.
    """

    name: str
    type: Type
    ranges: Sequence[Range]
    array: Array

    @property
    def made_of_unset(self) -> tuple[tuple[Coordinate, Any, WrongAccess], ...]:
        """Empty: all values of an image are given."""
        return ()

    def write(
        self, at: Coordinate, value: Any, path: Iterations, unset: WrongAccess | None = None
    ) -> WrongAccess | None:
        """Always a fault: an image is read-only."""
        return WrongAccess(FaultKind.OUTSIDE, "it is an image, which is read only")

    def read(self, at: Coordinate, path: Iterations) -> tuple[Any, WrongAccess | None]:
        """The value at a coordinate; outside of the image, an arbitrary value and the fault."""
        outside = _outside(at, self.ranges)
        if outside is not None:
            return rubbish(self.name, at, self.type), WrongAccess(FaultKind.OUTSIDE, outside)
        place = tuple(x - low for x, (low, _) in zip(at, self.ranges, strict=True))
        return stored(self.type, self.array[tuple(reversed(place))]), None


@define
class ReplayBuffer:
    """Memory that a program writes.

    ``ranges`` are (min, extent) by dimension, innermost first; a dimension with a fold counts
    modulo it.
    """

    name: str
    type: Type
    ranges: Sequence[Range]
    folds: Sequence[int | None]
    cells: dict[Coordinate, _Cell] = field(factory=dict)

    def read(self, at: Coordinate, path: Iterations) -> tuple[Any, WrongAccess | None]:
        """The value at a coordinate, and the fault of reading it, if any."""
        place, outside = self._place(at)
        if outside is not None:
            return rubbish(self.name, at, self.type), WrongAccess(FaultKind.OUTSIDE, outside)
        cell = self.cells.get(place)
        if cell is None:
            detail = "nothing was computed there before"
            return rubbish(self.name, at, self.type), WrongAccess(FaultKind.UNWRITTEN, detail)
        finding = None
        if concurrent(cell.writer, path):
            detail = f"an iteration that may run at the same time writes it ({_text(cell.writer)})"
            finding = WrongAccess(FaultKind.RACE, detail)
        elif cell.owner != at:
            owner = ", ".join(map(str, cell.owner))
            detail = f"its place holds {self.name}({owner}), written into it since"
            finding = WrongAccess(FaultKind.OVERWRITTEN, detail)
        cell.readers[path] = None
        return cell.value, finding or cell.unset

    @property
    def made_of_unset(self) -> Iterator[tuple[Coordinate, Any, WrongAccess]]:
        """The places whose values depend on elements that were never computed."""
        for cell in self.cells.values():
            if cell.unset is not None:
                yield cell.owner, cell.value, cell.unset

    def write(
        self, at: Coordinate, value: Any, path: Iterations, unset: WrongAccess | None = None
    ) -> WrongAccess | None:
        """Stores a value; outside of the allocation, drops it. ``unset`` says that the value
        depends on elements that were never computed. Returns the fault of the store, if any.
        """
        place, outside = self._place(at)
        if outside is not None:
            return WrongAccess(FaultKind.OUTSIDE, outside)
        before = self.cells.get(place)
        self.cells[place] = _Cell(at, value, path, unset)
        if before is None or same(before.value, value):
            return None
        if concurrent(before.writer, path):
            detail = (
                f"an iteration that may run at the same time writes {before.value} to its place "
                f"({_text(before.writer)})"
            )
            return WrongAccess(FaultKind.RACE, detail)
        for reader in before.readers:
            if concurrent(reader, path):
                detail = (
                    "an iteration that may run at the same time reads the value before "
                    f"({_text(reader)})"
                )
                return WrongAccess(FaultKind.RACE, detail)
        return None

    def _place(self, at: Coordinate) -> tuple[Coordinate, str | None]:
        """The place of a coordinate, and the reason if it has none."""
        at = at or (0,)
        folded = tuple(
            x if fold is None else x % fold if fold > 0 else 0
            for x, fold in zip(at, self.folds, strict=True)
        )
        ranges = [
            (0, max(fold, 0)) if fold is not None else plain
            for plain, fold in zip(self.ranges, self.folds, strict=True)
        ]
        return folded, _outside(folded, ranges)


def _outside(at: Coordinate, ranges: Sequence[Range]) -> str | None:
    for d, (x, (low, extent)) in enumerate(zip(at, ranges, strict=True)):
        if not low <= x < low + extent:
            limits = f"{low} .. {low + extent - 1}" if extent > 0 else "nothing"
            return f"dimension {d} holds {limits}"
    return None


def _text(path: Iterations) -> str:
    return ", ".join(iteration for _, iteration in path)


def same(a: Any, b: Any) -> bool:
    """Whether a program cannot tell two values apart: NaN equals NaN."""
    return bool(a == b) or (a != a and b != b)


def rubbish(name: str, at: Coordinate, type: Type) -> Any:
    """The value of memory that was never written: arbitrary, but the same in each run."""
    number = zlib.crc32(f"{name}{at}".encode())
    if type.is_float:
        return type.dtype.type(1e6 + number % 1_000_003)
    return type.wrap(number)


def count(ranges: Sequence[Range]) -> int:
    """The elements of a buffer."""
    return math.prod(max(0, extent) for _, extent in ranges)
