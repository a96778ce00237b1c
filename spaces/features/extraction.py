"""Extracts the features of a loop nest, as formulas, from the placements of its Funcs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import define, evolve, field, frozen

from spaces.constraints.sizes.kernels import kernels
from spaces.features.constant_loops import constant_loops
from spaces.features.coverage import Coverage, coverage_by_loop
from spaces.features.features import Features
from spaces.features.records import FuncFeatures, KernelFeatures, LoopFeatures, StageFeatures
from spaces.features.totals import KEPT, ONE, Totals, product, times
from spaces.features.work import stage_work
from spaces.model.algorithm.pipeline import Function, Pipeline, size_variable
from spaces.model.expressions.expr import Const, Expr, Op
from spaces.model.expressions.types import Int32
from spaces.model.formulas.counts import extent_of
from spaces.model.formulas.interval import Box, Interval
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from spaces.model.formulas.symbolic import SymbolicNumber, as_formula
from spaces.model.memo import Memo
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.largest import largest
from spaces.model.nest.nest_memo import NO_SIZES, NestMemo
from spaces.model.nest.placement import Placement
from spaces.model.nest.splits import GUARDED, Step
from spaces.model.nest.traversal import LoopVar, Traversal, loop_ranges
from spaces.model.schedules.domain_order import Fuse, LoopKind, Split
from spaces.model.schedules.schedule import MemoryType, Schedule


@frozen
class FeatureMemo:
    """What the searches of similar schedules extract once.

    Attributes:
        nests: the placements of Funcs.
        funcs: the features of Funcs. A key has the number of the placement, and what the Func
            computes.
        placed: the features of Funcs of recent placements, whatever the values that they compute.
        loops: the features of loops, by all loops around them.
        totals: sums over loops.
    """

    nests: NestMemo = field(factory=NestMemo)
    funcs: Memo[FuncFeatures] = field(factory=lambda: Memo[FuncFeatures](4096))
    placed: Memo[FuncFeatures] = field(factory=lambda: Memo[FuncFeatures](4096))
    loops: Memo[LoopFeatures] = field(factory=lambda: Memo[LoopFeatures](8192))
    totals: Memo[Expr] = field(factory=lambda: Memo[Expr](KEPT))


def extract_features(
    pipeline: Pipeline,
    schedule: Schedule,
    memo: FeatureMemo | None = None,
    sizes: Mapping[str, int] = NO_SIZES,
) -> Features:
    """The features of a well-formed (pipeline, schedule), as formulas over its parameters and over
    the sizes that are not given. Ignores specializations, which are schedules of their own. Takes
    what the ``memo`` has from there; the result is the same without.

    Raises:
        LevelError, UnboundedError: the schedule has no loop nest.
    """
    memo = FeatureMemo() if memo is None else memo
    nest = memo.nests.bounds(pipeline, schedule, sizes=sizes)
    extractor = _Extractor(nest, memo)
    funcs = tuple(extractor.func(nest.placements[f.name]) for f in nest.levels.functions)
    constant = constant_loops(nest.pipeline, schedule, funcs)
    return Features(
        pipeline=nest.pipeline,
        schedule=schedule,
        funcs=funcs,
        kernels=_kernels(nest, extractor.totals),
        is_image=nest.pipeline.is_image,
        image_extents=image_extents(nest.pipeline, sizes),
        constant_loops=constant.loops,
        fused_loops=constant.fused,
    )


def image_extents(
    pipeline: Pipeline, sizes: Mapping[str, SymbolicNumber]
) -> dict[str, tuple[SymbolicNumber, ...]]:
    """The extents of each image that has a given size."""
    found = {}
    for image in pipeline.images:
        names = [size_variable(image.name, "extent", d).name for d in range(image.dimensions)]
        if all(name in sizes for name in names):
            found[image.name] = tuple(sizes[name] for name in names)
    return found


def _kernels(nest: Bounds, totals: Totals) -> tuple[KernelFeatures, ...]:
    paths = [(*one.path, *of.loops) for one in nest.placements.values() for of in one.stages]
    around = tuple(dict.fromkeys(loop for path in paths for loop in path))
    if all(loop.kind is not LoopKind.GPU_BLOCK for loop in around):
        return ()
    return tuple(
        KernelFeatures(
            func=kernel.func,
            stage=kernel.stage,
            blocks=totals.typical(product(kernel.grid), around),
            block=kernel.block,
            shared_bytes=largest(kernel.shared_bytes, around, nest.simplify),
            private_bytes=largest(kernel.private_bytes(*MemoryType), around, nest.simplify),
        )
        for kernel in kernels(nest)
    )


@define
class _Extractor:
    nest: Bounds
    memo: FeatureMemo
    totals: Totals = field(init=False)
    _coverages: dict[tuple[str, int], Mapping[str, Coverage]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.totals = Totals(self.nest.simplify, self.memo.totals, self.nest.surroundings)

    def _coverage(self, func: str, stage: int) -> Mapping[str, Coverage]:
        """What each split or fused loop of a stage covers."""
        known = self._coverages.get((func, stage))
        if known is None:
            traversal = self.nest.placements[func].stages[stage]
            once = self.nest.schedule.of(func).stages[stage].once
            known = self._coverages[func, stage] = coverage_by_loop(
                traversal.steps, once, self.nest.simplify
            )
        return known

    def func(self, placement: Placement) -> FuncFeatures:
        """The features of a Func."""
        function = placement.function
        number = self.nest.numbers.get(function.name)
        if number is None:
            return self._extract_func(placement)
        key, (funcs, placed) = (number, function), (self.memo.funcs, self.memo.placed)
        known = funcs.find(key)
        if known is None:
            like = placed.find(number) or placed.keep(number, self._extract_func(placement))
            known = funcs.keep(key, _with_work(like.value, function))
        return known.value

    def _extract_func(self, placement: Placement) -> FuncFeatures:
        function, path, storage = placement.function, placement.path, placement.storage
        stored = self._extents(storage.stored, path[: placement.store_depth])
        return FuncFeatures(
            name=function.name,
            types=function.types,
            args=function.args,
            is_output=function.name in self.nest.pipeline.outputs,
            depth=len(path),
            store_depth=placement.store_depth,
            visits=self.totals.count(path),
            allocations=self.totals.count(path[: placement.store_depth]),
            required=self._extents(placement.required, path),
            computed=self._extents(storage.target, path),
            stored=stored,
            allocated=tuple(
                extent if fold is None else self.totals.typical(fold, path)
                for extent, fold in zip(stored, storage.folds, strict=True)
            ),
            whole=self._whole_extents(placement),
            slides=len(path) > placement.store_depth,
            stages=tuple(self._stage(placement, i) for i in range(len(placement.stages))),
        )

    def _extents(self, box: Box, loops: Sequence[LoopVar]) -> tuple[Expr, ...]:
        return tuple(self.totals.typical(self._extent(interval), loops) for interval in box)

    def _extent(self, interval: Interval) -> Expr:
        if interval.min is None or interval.max is None:
            raise ValueError("a loop nest has no unbounded regions")
        return extent_of(interval.min, interval.max, self.nest.simplify)

    def _whole_extents(self, placement: Placement) -> tuple[Expr, ...]:
        if not placement.path:
            return self._extents(placement.required, ())
        simplify = self.nest.simplify
        ranges = Ranges(simplify, loop_ranges(placement.path, simplify))
        union = []
        for interval in placement.required:
            if interval.min is not None and interval.max is not None:
                low, high = ranges.least(interval.min), ranges.most(interval.max)
                union.append(Interval(low, high))
        return self._extents(tuple(union), ())

    def _stage(self, placement: Placement, index: int) -> StageFeatures:
        function, path = placement.function, placement.path
        own = self._own(placement.stages[index])
        loops = (*path, *own)
        coverage = [self._coverage_of(loop, loop.func, loop.stage) for loop in path]
        coverage += [self._coverage_of(loop, function.name, index) for loop in own]
        found = tuple(self._loop(loops[: i + 1], coverage[i]) for i in range(len(loops)))
        lanes = [one.trips for one in found[len(path) :] if one.kind is LoopKind.VECTORIZED]
        guarded = [
            tuple(self.totals.typical(one, loops) for one in pair)
            for pair in self._guarded_vectors(placement.stages[index])
        ]
        return StageFeatures(
            func=function.name,
            index=index,
            work=stage_work(function.stages[index]),
            loops=found,
            depth=len(path),
            points=self.totals.total(self._points(placement, index), path),
            guarded_values=product([values for values, _ in guarded]),
            guarded_lanes=product([lanes for _, lanes in guarded]),
            lanes=product([_at_least_one(as_formula(trips)) for trips in lanes]),
            reduced=tuple(r.name for r in function.stages[index].rvars),
        )

    def _own(self, traversal: Traversal) -> tuple[LoopVar, ...]:
        """The loops of a stage; a fused loop has the range of this stage only."""
        fused = {one.loop: one for one in traversal.joined}
        return tuple(
            evolve(
                loop,
                min=one.min,
                max=one.max,
                extent=extent_of(one.min, one.max, self.nest.simplify),
            )
            if (one := fused.get(loop.loop))
            else loop
            for loop in traversal.loops
        )

    def _coverage_of(self, loop: LoopVar, func: str, stage: int) -> Coverage:
        """What a loop covers of the dimensions of a stage; all of it if it has only one."""
        coverage = self._coverage(func, stage).get(loop.loop, ((loop.loop, loop.extent),))
        return ((coverage[0][0], loop.extent),) if len(coverage) == 1 else coverage

    def _loop(self, loops: tuple[LoopVar, ...], coverage: Coverage) -> LoopFeatures:
        key = self.totals.surroundings, loops, coverage
        known = self.memo.loops.find(key) or self.memo.loops.keep(
            key, self._extract_loop(loops, coverage)
        )
        return known.value

    def _extract_loop(self, loops: tuple[LoopVar, ...], coverage: Coverage) -> LoopFeatures:
        loop = loops[-1]
        covers: dict[str, Expr] = {}
        for dimension, values in coverage:
            covers[dimension] = times(covers.get(dimension, ONE), values)
        return LoopFeatures(
            func=loop.func,
            stage=loop.stage,
            loop=loop.loop,
            kind=loop.kind,
            dimensions=tuple(covers),
            covers=tuple(self.totals.typical(c, loops[:-1]) for c in covers.values()),
            trips=self.totals.typical(loop.extent, loops[:-1]),
            runs=self.totals.count(loops),
        )

    def _points(self, placement: Placement, index: int) -> Expr:
        """The evaluations in a visit: the iterations that guards do not skip."""
        traversal = placement.stages[index]
        counts = {frozenset((v.loop,)): v.extent for v in self._own(traversal)}
        for step in reversed(traversal.steps):
            _undo(step, counts, self.nest.simplify)
        return product(tuple(counts.values()))

    def _guarded_vectors(self, traversal: Traversal) -> Iterator[tuple[Expr, Expr]]:
        """For each guarded split into vectors the values along it, and the lanes of the vectors
        that hold them.
        """
        vectors = {v.loop: v for v in traversal.loops if v.kind is LoopKind.VECTORIZED}
        for step in traversal.steps:
            record = step.record
            if isinstance(record, Split) and step.tail in GUARDED and record.inner in vectors:
                lanes, values = vectors[record.inner].extent, step.first[1]
                rounded = self.nest.simplify((values + lanes - 1) / lanes)
                yield values, times(rounded, lanes)


def _with_work(found: FuncFeatures, function: Function) -> FuncFeatures:
    """The features of a Func that is placed as another one is, and computes other values."""
    works = tuple(map(stage_work, function.stages))
    if all(stage.work is work for stage, work in zip(found.stages, works, strict=True)):
        return found
    stages = (evolve(s, work=work) for s, work in zip(found.stages, works, strict=True))
    return evolve(found, stages=tuple(stages))


def _undo(step: Step, counts: dict[frozenset[str], Expr], simplify: Simplifier) -> None:
    """Replaces the loops that a step made by those that it took. ``counts`` has for each loop, or
    for several that were fused, the number of iterations that no guard skips.
    """
    record = step.record
    keys = [key for key in counts if not key.isdisjoint(record.made)]
    count = product(tuple(counts.pop(key) for key in keys))
    left = frozenset().union(*keys).difference(record.made)
    if isinstance(record, Fuse) and not left and count is simplify(step.first[1] * step.second[1]):
        counts[frozenset((record.inner,))] = step.first[1]
        counts[frozenset((record.outer,))] = step.second[1]
        return
    if isinstance(record, Split) and not left and step.tail in GUARDED:
        count = step.first[1]
    counts[left.union(record.taken)] = count


def _at_least_one(trips: Expr) -> Expr:
    """The iterations of a loop, one of a loop that never runs, unsimplified."""
    if isinstance(trips, Const) and trips.value >= 1:
        return trips
    return Op(Int32, "max", (ONE, trips))
