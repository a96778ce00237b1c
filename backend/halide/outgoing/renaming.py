"""Schedules with the names that Halide gives back. Halide names a wrapper after its readers, but
does not keep their order. It names the RVars of factored reductions in its own way. And it has
other Vars than ours where a name means something special in Halide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from attrs import evolve, field, frozen

from spaces.backend.halide.names import identifier
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derivations import Clone, Derivation, Wrap
from spaces.model.schedules.domain_order import DomainOrder, Fuse, Split
from spaces.model.schedules.schedule import (
    Alignment,
    Bound,
    Companion,
    Fold,
    FuncSchedule,
    LoopLevel,
    Pad,
    Schedule,
    StageOf,
    StorageBound,
)

_D = TypeVar("_D", Fold, Pad, StorageBound, Bound | Alignment)


def with_sorted_readers(schedule: Schedule) -> Schedule:
    """A schedule whose wrappers and clones have their readers in alphabetical order. The names of
    these Funcs change with it.
    """
    names: dict[str, str] = {}
    steps: list[Derivation] = []
    for step in schedule.derivations:
        made = evolve(step, func=names.get(step.func, step.func))
        if isinstance(made, Wrap | Clone):
            readers = (names.get(name, name) for name in made.consumers)
            made = evolve(made, consumers=tuple(sorted(readers)))
        if made.name != step.name:
            names[step.name] = made.name
        steps.append(made)
    return evolve(_Renaming(names).schedule(schedule), derivations=tuple(steps))


def with_rvars_of(pipeline: Pipeline, schedule: Schedule, other: Pipeline) -> Schedule:
    """A schedule of ``other`` as one of ``pipeline``, which has the same Funcs and stages, but
    other names of RVars.
    """
    rvars: dict[str, Sequence[Mapping[str, str]]] = {}
    for function in pipeline.functions:
        pairs = zip(other.function(function.name).stages, function.stages, strict=True)
        rvars[function.name] = [
            dict(zip((r.name for r in theirs.rvars), (r.name for r in ours.rvars), strict=True))
            for theirs, ours in pairs
        ]
    return _Renaming({}, rvars).schedule(schedule)


def with_identifiers(schedule: Schedule, pipeline: Pipeline) -> Schedule:
    """A schedule of ``pipeline``, with the Funcs that are added, in the names that Funcs, Vars and
    loops have when it has been built in Halide: those of :func:`identifier`. RVars keep theirs, and
    so do the Vars of wrappers of images, which Halide names.
    """
    images = {image.name for image in pipeline.images}
    for step in schedule.derivations:
        if isinstance(step, Wrap | Clone) and step.func in images:
            images.add(step.name)
    loops: dict[str, Sequence[Mapping[str, str]]] = {}
    for entry in schedule.funcs:
        function = pipeline.function(entry.name)
        cases = [(case.stage, case.order) for case in entry.specializations]
        names = [set(function.args).union(order.all_names) for order in entry.stages]
        for stage, order in cases:
            names[stage].update(order.all_names)
        kept = frozenset(function.args if entry.name in images else ())
        loops[entry.name] = [
            {name: identifier(name) for name in own - kept.union(r.name for r in stage.rvars)}
            for own, stage in zip(names, function.stages, strict=True)
        ]
    funcs = {entry.name: identifier(entry.name) for entry in schedule.funcs}
    return _Renaming(funcs, loops).schedule(schedule)


@frozen
class _Renaming:
    """New names of Funcs, and, for each stage of a Func, new names of RVars, Vars and loops."""

    funcs: Mapping[str, str]
    loops: Mapping[str, Sequence[Mapping[str, str]]] = field(factory=dict)

    def schedule(self, schedule: Schedule) -> Schedule:
        """A schedule in the new names; its derivations keep their names."""
        return Schedule(tuple(map(self._entry, schedule.funcs)), schedule.derivations)

    def _entry(self, entry: FuncSchedule) -> FuncSchedule:
        vars = self._names(entry.name, 0)

        def along(records: tuple[_D, ...]) -> tuple[_D, ...]:
            return tuple(evolve(r, dimension=vars.get(r.dimension, r.dimension)) for r in records)

        return evolve(
            entry,
            name=self._func(entry.name),
            stages=tuple(
                self._order(order, self._names(entry.name, n))
                for n, order in enumerate(entry.stages)
            ),
            compute=self._level(entry.compute),
            store=self._level(entry.store),
            hoist=self._level(entry.hoist),
            folds=along(entry.folds),
            storage_orders=tuple(
                tuple(vars.get(name, name) for name in order) for order in entry.storage_orders
            ),
            pads=along(entry.pads),
            storage_bounds=along(entry.storage_bounds),
            bounds=along(entry.bounds),
            specializations=tuple(
                evolve(case, order=self._order(case.order, self._names(entry.name, case.stage)))
                for case in entry.specializations
            ),
            companions=tuple(self._companion(entry.name, one) for one in entry.companions),
        )

    def _func(self, name: str) -> str:
        return self.funcs.get(name, name)

    def _names(self, func: str, stage: int) -> Mapping[str, str]:
        return self.loops[func][stage] if func in self.loops else {}

    def _level(self, level: LoopLevel) -> LoopLevel:
        loops = (
            stage[level.loop] for stage in self.loops.get(level.func, ()) if level.loop in stage
        )
        return LoopLevel(self._func(level.func), next(loops, level.loop))

    def _companion(self, func: str, one: Companion) -> Companion:
        names = self._names(func, one.stage)
        return evolve(
            one,
            other=StageOf(self._func(one.other.func), one.other.stage),
            loop=names.get(one.loop, one.loop),
            aligned=tuple((names.get(loop, loop), align) for loop, align in one.aligned),
        )

    def _order(self, order: DomainOrder, names: Mapping[str, str]) -> DomainOrder:
        def now(name: str) -> str:
            return names.get(name, name)

        def record(one: Split | Fuse) -> Split | Fuse:
            if isinstance(one, Split):
                return evolve(one, old=now(one.old), outer=now(one.outer), inner=now(one.inner))
            return evolve(one, inner=now(one.inner), outer=now(one.outer), fused=now(one.fused))

        return evolve(
            order,
            splits=tuple(map(record, order.splits)),
            loops=tuple(evolve(loop, name=now(loop.name)) for loop in order.loops),
            partitions=tuple(evolve(one, loop=now(one.loop)) for one in order.partitions),
            prefetches=tuple(
                evolve(one, target=self._func(one.target), at=now(one.at), origin=now(one.origin))
                for one in order.prefetches
            ),
            lanes=tuple(evolve(one, loop=now(one.loop)) for one in order.lanes),
        )
