"""Bounds inference: for each computed Func its site, its boxes and its loops [RK13 4.2].

Works consumers first. The box that a Func must provide at its compute level is the union, over
the stages that read it, of the intervals of the coordinates they read while all loops inside that
level range over their bounds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cached_property, reduce

from attrs import define, field, frozen

from spaces.model import functions as fn
from spaces.model.conditions import believe
from spaces.model.derive import derived
from spaces.model.explicit_bounds import declared
from spaces.model.expr import Expr, component_names, constant
from spaces.model.levels import Levels, Path, Place
from spaces.model.pipeline import Function, Pipeline, Stage, size_variable
from spaces.model.predicates import narrowed
from spaces.model.reads import Window, reads
from spaces.model.regions import Box, Interval, Ranges, UnboundedError, union
from spaces.model.schedule import FuncSchedule, LoopLevel, Memory, Schedule, Split, Tail
from spaces.model.simplify import Simplifier
from spaces.model.sliding import Storage, slide
from spaces.model.splits import (
    Division,
    divide,
    factor_expr,
    loop_dimensions,
    resolved_tails,
    tail_of_reads,
    tail_of_writes,
)
from spaces.model.traversal import LoopVar, Traversal, box_of, loop_ranges, traverse
from spaces.model.types import Int32, Type
from spaces.model.values import ValueBounds
from spaces.model.visits import visits


@frozen
class InwardShift:
    """Stage ``stage`` splits a whole dimension by ``factor`` and shifts the last tile inwards."""

    stage: int
    dimension: str
    factor: Expr


def inward_shifts(function: Function, schedule: FuncSchedule) -> tuple[InwardShift, ...]:
    """The splits of whole dimensions of a Func that shift inwards, tails decided."""
    found = []
    for index, order in enumerate(schedule.stages):
        whole = set(function.args)
        tails = resolved_tails(function.stages[index], order, is_update=index > 0)
        for record, tail in zip(order.splits, tails, strict=True):
            if isinstance(record, Split):
                if tail_of_writes(tail) is Tail.SHIFT_INWARDS and record.old in whole:
                    found.append(InwardShift(index, record.old, factor_expr(record.factor)))
                whole.discard(record.old)
            else:
                whole -= {record.inner, record.outer}
    return tuple(found)


@frozen
class Placement:
    """One computed Func in the nest.

    Attributes:
        function: the Func, with inlined producers substituted.
        path: the loops around its computation.
        store_depth: how many of those loops are around its storage.
        demanded: the box its consumers read in one visit of its compute level.
        required: what explicit bounds make of it.
        storage: what it computes there and what it keeps.
        stages: the loops of each stage.
    """

    function: Function
    path: tuple[LoopVar, ...]
    store_depth: int
    demanded: Box
    required: Box
    storage: Storage
    stages: tuple[Traversal, ...]

    @property
    def between(self) -> tuple[LoopVar, ...]:
        """The loops between the storage and the computation, outermost first."""
        return self.path[self.store_depth :]


@frozen
class Allocation:
    """Storage of a Func, an array for each of ``types``, all alike: ``mins`` and ``extents`` a
    dimension, in the order of its arguments; where a fold factor is given, coordinates count modulo
    it and the extent is the factor. ``order`` are the dimensions as they lie in memory, innermost
    first.
    """

    func: str
    types: tuple[Type, ...]
    level: LoopLevel
    memory: Memory
    mins: tuple[Expr, ...]
    extents: tuple[Expr, ...]
    folds: tuple[Expr | None, ...]
    order: tuple[int, ...]

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the arrays: that of the Func, or those of its components."""
        return component_names(self.func, len(self.types))

    @property
    def elements(self) -> Expr:
        """The number of elements allocated for each component: one if there are no dimensions."""
        return reduce(operator.mul, self.extents) if self.extents else constant(1, Int32)


def memory_order(args: tuple[str, ...], orders: tuple[tuple[str, ...], ...]) -> tuple[int, ...]:
    """The dimensions of a Func as they lie in memory, innermost first, after its reorders."""
    result = list(range(len(args)))
    for order in orders:
        moved = [args.index(name) for name in order if name in args]
        places = sorted(result.index(d) for d in moved)
        for place, d in zip(places, moved, strict=False):
            result[place] = d
    return tuple(result)


@define
class Bounds:
    """All placements of a well-formed (pipeline, schedule), and the regions that follow from them;
    ``pipeline`` becomes what derivations of the schedule make of it. Where the schedule is followed
    only in some calls, ``assumptions`` hold of their sizes.

    Raises:
        LevelError: a compute or store level does not enclose the uses of its Func.
        UnboundedError: something is read at coordinates without limits.
        KeyError: the schedule does not cover the pipeline, or a domain order names unknown loops
            (``verify`` says so in words).
    """

    pipeline: Pipeline
    schedule: Schedule
    assumptions: tuple[Expr, ...] = ()
    simplify: Simplifier = field(factory=Simplifier)
    levels: Levels = field(init=False)
    values: ValueBounds = field(init=False)
    placements: dict[str, Placement] = field(init=False, factory=dict)
    _analyses: dict[tuple[str, int, int], Ranges] = field(init=False, factory=dict)
    _divisions: dict[tuple[str, int, Box], Division] = field(init=False, factory=dict)
    _visited: dict[tuple[str, int, Box, Callable[[Tail], Tail]], dict[str, Interval]] = field(
        init=False, factory=dict
    )

    def __attrs_post_init__(self) -> None:
        self.pipeline = derived(self.pipeline, self.schedule)
        self.levels = Levels(self.pipeline, self.schedule)
        self.values = ValueBounds(self.pipeline, self.simplify)
        self._assume_factors()
        self._assume_output_sizes()
        for condition in (*(p.condition for p in self.pipeline.promises), *self.assumptions):
            believe(self.simplify, condition)
        for function in reversed(self.levels.functions):
            self.placements[function.name] = self._place(function)

    @cached_property
    def inputs(self) -> dict[str, Box]:
        """The box of each image that is read; found when asked for, which features never do."""
        boxes = {}
        for image in self.pipeline.images:
            readers = list(self.levels.uses(image.name))
            if readers:  # an inlined Func may ignore the coordinate that reads an image
                boxes[image.name] = self._read_box(image.name, image.dimensions, readers, 0)
        return boxes

    @cached_property
    def hoisted(self) -> dict[str, tuple[Expr, ...]]:
        """The extents of the memory of each Func that is hoisted out of loops: the most that it
        takes in any of their iterations. Where none is known, as many as in each, whatever it is.
        """
        return {
            name: self._hoisted_extents(name, allocation.extents)
            for name, allocation in self.allocations.items()
            if self.schedule.of(name).is_hoisted
        }

    def _hoisted_extents(self, name: str, extents: tuple[Expr, ...]) -> tuple[Expr, ...]:
        placement, depth = self.placements[name], len(self.levels.hoist(name))
        loops = placement.path[depth : placement.store_depth]
        whole = Ranges(self.simplify, loop_ranges(loops, self.simplify))
        most = [whole.of(e).max for e in extents]
        return tuple(e if m is None else m for e, m in zip(extents, most, strict=True))

    def memory_of(self, name: str) -> tuple[Expr, ...]:
        """The extents of the memory of a Func that is stored."""
        return self.hoisted.get(name, self.allocations[name].extents)

    @cached_property
    def allocations(self) -> dict[str, Allocation]:
        """What is allocated for each Func that is computed and no output."""
        return {n: self._allocation(n) for n in self.placements if n not in self.pipeline.outputs}

    def _allocation(self, name: str) -> Allocation:
        placement, schedule = self.placements[name], self.schedule.of(name)
        args, storage = placement.function.args, placement.storage
        ends = [(i.min, i.max) for i in storage.stored if i.min is not None and i.max is not None]
        folds = tuple(
            None if fold is None else self._room(schedule, arg, fold)
            for arg, fold in zip(args, storage.folds, strict=True)
        )
        return Allocation(
            func=name,
            types=placement.function.types,
            level=schedule.store,
            memory=schedule.memory,
            mins=tuple(low for low, _ in ends),
            extents=tuple(
                self._room(schedule, arg, high - low + 1) if fold is None else fold
                for arg, (low, high), fold in zip(args, ends, folds, strict=True)
            ),
            folds=folds,
            order=memory_order(args, schedule.storage_orders),
        )

    def _room(self, schedule: FuncSchedule, dimension: str, extent: Expr) -> Expr:
        """How many values are stored along a dimension of which ``extent`` are needed."""
        for bound in schedule.storage_bounds:
            if bound.dimension == dimension:
                extent = constant(bound.extent, Int32)
        for pad in schedule.pads:
            if pad.dimension == dimension:
                multiple = constant(pad.multiple, Int32)
                extent = (extent + multiple - 1) / multiple * multiple
        return self.simplify(extent)

    def _assume_factors(self) -> None:
        """Every factor that is a parameter is at least 1."""
        for func in self.schedule.funcs:
            records = [r for order in func.stages for r in order.splits if isinstance(r, Split)]
            for factor in [r.factor for r in records] + [f.factor for f in func.folds]:
                if isinstance(factor, str):
                    self.simplify.assume(factor, constant(1, Int32), None)

    def _assume_output_sizes(self) -> None:
        """An output is at least as large as the factors that shift its tiles inwards; a smaller
        one is refused when the pipeline is called.
        """
        for name in self.pipeline.outputs:
            function = self.pipeline.function(name)
            for shift in inward_shifts(function, self.schedule.of(name)):
                size = size_variable(name, "extent", function.args.index(shift.dimension))
                known, _ = self.simplify.known(size.name)
                least = shift.factor if known is None else fn.max(known, shift.factor)
                self.simplify.assume(size.name, self.simplify(least), None)

    def _place(self, function: Function) -> Placement:
        name = function.name
        path = self._loops(self.levels.site(name))
        store_depth = len(self.levels.store(name))
        demanded, required = self._required(function, len(path))
        storage = slide(
            function,
            self.schedule.of(name),
            required,
            path[store_depth:],
            self.simplify,
            self._widened,
        )
        stages = self._traversals(function, storage.target)
        return Placement(function, path, store_depth, demanded, required, storage, stages)

    def _loops(self, path: Path) -> tuple[LoopVar, ...]:
        return tuple(self._loop(place) for place in path)

    def _loop(self, place: Place) -> LoopVar:
        traversal = self.placements[place.func].stages[place.stage]
        return next(loop for loop in traversal.loops if loop.loop == place.loop)

    def _required(self, function: Function, depth: int) -> tuple[Box, Box]:
        """What consumers read, what the output must hold, and what updates touch; and what
        explicit bounds make of it.
        """
        schedule = self.schedule.of(function.name)
        demanded = self._touched_by_updates(function, self._read(function, depth))
        required, _ = declared(function.args, schedule, demanded, self.simplify)
        if function.is_pure or not schedule.bounds:
            return demanded, required
        # Updates touch more where the bounds are wider; and what they touch there is there, too.
        demanded = self._union(demanded, self._touched_by_updates(function, required))
        required, _ = declared(function.args, schedule, demanded, self.simplify)
        return demanded, self._touched_by_updates(function, required)

    def _read(self, function: Function, depth: int) -> Box:
        """What consumers read, and what the output must hold."""
        name = function.name
        box: Box | None = None
        if name in self.pipeline.outputs:
            box = tuple(
                Interval(
                    size_variable(name, "min", d),
                    self.simplify(
                        size_variable(name, "min", d) + size_variable(name, "extent", d) - 1
                    ),
                )
                for d in range(len(function.args))
            )
        uses = self.levels.uses(name)
        if uses:
            read = self._read_box(name, len(function.args), list(uses), depth)
            box = read if box is None else self._union(box, read)
        if box is None:
            raise UnboundedError(f"Func {name} is computed but nobody reads it.", name)
        return box

    def _touched_by_updates(self, function: Function, box: Box) -> Box:
        for stage in function.stages[1:]:
            box = self._touched(function, stage, box)
        return box

    def _touched(self, function: Function, stage: Stage, box: Box) -> Box:
        """``box`` widened by what an update stage writes and reads of its own Func."""
        ranges = {
            name: Interval(self.simplify(i.min), self.simplify(i.max))
            for name, i in self._stage_box(function, stage, box).items()
            if i.min is not None and i.max is not None
        }
        # Of the Vars more may be visited than is required, where tails reach further.
        own = frozenset(ranges) - {r.name for r in stage.rvars}
        predicates = [p for p in stage.predicates if own.isdisjoint(p.names)]
        known = {**self.values.parameters, **narrowed(ranges, predicates, self.simplify)}
        analysis = Ranges(self.simplify, known, self.values)
        accesses = [stage.args] + [c.args for c in stage.calls if c.target == function.name]
        for access in accesses:
            widened = tuple(analysis.of(arg) for arg in access)
            for d, (written, interval) in enumerate(zip(access, widened, strict=True)):
                self._check(function.name, function.name, d, written, interval)
            box = self._union(box, widened)
        return box

    def read_inside(self, name: str, place: Place) -> Box:
        """What one iteration of a loop reads of a Func or an image, with all that is in it."""
        readers = [use for use in self.levels.uses(name) if place in self.levels.stage_path(*use)]
        path = self.levels.stage_path(place.func, place.stage)
        images = {image.name: image.dimensions for image in self.pipeline.images}
        count = images[name] if name in images else len(self.pipeline.function(name).args)
        return self._read_box(name, count, readers, path.index(place) + 1)

    def _read_box(
        self, name: str, dimensions: int, readers: list[tuple[str, int]], depth: int
    ) -> Box:
        found: list[dict[Interval, None]] = [{} for _ in range(dimensions)]
        for reader, index in readers:
            analysis = self._analysis(reader, index, depth)
            read = reads(self.placements[reader].function.stages[index])
            self.simplify.adopt(read.forms)
            for d, windows in enumerate(read.windows[name]):
                for window in windows:
                    interval = self._reached(window, analysis)
                    self._check(name, reader, d, window.written, interval)
                    found[d][interval] = None
        # Many reads share a few intervals a dimension; only distinct ones are united.
        return tuple(reduce(self._united, intervals) for intervals in found)

    def _reached(self, window: Window, analysis: Ranges) -> Interval:
        """From the least of the first to the largest of the last coordinate of a window."""
        low, high = analysis.of(window.first).min, analysis.of(window.last).max
        return Interval(
            low if low is None or not window.low else self.simplify(low + window.low),
            high if high is None or not window.high else self.simplify(high + window.high),
        )

    @staticmethod
    def _check(name: str, reader: str, d: int, written: Expr, interval: Interval) -> None:
        if not interval.is_bounded:
            raise UnboundedError(
                f"{reader} reads {name} at `{written}` in dimension {d}, which has no limits; "
                f"put it into clamp(..., low, high).",
                reader,
            )

    def _analysis(self, reader: str, index: int, depth: int) -> Ranges:
        """What a stage's coordinates range over while its loops beyond ``depth`` run in full."""
        key = (reader, index, depth)
        if key not in self._analyses:
            coordinates = self._coordinate_ranges(reader, index, depth)
            self._analyses[key] = Ranges(
                self.simplify, {**self.values.parameters, **coordinates}, self.values
            )
        return self._analyses[key]

    def _coordinate_ranges(self, reader: str, index: int, depth: int) -> dict[str, Interval]:
        """Ranges of a stage's Vars and RVars while its loops beyond ``depth`` run in full."""
        placement = self.placements[reader]
        traversal, order = placement.stages[index], self.schedule.of(reader).stages[index]
        stage = placement.function.stages[index]
        walked = loop_dimensions(stage, order)
        fixed = traversal.loops[: max(depth - len(placement.path), 0)]
        partly = {name for loop in fixed for name in walked[loop.loop]}
        loops = [
            *placement.path[depth:],
            *(i for i in traversal.loops[len(fixed) :] if partly.intersection(walked[i.loop])),
        ]
        analysis = Ranges(self.simplify, loop_ranges(tuple(loops), self.simplify))
        limits = self._stage_box(placement.function, stage, placement.storage.target)
        result = {
            name: Interval(_low(i, analysis), _high(i, analysis))
            for name, i in self._read_from(placement, index, limits).items()
            if name not in partly
        }
        guarded = traversal.read_limits if partly else frozenset()
        for name in partly:
            interval = analysis.of(traversal.guarded[name])
            if name in guarded:
                interval = _clipped(interval, limits[name], analysis)
            result[name] = interval
        return narrowed(result, stage.predicates, self.simplify)

    def _traversals(self, function: Function, box: Box) -> tuple[Traversal, ...]:
        return tuple(self._traversal(function, i, box) for i in range(len(function.stages)))

    def _traversal(self, function: Function, index: int, box: Box) -> Traversal:
        stage, order = function.stages[index], self.schedule.of(function.name).stages[index]
        division = self._division(function, index, self._stage_box(function, stage, box))
        return traverse(function.name, index, order, division, self.simplify)

    def _division(self, function: Function, index: int, box: dict[str, Interval]) -> Division:
        """What the splits of a stage make of ``box``; asked for what is required, visited, and
        left to compute, which often are the same.
        """
        key = (function.name, index, tuple(box.values()))
        if key not in self._divisions:
            stage, order = function.stages[index], self.schedule.of(function.name).stages[index]
            self._divisions[key] = divide(stage, order, index > 0, box, self.simplify)
        return self._divisions[key]

    def _stage_box(self, function: Function, stage: Stage, box: Box) -> dict[str, Interval]:
        """The range of each Var and RVar of one stage when its Func computes ``box``."""
        pure = box_of(function.args, box)
        ranges = {name: pure[name] for name in stage.pure_vars}
        for rvar in stage.rvars:
            last = self.simplify(rvar.min + rvar.extent - 1)
            ranges[rvar.name] = Interval(self.simplify(rvar.min), last)
        return ranges

    def _read_from(
        self, placement: Placement, index: int, limits: dict[str, Interval]
    ) -> dict[str, Interval]:
        """Where the iterations of a stage read, in one visit of its Func."""
        function, storage = placement.function, placement.storage
        visited = self._visits(function, index, limits, tail_of_reads)
        if index or not storage.slides:
            return visited
        # Of a window that slides the first iteration is known apart from the later ones.
        written = self._visits(function, index, limits, tail_of_writes)
        turns = box_of(function.args, storage.computed)
        return {n: turns[n] if visited[n] == written[n] else visited[n] for n in visited}

    def _visits(
        self,
        function: Function,
        index: int,
        box: dict[str, Interval],
        meaning: Callable[[Tail], Tail],
    ) -> dict[str, Interval]:
        """What the loops of a stage visit when it computes ``box``: what its reads, or its writes,
        come to.
        """
        if not self.schedule.of(function.name).stages[index].splits:
            return box
        key = (function.name, index, tuple(box.values()), meaning)
        if key not in self._visited:
            division = self._division(function, index, box).with_tails(meaning)
            self._visited[key] = visits(division, box, self.simplify)
        return self._visited[key]

    def _widened(self, function: Function, box: Box) -> Box:
        """``box`` and all that its stages visit beyond it because of tails."""
        whole = box
        for index, stage in enumerate(function.stages):
            pure = {n: i for n, i in box_of(function.args, box).items() if n in stage.pure_vars}
            whole_stage = self._stage_box(function, stage, box)
            visited = self._visits(function, index, whole_stage, tail_of_writes)
            if any(visited[name] is not i for name, i in pure.items()):
                reached = [visited.get(name, i) for name, i in zip(function.args, box, strict=True)]
                whole = self._union(whole, tuple(reached))
        return whole

    def _united(self, a: Interval, b: Interval) -> Interval:
        return _simplified(union(a, b), self.simplify)

    def _union(self, a: Box, b: Box) -> Box:
        return tuple(_simplified(union(x, y), self.simplify) for x, y in zip(a, b, strict=True))


def _simplified(interval: Interval, simplify: Simplifier) -> Interval:
    return Interval(
        None if interval.min is None else simplify(interval.min),
        None if interval.max is None else simplify(interval.max),
    )


def _clipped(interval: Interval, limits: Interval, analysis: Ranges) -> Interval:
    """A guarded coordinate never leaves the box of its stage."""
    if limits.max is None or interval.max is None:
        return interval
    high = analysis.of(limits.max).max
    if high is None:
        return interval
    return Interval(interval.min, analysis.simplify(fn.min(interval.max, high)))


def _low(interval: Interval, analysis: Ranges) -> Expr | None:
    return None if interval.min is None else analysis.of(interval.min).min


def _high(interval: Interval, analysis: Ranges) -> Expr | None:
    return None if interval.max is None else analysis.of(interval.max).max
