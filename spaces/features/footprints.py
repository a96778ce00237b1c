"""The part of a buffer that a stage touches in one iteration of a loop: its lines, its rows, and
the room that these take in a cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import gcd, inf

from attrs import define, field, frozen

from spaces.features.accesses import Index
from spaces.features.buffers import MemoryBuffer, spans
from spaces.features.features import Features
from spaces.features.records import FuncFeatures, StageFeatures, volume
from spaces.features.surroundings import Extents, FuncSurroundings, surroundings
from spaces.model.formulas.recorded import is_nowhere
from spaces.model.formulas.symbolic import (
    SymbolicCondition,
    SymbolicNumber,
    logical_not,
    maximum,
    minimum,
    where,
)
from spaces.model.schedules.domain_order import LoopKind

PAGE_BYTES = 4096
"""Lines that are a multiple of this apart compete for the same few places of a cache. It is the
size of a way of most first-level caches, and of the pages that make up larger caches.
"""


@frozen
class _Place:
    """An access, or where a stage computes its own Func.

    Attributes:
        indices: its coordinates.
        rows: the same in the order of memory, the innermost first; empty if one is not known.
        whole: the extents of its buffer, the innermost first.
    """

    indices: tuple[Index, ...]
    rows: tuple[Index, ...]
    whole: tuple[SymbolicNumber, ...]


@frozen
class Footprint:
    """The part of one buffer that a stage touches in one iteration of a loop body.

    Attributes:
        lines: cache lines.
        rows: separate runs of consecutive lines; a prefetcher must find each of them. Dimensions
            that are touched whole join those outside them to longer rows.
        parts: the rows of each access, and the elements of one of them.
        innermost: the elements along the innermost dimension.
        room: the lines that it takes in a cache that does not spread lines evenly.
    """

    lines: SymbolicNumber
    rows: SymbolicNumber
    parts: tuple[tuple[SymbolicNumber, SymbolicNumber], ...]
    innermost: SymbolicNumber
    room: SymbolicNumber

    @property
    def elements(self) -> SymbolicNumber:
        """The elements of all rows."""
        return sum(rows * length for rows, length in self.parts)


@define
class Regions:
    """The values of Vars that occur in one iteration of the loops around each stage, and the parts
    of buffers that the stage touches then.

    ``depth`` counts loops from the outside: depth 0 means the whole nest, and the depth of all
    loops of a stage means one evaluation.
    """

    features: Features
    line_bytes: int
    _around: dict[str, FuncSurroundings] = field(init=False)
    _touched: dict[tuple[str, int, str], TouchedBuffer] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self._around = surroundings(self.features)

    def required(self, func: FuncFeatures, depth: int) -> tuple[SymbolicNumber, ...]:
        """The extents of ``func`` that an iteration of ``depth`` of its loops needs."""
        return self._around[func.name].required(depth)

    def extents(self, stage: StageFeatures, depth: int) -> Extents:
        """The number of values of each Var of ``stage`` in an iteration of ``depth`` loops."""
        return self._around[stage.func].extents(stage.index, depth)

    def footprint(self, stage: StageFeatures, buffer: str, depth: int) -> Footprint:
        """The part of ``buffer``, or of its own Func, that ``stage`` touches at ``depth``."""
        return self.touched(stage, buffer).footprint(depth)

    def least(self, stage: StageFeatures, buffer: str, depth: int) -> tuple[Footprint, Footprint]:
        """Two lower bounds: the footprint of any larger part of the buffer has at least as many
        lines and rows as one of them. In the first, no dimension is touched whole; in the second,
        the innermost one is. Their values have neighbors, as those of a larger part may have.
        """
        return self.touched(stage, buffer).least(depth)

    def touched(self, stage: StageFeatures, buffer: str) -> TouchedBuffer:
        """What ``stage`` touches of a buffer that it reads, or of its own Func, at each depth."""
        key = (stage.func, stage.index, buffer)
        found = self._touched.get(key)
        if found is None:
            around, place = self._around[stage.func], self.features.buffer(buffer)
            found = self._touched[key] = TouchedBuffer.of(
                around, stage.index, place, self.line_bytes
            )
        return found


@define(eq=False)
class TouchedBuffer:
    """What a stage touches of one buffer at each depth.

    Attributes:
        around: the surroundings of its Func.
        index: its number.
        buffer: a buffer that it reads, or its own Func.
        line_bytes: the bytes of a cache line.
    """

    around: FuncSurroundings
    index: int
    buffer: MemoryBuffer
    line_bytes: int
    _footprints: dict[int, Footprint] = field(init=False, factory=dict)
    _in_pieces: dict[tuple[int, int], Footprint] = field(init=False, factory=dict)

    @staticmethod
    def of(
        around: FuncSurroundings, index: int, buffer: MemoryBuffer, line_bytes: int
    ) -> TouchedBuffer:
        """The same object where it was asked for before."""
        key = (index, buffer.storage, line_bytes)
        found = around.known.get(key)
        if not isinstance(found, TouchedBuffer):
            found = around.known[key] = TouchedBuffer(around, index, buffer, line_bytes)
        return found

    def footprint(self, depth: int) -> Footprint:
        found = self._footprints.get(depth)
        if found is None:
            found = self._footprints[depth] = self._footprint(depth)
        return found

    def in_pieces(self, depth: int, streams: int) -> Footprint:
        """The footprint at a depth, with rows counted as the prefetcher finds them. If a loop
        inside touches more rows at once than the ``streams`` that it follows, a row counts each
        time that this loop comes back to it, at most once a line. Rows that join to a longer one
        count one by one if the loops inside go along several at once.
        """
        key = (depth, streams)
        found = self._in_pieces.get(key)
        if found is None:
            found = self._in_pieces[key] = self._find_pieces(depth, streams)
        return found

    def _find_pieces(self, depth: int, streams: int) -> Footprint:
        stage = self.around.func.stages[self.index]
        whole = self.footprint(depth)
        piece = self.footprint(min(depth + 1, len(stage.loops)))
        rows, shortest = whole.rows, self.line_bytes / self.buffer.element_bytes
        for inside in range(depth + 1, count_bodies(stage) + 1):
            part = self.footprint(inside)
            are_many = part.rows > streams
            if not is_nowhere(are_many):
                taken = sum(
                    count * maximum(1, length / maximum(inner, shortest))
                    for (count, length), (_, inner) in zip(whole.parts, part.parts, strict=True)
                )
                rows = where(are_many, maximum(rows, taken), rows)
        return Footprint(
            whole.lines, maximum(rows, piece.rows), whole.parts, whole.innermost, whole.room
        )

    def _footprint(self, depth: int) -> Footprint:
        lines: SymbolicNumber = 0
        rows: SymbolicNumber = 0
        room: SymbolicNumber = 0
        innermost: SymbolicNumber = 1
        parts: list[tuple[SymbolicNumber, SymbolicNumber]] = []
        apart = self._apart
        for extents, whole in self._parts(depth):
            count, along = rows_of(extents, whole)
            each = along * self._per_line + 1
            rows = rows + count
            lines = lines + count * each
            if apart:
                room = room + count * maximum(each, room_of_rows(extents, whole, apart))
            parts.append((count, along))
            innermost = maximum(innermost, extents[0] if extents else 1)
        lines = minimum(lines, self._kept)
        return Footprint(lines, rows, tuple(parts), innermost, room if apart else lines)

    def least(self, depth: int) -> tuple[Footprint, Footprint]:
        apart: list[SymbolicNumber] = [0, 0]
        joined: list[SymbolicNumber] = [0, 0]
        for extents, whole in self._parts(depth):
            rows, length = (volume(extents[1:]), extents[0]) if extents else (1, 1)
            elements = rows * maximum(length, whole[0] if whole else 1)
            apart[0] = apart[0] + rows * (length * self._per_line + 1)
            apart[1] = apart[1] + rows
            joined[0] = joined[0] + elements * self._per_line + 1
            joined[1] = joined[1] + 1
        return (
            Footprint(minimum(apart[0], self._kept), apart[1], (), inf, apart[0]),
            Footprint(minimum(joined[0], self._kept), joined[1], (), inf, joined[0]),
        )

    @cached_property
    def _per_line(self) -> float:
        """The lines that one element takes."""
        return self.buffer.element_bytes / self.line_bytes

    @cached_property
    def _apart(self) -> tuple[int, ...]:
        """For each dimension of an image but the innermost in memory: the distance in lines, within
        their pages, between the places of two neighbors along it. Empty for an image or output
        without a size, and for other Funcs, because their storage depends on the schedule.
        """
        extents: tuple[SymbolicNumber, ...] = self.buffer.extents or ()
        if self.buffer.func is not None and self.buffer.func.is_output:
            extents = tuple(extent for _, extent in self.buffer.estimate or ())
        step, found = self.buffer.element_bytes, []
        for dimension in self.buffer.order[:-1] if extents else ():
            extent = extents[dimension]
            if not isinstance(extent, int):
                return ()
            step *= extent
            found.append(gcd(step, PAGE_BYTES) // self.line_bytes)
        return tuple(found)

    @cached_property
    def _kept(self) -> SymbolicNumber:
        """The lines of the storage of a buffer; infinitely many for images and outputs."""
        func = self.buffer.func
        if func is None or func.is_output:
            return inf
        return func.allocation_bytes / self.line_bytes + 1

    def _parts(
        self, depth: int
    ) -> Iterator[tuple[tuple[SymbolicNumber, ...], tuple[SymbolicNumber, ...]]]:
        """The extents that each read of the buffer touches in an iteration of ``depth`` loops, or
        those that the stage computes of it; with the extents of the buffer. Of images and outputs
        the buffer is what the whole program touches. The innermost dimension in memory comes first.
        """
        extents = self.around.extents(self.index, depth)
        for place in self._places:
            if place.rows:
                yield spans(place.rows, extents), place.whole
            else:
                touched = self.buffer.touched(place.indices, extents)
                yield _sort_extents(touched, self.buffer.order), place.whole

    @cached_property
    def _places(self) -> tuple[_Place, ...]:
        """Where the stage reads the buffer or computes it, with the extents of the buffer."""
        buffer, stage = self.buffer, self.around.func.stages[self.index]
        most = self.around.extents(self.index, 0)
        if buffer.name == stage.func:
            groups = [stage.work.place]
        else:
            groups = [one.indices for one in stage.work.accesses if one.buffer == buffer.name]
        found = []
        for indices in groups:
            inside = None if buffer.func is None or buffer.func.is_output else buffer.func
            whole = buffer.touched(indices, most) if inside is None else inside.allocated
            is_known = all(index.is_known for index in indices)
            rows = tuple(indices[d] for d in buffer.order) if is_known else ()
            found.append(_Place(indices, rows, _sort_extents(whole, buffer.order)))
        return tuple(found)


def count_bodies(stage: StageFeatures) -> int:
    """The number of loops without those of vectors, where these are innermost."""
    count = len(stage.loops)
    while count and stage.loops[count - 1].kind is LoopKind.VECTORIZED:
        count -= 1
    return count


def _sort_extents(
    extents: tuple[SymbolicNumber, ...], order: tuple[int, ...]
) -> tuple[SymbolicNumber, ...]:
    return tuple(extents[d] for d in order)


def rows_of(
    extents: tuple[SymbolicNumber, ...], whole: tuple[SymbolicNumber, ...]
) -> tuple[SymbolicNumber, SymbolicNumber]:
    """The number of separate rows in a part of a buffer, and the elements of each.

    Args:
        extents: those of the part, the innermost first.
        whole: those of the buffer.
    """
    if not extents:
        return 1, 1
    rows, length = volume(extents[1:]), extents[0]
    joins: SymbolicCondition = extents[0] >= whole[0]
    for extent, limit in zip(extents[1:], whole[1:], strict=True):
        if is_nowhere(joins):
            break
        rows = where(joins, rows / maximum(extent, 1), rows)
        length = where(joins, length * extent, length)
        joins = joins & (extent >= limit)
    return rows, length


def room_of_rows(
    extents: tuple[SymbolicNumber, ...],
    whole: tuple[SymbolicNumber, ...],
    apart: tuple[int, ...],
) -> SymbolicNumber:
    """The lines that each row of a part of a buffer takes at least in a cache that does not spread
    lines evenly. Rows whose addresses are that many lines apart leave the lines between unused.

    Args:
        extents: those of the part, the innermost first.
        whole: those of the buffer.
        apart: for each dimension but the innermost, the lines between places; none if unknown.
    """
    room: SymbolicNumber = 0
    free: SymbolicCondition = True
    joins: SymbolicCondition = True
    for inner, extent, limit, lines in zip(extents, extents[1:], whole, apart, strict=False):
        joins = joins & (inner >= limit)
        steps = free & logical_not(joins) & (extent > 1)
        room = where(steps, lines, room)
        free = free & logical_not(steps)
    return room
