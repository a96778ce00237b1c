"""The part of a buffer that a stage touches in one iteration of a loop: its lines, its rows, and
the room that these take in a cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd, inf

from attrs import define, field, frozen

from spaces.cost.features.accesses import Index
from spaces.cost.features.features import Features, read_extents, spans
from spaces.cost.features.records import FuncFeatures, StageFeatures, volume
from spaces.model.formulas.recorded import is_nowhere
from spaces.model.formulas.symbolic import (
    SymbolicCondition,
    SymbolicNumber,
    logical_not,
    maximum,
    minimum,
    where,
)

PAGE_BYTES = 4096
"""Lines that are a multiple of this apart compete for the same few places of a cache: it is the
size of a way of most first-level caches, and of the pages that make up larger caches.
"""

Extents = Mapping[str, SymbolicNumber]
"""The number of values of each Var and RVar of a stage."""


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
class _BufferLines:
    """What all footprints of a buffer have in common.

    Attributes:
        per_line: the lines that one element takes.
        apart: for each dimension but the innermost in memory the lines between neighbors.
        kept: the lines of its storage; infinitely many for images and outputs.
    """

    per_line: float
    apart: tuple[int, ...]
    kept: SymbolicNumber


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
    """The values of Vars that occur in one iteration of the loops around each stage.

    ``depth`` counts loops from the outside: depth 0 means the whole nest, and the depth of all
    loops of a stage means one evaluation.
    """

    features: Features
    line_bytes: int
    _required: dict[tuple[str, int], tuple[SymbolicNumber, ...]] = field(init=False, factory=dict)
    _extents: dict[tuple[str, int, int], Extents] = field(init=False, factory=dict)
    _footprints: dict[tuple[str, int, str, int], Footprint] = field(init=False, factory=dict)
    _readers: dict[str, list[StageFeatures]] = field(init=False, factory=dict)
    _places: dict[tuple[str, int, str], list[_Place]] = field(init=False, factory=dict)
    _buffers: dict[str, _BufferLines] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        for stage in self.features.stages:
            for buffer in stage.work.buffers:
                if buffer != stage.func:
                    self._readers.setdefault(buffer, []).append(stage)

    def required(self, func: FuncFeatures, depth: int) -> tuple[SymbolicNumber, ...]:
        """The extents of ``func`` that an iteration of ``depth`` of its loops needs."""
        key = (func.name, depth)
        if key not in self._required:
            if depth == func.depth:
                self._required[key] = func.required
            elif depth == 0:
                self._required[key] = func.whole
            else:
                self._required[key] = self._from_readers(func, depth)
        return self._required[key]

    def _from_readers(self, func: FuncFeatures, depth: int) -> tuple[SymbolicNumber, ...]:
        extents: tuple[SymbolicNumber, ...] = func.required
        for reader in self._readers.get(func.name, []):
            inner = self.extents(reader, depth)
            for access in reader.work.accesses:
                if access.buffer == func.name and all(i.is_known for i in access.indices):
                    read = read_extents(access, inner)
                    extents = tuple(map(maximum, extents, read))
        return tuple(map(minimum, extents, func.whole))

    def extents(self, stage: StageFeatures, depth: int) -> Extents:
        """The number of values of each Var of ``stage`` in an iteration of ``depth`` loops."""
        key = (stage.func, stage.index, depth)
        if key not in self._extents:
            self._extents[key] = self._extents_of(stage, depth)
        return self._extents[key]

    def _extents_of(self, stage: StageFeatures, depth: int) -> Extents:
        func = self.features.func(stage.func)
        inner: dict[str, SymbolicNumber] = {
            name: 1 for loop in stage.own for name in loop.dimensions
        }
        inner |= dict.fromkeys(func.args, 1)
        for loop in stage.loops[max(depth, stage.depth) :]:
            for name, values in zip(loop.dimensions, loop.covers, strict=True):
                inner[name] = inner[name] * values
        if depth < stage.depth:
            inner |= dict(zip(func.args, self.required(func, depth), strict=True))
        return inner

    def footprint(self, stage: StageFeatures, buffer: str, depth: int) -> Footprint:
        """The part of ``buffer``, or of its own Func, that ``stage`` touches at ``depth``."""
        key = (stage.func, stage.index, buffer, depth)
        if key not in self._footprints:
            self._footprints[key] = self._footprint(stage, buffer, depth)
        return self._footprints[key]

    def _footprint(self, stage: StageFeatures, buffer: str, depth: int) -> Footprint:
        lines: SymbolicNumber = 0
        rows: SymbolicNumber = 0
        room: SymbolicNumber = 0
        innermost: SymbolicNumber = 1
        parts: list[tuple[SymbolicNumber, SymbolicNumber]] = []
        common = self._of_buffer(buffer)
        apart = common.apart
        for extents, whole in self._touched(stage, buffer, depth):
            count, along = rows_of(extents, whole)
            each = along * common.per_line + 1
            rows = rows + count
            lines = lines + count * each
            if apart:
                room = room + count * maximum(each, room_of_rows(extents, whole, apart))
            parts.append((count, along))
            innermost = maximum(innermost, extents[0] if extents else 1)
        lines = minimum(lines, common.kept)
        return Footprint(lines, rows, tuple(parts), innermost, room if apart else lines)

    def _of_buffer(self, buffer: str) -> _BufferLines:
        known = self._buffers.get(buffer)
        if known is None:
            per_line = self.features.element_bytes(buffer) / self.line_bytes
            known = _BufferLines(per_line, self._lines_apart(buffer), self._kept(buffer))
            self._buffers[buffer] = known
        return known

    def _lines_apart(self, buffer: str) -> tuple[int, ...]:
        """For each dimension of an image but the innermost in memory: the distance in lines, within
        their pages, between the places of two neighbors along it. Empty for an image without a
        size, and for Funcs, because their storage depends on the schedule.
        """
        extents = self.features.image_extents.get(buffer, ())
        step, found = self.features.element_bytes(buffer), []
        for dimension in self.features.order(buffer)[:-1] if extents else ():
            extent = extents[dimension]
            if not isinstance(extent, int):
                return ()
            step *= extent
            found.append(gcd(step, PAGE_BYTES) // self.line_bytes)
        return tuple(found)

    def _touched(
        self, stage: StageFeatures, buffer: str, depth: int
    ) -> Iterator[tuple[tuple[SymbolicNumber, ...], tuple[SymbolicNumber, ...]]]:
        """The extents that each read of ``buffer`` touches in an iteration of ``depth`` loops, or
        those that ``stage`` computes of it; with the extents of the buffer. Of images and outputs
        the buffer is what the whole program touches. The innermost dimension in memory comes first.
        """
        extents = self.extents(stage, depth)
        key = (stage.func, stage.index, buffer)
        if key not in self._places:
            self._places[key] = list(self._places_of(stage, buffer))
        for place in self._places[key]:
            if place.rows:
                yield spans(place.rows, extents), place.whole
            else:
                touched = self.features.touched(buffer, place.indices, extents)
                yield _sorted(touched, self.features.order(buffer)), place.whole

    def _places_of(self, stage: StageFeatures, buffer: str) -> Iterator[_Place]:
        """Where a stage reads a buffer or computes it, with the extents of the buffer."""
        features, order = self.features, self.features.order(buffer)
        most = self.extents(stage, 0)
        is_outside = features.is_image[buffer] or features.func(buffer).is_output
        if buffer == stage.func:
            groups = [stage.work.place]
        else:
            groups = [one.indices for one in stage.work.accesses if one.buffer == buffer]
        for indices in groups:
            whole = (
                features.touched(buffer, indices, most)
                if is_outside
                else features.func(buffer).allocated
            )
            is_known = all(index.is_known for index in indices)
            rows = tuple(indices[d] for d in order) if is_known else ()
            yield _Place(indices, rows, _sorted(whole, order))

    def _kept(self, buffer: str) -> SymbolicNumber:
        """The lines of the storage of a buffer; infinitely many for images and outputs."""
        if self.features.is_image[buffer] or self.features.func(buffer).is_output:
            return inf
        return self.features.func(buffer).allocation_bytes / self.line_bytes + 1

    def least(self, stage: StageFeatures, buffer: str, depth: int) -> tuple[Footprint, Footprint]:
        """Two lower bounds: the footprint of any larger part of the buffer has at least as many
        lines and rows as one of them. In the first, no dimension is touched whole; in the second,
        the innermost one is.
        """
        common = self._of_buffer(buffer)
        apart: list[SymbolicNumber] = [0, 0]
        joined: list[SymbolicNumber] = [0, 0]
        for extents, whole in self._touched(stage, buffer, depth):
            rows, length = (volume(extents[1:]), extents[0]) if extents else (1, 1)
            elements = rows * maximum(length, whole[0] if whole else 1)
            apart[0] = apart[0] + rows * (length * common.per_line + 1)
            apart[1] = apart[1] + rows
            joined[0] = joined[0] + elements * common.per_line + 1
            joined[1] = joined[1] + 1
        return (
            Footprint(minimum(apart[0], common.kept), apart[1], (), 1, apart[0]),
            Footprint(minimum(joined[0], common.kept), joined[1], (), 1, joined[0]),
        )


def _sorted(
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
    lines evenly. Rows whose addresses are so many lines apart leave the lines between unused.

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
