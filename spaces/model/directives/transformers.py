"""[TOY]'s six transformers of schedules, as edits.

Split a loop, change its kind, reorder two loops, hoist or lower the computation of a Func, hoist
or lower its storage, inline or de-inline it. From a well-formed schedule (see
:func:`~spaces.model.nest.well_formed.well_formed`) each edit leads to a well-formed one; whether a
device permits the result is for ``verify`` to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from attrs import evolve, frozen

from spaces.model.algorithm.pipeline import Pipeline, Stage
from spaces.model.directives.directives import Directives
from spaces.model.directives.edit import Edit
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import DomainOrder, Factor, LoopKind
from spaces.model.schedules.extents import constant_extents, reduction_loops
from spaces.model.schedules.levels import LevelError, Path
from spaces.model.schedules.named_levels import NamedLevels
from spaces.model.schedules.schedule import ROOT, FuncSchedule, LoopLevel, Schedule

CPU_KINDS = tuple(kind for kind in LoopKind if not kind.is_gpu)


def enumerate_edits(
    pipeline: Pipeline,
    schedule: Schedule,
    factors: tuple[Factor, ...] = (4, 8, 16, 32),
    kinds: tuple[LoopKind, ...] = CPU_KINDS,
) -> Iterator[Edit]:
    """All edits of a well-formed schedule by [TOY]'s transformers, always in the same order.

    Edits that could only be illegal are left out. These are splits by a known extent or more,
    vectors and unrolled loops of unknown extent, and concurrent loops over RVars or between the
    storage and the computation of a Func.

    Args:
        pipeline: the pipeline.
        schedule: the schedule.
        factors: those of splits; a name stands for all factors from 2 on.
        kinds: those that loops may change to.
    """
    transformers = _Transformers.of(pipeline, schedule)
    for func in schedule.funcs:
        if func.compute.is_inline:
            yield from transformers.deinline(func)
            continue
        if func.name not in pipeline.outputs:
            yield from transformers.inline(func)
            yield from transformers.move_compute(func)
            yield from transformers.move_storage(func)
        stages = transformers.pipeline.function(func.name).stages
        for index, (stage, order) in enumerate(zip(stages, func.stages, strict=True)):
            place = _StageTransformers(transformers, func.name, index, stage, order)
            yield from place.split_loops(factors)
            yield from place.reorder_loops()
            yield from place.change_kinds(kinds)


@frozen
class _Transformers:
    """The edits of one schedule.

    Attributes:
        pipeline: with the Funcs that the schedule derives.
        schedule: the schedule.
        levels: where its Funcs are and may be computed and stored.
    """

    pipeline: Pipeline
    schedule: Schedule
    levels: NamedLevels

    @staticmethod
    def of(pipeline: Pipeline, schedule: Schedule) -> _Transformers:
        pipeline = derived(pipeline, schedule)
        return _Transformers(pipeline, schedule, NamedLevels(pipeline, schedule))

    def inline(self, func: FuncSchedule) -> Iterator[Edit]:
        """Substitutes a pure Func into its consumers, unless something is computed or stored in its
        loops; drops what was scheduled about them.
        """
        if self.pipeline.may_inline(func.name) and not self.hosts(func.name):
            plain = Schedule.default(self.pipeline).of(func.name)
            yield self.edit(plain, "inline it")

    def deinline(self, func: FuncSchedule) -> Iterator[Edit]:
        """Computes and stores an inlined Func as far out as what it reads permits."""
        read = self.levels.reads[func.name]
        paths = [
            self.levels.compute_path(entry.name)
            for entry in self.schedule.funcs
            if not entry.compute.is_inline and entry.name in read
        ]
        level = _innermost(max(paths, key=len, default=()))
        edit = self.edit(evolve(func, compute=level, store=level), f"compute it at {level}")
        if self.is_well_formed(edit.after):
            yield edit

    def move_compute(self, func: FuncSchedule) -> Iterator[Edit]:
        """Computes a Func at each other loop around all its uses, innermost first, and at root.

        Storage stays where it is, unless it would then be inside the computation, or outside a loop
        whose iterations run at once.
        """
        around = self.levels.enclosing(func.name)
        stored = len(self.levels.store_path(func.name))
        for depth in range(len(around), -1, -1):
            path = around[:depth]
            level = _innermost(path)
            if level == func.compute:
                continue
            concurrent = [i for i, p in enumerate(path) if self.levels.kind(p).is_concurrent]
            least = concurrent[-1] + 1 if concurrent else 0
            store = _innermost(path[: max(least, min(depth, stored))])
            moved = evolve(func, compute=level, store=store)
            edit = self.edit(moved, f"compute it at {level}")
            if self.is_well_formed(edit.after):
                yield edit

    def move_storage(self, func: FuncSchedule) -> Iterator[Edit]:
        """Stores a Func at each other loop around its computation, innermost first, and at root;
        without concurrent loops between.
        """
        path = self.levels.compute_path(func.name)
        for depth in range(len(path), -1, -1):
            if depth < len(path) and self.levels.kind(path[depth]).is_concurrent:
                break
            level = _innermost(path[:depth])
            if level != func.store:
                yield self.edit(evolve(func, store=level), f"store it at {level}")

    def edit(self, entry: FuncSchedule, text: str) -> Edit:
        """The edit that replaces the entry of a Func."""
        return Edit(entry.name, self.schedule.replace(entry), text=text)

    def hosts(self, func: str) -> bool:
        """Whether something is computed or stored at a loop of ``func``."""
        return any(func in one.hosts for one in self.schedule.funcs)

    def separates(self, func: str, loop: str) -> bool:
        """Whether a loop lies between the storage and the computation of some Func."""
        return any(
            (one.func, one.loop) == (func, loop)
            for entry in self.schedule.funcs
            if not entry.compute.is_inline
            for one in self.levels.compute_path(entry.name)[
                len(self.levels.store_path(entry.name)) :
            ]
        )

    def is_well_formed(self, schedule: Schedule) -> bool:
        """Whether each Func of a schedule of the pipeline is computed and stored around all its
        uses, storage outermost.
        """
        levels = NamedLevels(self.pipeline, schedule)
        try:
            for func in schedule.funcs:
                if not func.compute.is_inline:
                    path, store = levels.compute_path(func.name), levels.store_path(func.name)
                    if path[: len(store)] != store:
                        return False
        except LevelError:
            return False
        return True


@frozen
class _StageTransformers:
    """The edits of the domain order of one stage."""

    of: _Transformers
    func: str
    index: int
    stage: Stage
    order: DomainOrder

    def split_loops(self, factors: tuple[Factor, ...]) -> Iterator[Edit]:
        """Splits each serial loop by each factor that is less than its extent."""
        extents = constant_extents(self.stage, self.order)
        directives = Directives(self.of.pipeline, self.of.schedule, self.func, self.index)
        for loop in self.order.loops:
            known = extents.get(loop.name)
            if loop.kind is not LoopKind.SERIAL or isinstance(known, str):
                continue
            inner = self.order.unused_name(f"{loop.name}i")
            for factor in factors:
                least = 2 if isinstance(factor, str) else factor
                if known is None or least < known:
                    after = directives.split(loop.name, loop.name, inner, factor).schedule
                    yield self._edit(after, f"split {loop.name} by {factor}")

    def reorder_loops(self) -> Iterator[Edit]:
        """Lets each two loops change places."""
        by_name = {loop.name: loop for loop in self.order.loops}
        for first, second in combinations(self.order.names, 2):
            swapped = {first: second, second: first}
            loops = tuple(by_name[swapped.get(name, name)] for name in self.order.names)
            order = evolve(self.order, loops=loops)
            edit = self._edit(self._with_order(order), f"swap {first} and {second}")
            if not self.of.hosts(self.func) or self.of.is_well_formed(edit.after):
                yield edit

    def change_kinds(self, kinds: tuple[LoopKind, ...]) -> Iterator[Edit]:
        """Changes the kind of each loop."""
        extents = constant_extents(self.stage, self.order)
        reduced = reduction_loops(self.stage, self.order)
        for place, loop in enumerate(self.order.loops):
            for kind in kinds:
                if kind is loop.kind or (kind.has_constant_extent and loop.name not in extents):
                    continue
                if kind.is_concurrent and (
                    loop.name in reduced or self.of.separates(self.func, loop.name)
                ):
                    continue
                after = self._with_order(self.order.with_kind(place, kind))
                yield self._edit(after, f"{loop.name} is {kind}")

    def _with_order(self, order: DomainOrder) -> Schedule:
        return self.of.schedule.with_stage(self.func, self.index, order)

    def _edit(self, after: Schedule, text: str) -> Edit:
        stage = f" in update({self.index - 1})" if self.index else ""
        return Edit(self.func, after, text=f"{text}{stage}")


def _innermost(path: Path) -> LoopLevel:
    """The level of the innermost loop of a path; root for a path without loops."""
    return path[-1].level if path else ROOT
