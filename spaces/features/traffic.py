"""The part of a nest that fits into a cache, and the data that moves between caches.

The classical argument: for a cache, find the outermost loop whose body touches no more bytes in one
iteration than the cache holds. Consecutive iterations of this loop find their shared lines in the
cache, so the loop around it moves each line that it touches once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import cast

from attrs import define, field, frozen

from spaces.features.features import Features
from spaces.features.footprints import Footprint, Regions, TouchedBuffer, count_bodies
from spaces.features.records import LoopKey, StageFeatures
from spaces.model.formulas.recorded import is_nowhere, range_of
from spaces.model.formulas.symbolic import (
    SymbolicCondition,
    SymbolicNumber,
    logical_not,
    maximum,
    minimum,
    where,
)

STREAMS = 32
"""How many rows the prefetcher of a cache follows at once."""


@frozen
class Cache:
    """A cache as one core sees it.

    Attributes:
        bytes: how much it holds.
        is_even: whether it spreads all lines evenly, as last-level caches do. Else rows at few
            places of their pages take more room than their lines need.
        streams: how many rows are followed at once while they move into it.
    """

    bytes: int
    is_even: bool = False
    streams: int = STREAMS


@define
class Traffic:
    """Lines that move into a cache of a given size, for every stage and buffer."""

    features: Features
    line_bytes: int
    regions: Regions = field(init=False)
    _inside: dict[LoopKey, list[StageFeatures]] = field(init=False, factory=dict)
    _touched: dict[tuple[str, int], list[TouchedBuffer]] = field(init=False, factory=dict)
    _sets: dict[LoopKey, tuple[SymbolicNumber, SymbolicNumber]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.regions = Regions(self.features, self.line_bytes)
        for stage in self.features.stages:
            for loop in stage.loops:
                self._inside.setdefault(loop.key, []).append(stage)

    def working_set(self, stage: StageFeatures, depth: int) -> SymbolicNumber:
        """The bytes that all stages touch together in one iteration of the innermost of ``depth``
        loops around ``stage``; at depth 0 the bytes that the whole nest touches.
        """
        return self._occupied_bytes(stage, depth, is_even=True)

    def _occupied_bytes(self, stage: StageFeatures, depth: int, is_even: bool) -> SymbolicNumber:
        """The bytes that a working set takes in a cache. Rows that compete for a few places of it
        leave the other places to other buffers.
        """
        outer = stage.loops[max(depth, 1) - 1].key
        key = outer if depth else (outer[0], outer[1], "")
        found = self._sets.get(key)
        if found is None:
            found = self._sets[key] = self._find_sets(outer, depth)
        return found[not is_even]

    def _find_sets(self, loop: LoopKey, depth: int) -> tuple[SymbolicNumber, SymbolicNumber]:
        """The bytes that the working set in a loop takes in a cache that spreads all lines evenly,
        and in one that does not. They are found once for all structures in which the same is
        touched in the loop.
        """
        touched = tuple(one for stage in self._inside[loop] for one in self._touched_parts(stage))
        known, key = touched[0].around.known, (depth, touched)
        found = known.get(key)
        if found is None:
            found = known[key] = self._add_up(touched, depth)
        return cast(tuple[SymbolicNumber, SymbolicNumber], found)

    def _add_up(
        self, every: Sequence[TouchedBuffer], depth: int
    ) -> tuple[SymbolicNumber, SymbolicNumber]:
        """The bytes of what is touched at a depth in both kinds of caches. They are the same unless
        a buffer has rows at few places.
        """
        lines: dict[str, SymbolicNumber] = {}
        crowded: dict[str, SymbolicNumber] = {}
        for touched in every:
            buffer, found = touched.buffer.name, touched.footprint(depth)
            lines[buffer] = maximum(lines.get(buffer, 0), found.lines)
            if found.room is not found.lines:
                room = where(found.room > found.lines, found.room, 0)
                crowded[buffer] = maximum(crowded.get(buffer, 0), room)
        whole = sum(lines.values())
        even = whole * self.line_bytes
        if not crowded:
            return even, even
        return even, maximum(whole, sum(crowded.values())) * self.line_bytes

    def _touched_parts(self, stage: StageFeatures) -> list[TouchedBuffer]:
        """What a stage touches of its own Func and of each buffer that it reads."""
        key = (stage.func, stage.index)
        found = self._touched.get(key)
        if found is None:
            buffers = (*stage.work.buffers, stage.func)
            found = [self.regions.touched(stage, buffer) for buffer in buffers]
            self._touched[key] = found
        return found

    def fitting_depth(self, stage: StageFeatures, cache: Cache) -> SymbolicNumber:
        """The least depth at which the working set of ``stage`` fits into a cache; one more than
        its loops if not even one evaluation fits.
        """
        depth: SymbolicNumber = 0
        fits: SymbolicCondition = False
        for d in range(len(stage.loops) + 1):
            fits = fits | (self._occupied_bytes(stage, d, cache.is_even) <= cache.bytes)
            misses = logical_not(fits)
            depth = depth + misses
            if is_nowhere(misses):
                break
        return depth

    def moves(
        self,
        stage: StageFeatures,
        buffer: str,
        cache: Cache,
        fitting: SymbolicNumber,
        resident: int,
        price: Callable[[Footprint], SymbolicNumber],
    ) -> Iterator[tuple[int, SymbolicCondition, SymbolicNumber]]:
        """The cases in which ``stage`` moves ``buffer`` into a cache. A case is a loop whose body
        moves each of its lines once, by its place in :func:`moving_loops`; the condition under
        which it is this loop; and the cost. At most one case holds. If none does, nothing moves.

        Args:
            stage: the stage that reads ``buffer``, or computes it.
            buffer: a Func or an image.
            cache: the cache.
            fitting: the least depth at which the working set fits.
            resident: if ``fitting`` is at most this, the whole buffer is in the cache already.
            price: the cost to move a footprint once.
        """
        # The body around the loop that fits. The lanes of a vector are one body.
        moving = minimum(maximum(fitting - 1, 0), count_bodies(stage))
        least, most = range_of(moving, len(stage.loops))
        for depth in range(least, most + 1):
            here = (moving == depth) & (fitting > resident)
            if not is_nowhere(here):
                runs = stage.loops[depth - 1].runs if depth else 1
                moved = self.regions.touched(stage, buffer).in_pieces(depth, cache.streams)
                yield depth, here, runs * price(moved)

    def least(
        self,
        stage: StageFeatures,
        buffer: str,
        cache: Cache,
        price: Callable[[Footprint], SymbolicNumber],
    ) -> SymbolicNumber:
        """A lower bound of what :meth:`moves` costs in every schedule with the Funcs of
        ``features``; 0 for a buffer that is not known to be there.

        Other stages and buffers only add to a working set. So the outermost loop that fits is not
        further out than if the stage touched nothing but its own Func and images. In a loop of a
        consumer, the stage touches at least what one visit requires. So the bound is the least cost
        of the loops from there inwards, with whole rows.
        """
        features, ends = self.features, len(stage.loops)
        known = [b for b in buffers_of(stage) if b == stage.func or b in features.readers]
        if buffer not in known:
            return 0.0
        fitting: SymbolicNumber = 0
        fits: SymbolicCondition = False
        for depth in range(ends + 1):
            lines: SymbolicNumber = 0
            for one in known:
                apart, joined = self.regions.least(stage, one, depth)
                lines = lines + minimum(apart.lines, joined.lines)
            fits = fits | (lines * self.line_bytes <= cache.bytes)
            fitting = fitting + logical_not(fits)
        fitting = minimum(fitting, count_bodies(stage) + 1)
        least: SymbolicNumber = inf
        for depth in range(ends + 1):
            runs = stage.loops[depth - 1].runs if depth else 1
            body = minimum(*map(price, self.regions.least(stage, buffer, depth)))
            least = minimum(least, where(depth >= fitting - 1, runs * body, inf))
        return where(fitting > resident_depth(features, buffer, buffer == stage.func), least, 0.0)


def buffers_of(stage: StageFeatures) -> tuple[str, ...]:
    """The buffers that a stage reads, and its own Func, each once."""
    return tuple(dict.fromkeys((*stage.work.buffers, stage.func)))


def is_outside(features: Features, buffer: str) -> bool:
    """Whether a buffer is an image or an output."""
    return features.is_image[buffer] or features.func(buffer).is_output


def resident_depth(features: Features, buffer: str, is_written: bool) -> int:
    """The loop depth at which a cache that holds the body also holds the whole buffer.

    A cache that holds all that a nest touches has images from before: what made them left them
    there, or an earlier call. Likewise outputs stay for what follows. A stage reads values that
    were computed inside the loops around the computation. It writes to storage that is in the cache
    if the cache holds the whole storage.
    """
    if is_outside(features, buffer):
        return 0
    func = features.func(buffer)
    return func.store_depth if is_written else func.depth


def moving_loops(stage: StageFeatures) -> tuple[LoopKey, ...]:
    """The loops, outermost first, whose bodies may move lines for ``stage``; an empty name means
    the whole outermost loop.
    """
    keys = [loop.key for loop in stage.loops]
    return ((*keys[0][:2], ""), *keys) if keys else ()
