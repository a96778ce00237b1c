"""Segments of a pipeline whose buffers fit the last cache: Algorithms 4 and 5 of [S19]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

from attrs import define, evolve, field

from spaces.constraints.devices.device import CpuDevice
from spaces.enumerate.search.papers.reuse_analysis.overlap import dependences, origins
from spaces.enumerate.search.papers.reuse_analysis.tiling import Tiling, tilings
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.decided_part import decided_part
from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.space import NOTHING_FIXED
from spaces.model.algorithm.pipeline import Estimate, Pipeline
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import Schedule

Segment = frozenset[str]
"""The Funcs of a segment. The last one is computed at root, the others inside it or inlined."""

Segments = tuple[Segment, ...]


@define
class Segmentation:
    """The search for segments of one space, and what it found of each of them.

    Attributes:
        pricer: the pricer of a space of patterns on a CPU.
        load_weight: the cost of a load relative to a computed value.
        smallest: the least number of Funcs before the first cut: max_split of [S19].
    """

    pricer: Pricer
    load_weight: float
    smallest: int
    _found: dict[Segment, list[Tiling]] = field(init=False, factory=dict)
    _split: dict[Segment, tuple[float, Segments]] = field(init=False, factory=dict)

    @property
    def space(self) -> ScheduleSpace:
        """The space whose Funcs are divided."""
        return self.pricer.space

    def best(self) -> Segments:
        """The segments of the whole pipeline [S19 4.5]: as few as there can be if their buffers fit
        the cache; else those of Algorithms 4 and 5.
        """
        pipeline = self.space.pipeline
        cuts = necessary_cuts(pipeline, frozenset(e.name for e in self.space.kept.funcs))
        whole = segments_of(pipeline, cuts)
        if all(map(self.fits, whole)):
            return whole
        grouped = segments_of(pipeline, cuts | with_several_consumers(pipeline))
        return tuple(chain.from_iterable(self.split(one)[1] for one in grouped))

    def split(self, segment: Segment) -> tuple[float, Segments]:
        """The cheapest split of a segment into segments that fit, and its cost: Algorithm 5 of
        [S19]. A segment that fits is not split, and one that does not fit does not grow.
        """
        known = self._split.get(segment)
        if known is None:
            known = self._split[segment] = self._splits(segment)
        return known

    def _splits(self, segment: Segment) -> tuple[float, Segments]:
        best: tuple[float, Segments] = (math.inf, (segment,))
        if self.fits(segment) or len(segment) == 1:
            return self._cost(segment), (segment,)
        pipeline = self.space.pipeline
        too_large: list[Segment] = []
        names = [one.name for one in pipeline.functions if one.name in segment]
        for name in names[self.smallest - 1 : -1]:
            first = segment & {name, *pipeline.producers[name]}
            if any(one <= first for one in too_large):
                continue
            if not self.fits(first):
                too_large.append(first)
                continue
            cost, others = self.split(segment - first)
            best = min(best, (self._cost(first) + cost, (first, *others)), key=lambda one: one[0])
        return best

    def fits(self, segment: Segment) -> bool:
        """Whether the buffers of a segment fit the last cache [S19 4.3]."""
        found = self.tilings(segment)
        return bool(found) and found[0].footprint <= last_cache(self.space)

    def _cost(self, segment: Segment) -> float:
        found = self.tilings(segment)
        return found[0].cost if found else math.inf

    def tilings(self, segment: Segment) -> list[Tiling]:
        """The tilings of a segment, cheapest first; of a given entry only itself."""
        found = self._found.get(segment)
        if found is None:
            found = self._found[segment] = self._tile_segment(segment)
        return found

    def _tile_segment(self, segment: Segment) -> list[Tiling]:
        given = tuple(entry for entry in self.space.kept.funcs if entry.name in segment)
        if given:
            return [Tiling(given, {}, 0.0, 0.0)]
        output = last(self.space.pipeline, segment)
        part = self.pricer.within(part_of(self.space, segment))
        return tilings(part, self.space.menus, output, self.load_weight)

    def schedules(self, segments: Segments) -> Iterator[Schedule]:
        """The schedules of some segments: the cheapest one, then those in which each segment has
        its next loop permutation, as long as there is one.
        """
        found = [self.tilings(segment) for segment in segments]
        for choice in range(max(map(len, found)) if all(found) else 0):
            chosen = [each[min(choice, len(each) - 1)] for each in found]
            entries = {entry.name: entry for one in chosen for entry in one.entries}
            ordered = tuple(entries[f.name] for f in self.space.pipeline.functions)
            numbers = {name: number for one in chosen for name, number in one.numbers.items()}
            yield bind(self.space.schedule(ordered), numbers)


def last_cache(space: ScheduleSpace) -> float:
    """The bytes of the last cache of a CPU; infinity if it has none."""
    device = space.device
    assert isinstance(device, CpuDevice)
    return device.l3_bytes or device.l2_bytes or math.inf


def with_several_consumers(pipeline: Pipeline) -> frozenset[str]:
    """The Funcs with more than one consumer, at which Algorithm 4 of [S19] cuts."""
    return frozenset(f.name for f in pipeline.functions if len(pipeline.consumers(f.name)) > 1)


def necessary_cuts(pipeline: Pipeline, kept: frozenset[str]) -> frozenset[str]:
    """The Funcs that end a segment in every segmentation.

    These are outputs, and Funcs with a given entry and those that they read. So are Funcs that a
    consumer reads at values: they are needed whole. So are Funcs that several stages of the last
    Func of a segment read: these stages share no loop.
    """
    read = {name for one in kept for name in pipeline.function(one).callees}
    ends = {one.name for one in pipeline.functions if one.name in read}
    cuts = frozenset((*pipeline.outputs, *kept, *ends)) | {
        function.name
        for function in pipeline.functions
        if not all(one.is_known for one in dependences(pipeline, function.name))
    }
    while True:
        shared = {
            name
            for segment in segments_of(pipeline, cuts)
            for name, origin in origins(
                decided_part(pipeline, segment), last(pipeline, segment)
            ).items()
            if len(origin.stages) > 1
        }
        if not shared:
            return cuts
        cuts |= shared


def segments_of(pipeline: Pipeline, cuts: frozenset[str]) -> Segments:
    """The segments that end at some Funcs and, so that each segment has one end, at the Funcs that
    several of them read.
    """
    ends: dict[str, str] = {}
    for function in reversed(pipeline.functions):
        after = {ends[name] for name in pipeline.consumers(function.name)}
        is_end = function.name in cuts or len(after) != 1
        ends[function.name] = function.name if is_end else after.pop()
    members: dict[str, set[str]] = {}
    for function in pipeline.functions:
        members.setdefault(ends[function.name], set()).add(function.name)
    return tuple(map(frozenset, members.values()))


def last(pipeline: Pipeline, segment: Segment) -> str:
    """The last Func of a segment."""
    *_, name = (f.name for f in pipeline.functions if f.name in segment)
    return name


def part_of(space: ScheduleSpace, segment: Segment) -> ScheduleSpace:
    """The space of a segment, in which other Funcs are images. It has the readers of the segment,
    too: only an output of the whole pipeline may not be computed beyond its last value.
    """
    pipeline = space.pipeline
    end = last(pipeline, segment)
    readers = () if end in pipeline.outputs else pipeline.consumers(end)
    part = decided_part(pipeline, segment.union(readers))
    outputs = readers or (end,)
    boxes = sizes_of(pipeline).boxes
    estimates = {one.buffer: one for one in pipeline.estimates}
    for name in outputs:
        if name not in pipeline.outputs:
            args = pipeline.function(name).args
            estimates[name] = Estimate(name, tuple(boxes[name][arg] for arg in args))
    part = evolve(part, outputs=outputs, estimates=tuple(estimates.values()))
    return evolve(space, pipeline=part, fixed=NOTHING_FIXED, leave=(), where=(), sizes=())
