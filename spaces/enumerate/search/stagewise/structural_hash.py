"""Structural hashes: equal for schedules whose loop nests are alike up to a depth ([A21] 3.1).

A depth counts the *levels* of a nest, from the outside. A level holds the loops that walk once over
the dimensions of a Func, such as its tiles, its blocks or its threads. At depth 0 only the Funcs at
root count. At depth ``d`` the loops of the first ``d`` levels count, and the Funcs that are
computed in them. So do the tile sizes of all of these levels but the last: tile sizes count one
step later than the loops that they make.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property

from attrs import frozen

from spaces.model.algorithm.pipeline import Pipeline, Stage
from spaces.model.nest.canonical import Origins, canonical_form
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, Split, made_from
from spaces.model.schedules.named_levels import NamedLevels
from spaces.model.schedules.schedule import FuncSchedule, Schedule, StageOf

_OF_LOOPS = frozenset(("factor", "tail", "kind", "fuse"))
"""Parts of canonical forms that outlines read from the loops themselves."""


@frozen
class NestOutline:
    """What structural hashes read: facts about a loop nest, each with the depth from which it
    counts. Names of loops and of parameters are no facts.

    Attributes:
        facts: the depth of each fact.
    """

    facts: Mapping[str, int]

    @staticmethod
    def of(pipeline: Pipeline, schedule: Schedule) -> NestOutline:
        """The outline of a well-formed (pipeline, schedule) with an entry for each Func."""
        return NestOutline(dict(_OutlineReader(pipeline, schedule).facts()))

    @cached_property
    def depth(self) -> int:
        """The depth from which on all facts count."""
        return max(self.facts.values(), default=0)

    def hash(self, depth: int) -> str:
        """A text of 16 hexadecimal digits: equal for nests that are alike up to a depth."""
        known = sorted(fact for fact, first in self.facts.items() if first <= depth)
        return hashlib.blake2b("\n".join(known).encode(), digest_size=8).hexdigest()


class _OutlineReader:
    """Reads the outline of one schedule."""

    def __init__(self, pipeline: Pipeline, schedule: Schedule) -> None:
        self.levels = NamedLevels(pipeline, schedule)
        self.pipeline = self.levels.pipeline
        self.schedule = schedule
        self.form = canonical_form(pipeline, schedule)
        self.loops: dict[StageOf, tuple[int, ...]] = {}  # the level of each loop of a stage
        self.sites: dict[str, int] = {}  # the level of the innermost loop around each Func

    def facts(self) -> Iterator[tuple[str, int]]:
        """Every fact, with the depth from which it counts."""
        for function in reversed(self.pipeline.functions):  # consumers first
            entry = self.schedule.of(function.name)
            if entry.compute.is_inline:
                yield f"{entry.name} inlined", self._innermost(entry.name)
                continue
            site = self.sites[entry.name] = self._site(entry.name)
            for index, stage in enumerate(function.stages):
                place = StageOf(entry.name, index)
                self.loops[place] = levels_of(entry.stages[index], stage, site)
                yield from self._loop_facts(place, entry.stages[index], stage)
            yield from self._call_facts(entry, site)

    def _site(self, func: str) -> int:
        """The level of the loop that a Func is computed in; 0 at root."""
        path = self.levels.compute_path(func)
        if not path:
            return 0
        loop = path[-1]
        order = self.schedule.of(loop.func).stages[loop.stage]
        return self.loops[StageOf(loop.func, loop.stage)][order.names.index(loop.loop)]

    def _innermost(self, func: str) -> int:
        """The level of the innermost loop around the uses of a Func; at least 1, for at depth 0
        only Funcs at root count.
        """
        found = [1]
        for reader, index in self.levels.uses(func):
            found += [self.sites[reader], *self.loops[StageOf(reader, index)]]
        return max(found)

    def _loop_facts(
        self, place: StageOf, order: DomainOrder, stage: Stage
    ) -> Iterator[tuple[str, int]]:
        """The loops of a stage in their order, and the numbers of their splits."""
        origins = Origins.of(order, stage.dimensions)
        levels = dict(zip(order.names, self.loops[place], strict=True))
        for number, loop in enumerate(order.loops):
            fact = f"{place} loop {number}: {origins[loop.name]} {loop.kind}"
            yield fact, levels[loop.name]
        for number, (record, taken) in enumerate(zip(order.splits, origins.taken, strict=True)):
            if isinstance(record, Split):
                left = made_from((record.outer,), order.splits[number + 1 :])
                outer = min((levels[name] for name in left if name in levels), default=0)
                yield f"{place} tail {taken}: {record.tail}", outer
                if isinstance(record.factor, int):
                    yield f"{place} factor {taken}: {record.factor}", outer + 1

    def _call_facts(self, entry: FuncSchedule, site: int) -> Iterator[tuple[str, int]]:
        """Where a Func is computed and stored; from the next depth on all else about it."""
        where = {f"{entry.name} compute", f"{entry.name} store"}
        subjects = {entry.name, *(str(StageOf(entry.name, i)) for i in range(len(entry.stages)))}
        for name, value in self.form.parts.items():
            subject, part, *_ = name.split(" ")
            if subject in subjects and part not in _OF_LOOPS:
                yield f"{name}: {value}", site if name in where else site + 1


def levels_of(order: DomainOrder, stage: Stage, site: int) -> tuple[int, ...]:
    """The level of each loop of a stage that is computed at a level. A new level begins where a
    loop walks over a dimension that the level has already, and where the threads of blocks begin.
    """
    walked = {
        name: {d for d in stage.dimensions if name in made_from((d,), order.splits)}
        for name in order.names
    }
    found: list[int] = []
    level, seen = site + 1, set[str]()
    is_in_threads = False
    for loop in order.loops:
        begins_threads = loop.kind is LoopKind.GPU_THREAD and not is_in_threads
        if seen & walked[loop.name] or (found and begins_threads):
            level, seen = level + 1, set()
        is_in_threads = loop.kind is LoopKind.GPU_THREAD
        seen |= walked[loop.name]
        found.append(level)
    return tuple(found)
