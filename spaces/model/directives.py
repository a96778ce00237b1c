"""Halide's scheduling directives, each a function from a schedule to a new schedule.

``schedule(pipeline)`` starts from the default schedule::

    s = schedule(p).func("blur_y").tile("x", "y", "xi", "yi", 256, 32).parallel("y")
    s = s.func("blur_x").compute_at("blur_y", "x").vectorize("x", 8)
    s.schedule  # the Schedule record

Directives record what was written, unknown names included; ``verify`` says what is wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Self, TypeVar

import attrs
from attrs import frozen

from spaces.model.conditions import plain_condition
from spaces.model.derive import derived
from spaces.model.expr import Expr, ExprLike, Op, Variable, constant
from spaces.model.func import Func, ImageParam, RDom
from spaces.model.pipeline import Function, Pipeline
from spaces.model.rfactor import factored_orders, parted_splits
from spaces.model.schedule import (
    INLINE,
    ROOT,
    Alignment,
    Bound,
    Clone,
    Companion,
    Derivation,
    DomainOrder,
    Factor,
    Fold,
    FuncSchedule,
    Fuse,
    Loop,
    LoopAlign,
    LoopKind,
    LoopLevel,
    Memory,
    Pad,
    Partition,
    Partitioned,
    Prefetch,
    PrefetchBound,
    RFactor,
    Schedule,
    Specialization,
    Split,
    StorageBound,
    Tail,
    Wrap,
)
from spaces.model.types import Bool

_E = TypeVar("_E", bound=StrEnum)

Name = str | Variable | RDom
"""A loop: its name, or the Var or RVar it is named after; an RDom of one dimension is its RVar."""


def schedule(pipeline: Pipeline, base: Schedule | None = None) -> Directives:
    """Directives on ``base``, or on the default schedule; the last output is selected first."""
    return Directives(pipeline, base or Schedule.default(pipeline), pipeline.outputs[-1])


def _name(thing: Name | Func | ImageParam) -> str:
    if isinstance(thing, str):
        return thing
    if isinstance(thing, RDom):
        return thing.as_expr().name
    if isinstance(thing, Variable | Func | ImageParam):
        return thing.name
    raise TypeError(f"{thing!r} is not a name; give a string, or the Var or Func itself.")


def _factor(value: Factor | Name) -> Factor:
    if isinstance(value, str | Variable | RDom):
        return _name(value)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"{value!r} is not a factor; give a whole number or the name of a parameter."
        ) from None


def _member(kind: type[_E], value: _E | str) -> _E:
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{value!r} is no {kind.__name__}; there are {', '.join(kind)}.") from None


def _whole(value: int) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{value!r} is not a whole number.") from None


@frozen
class Directives:
    """A schedule of a pipeline with one stage of one Func selected, on which directives act; or a
    specialization of that stage, by its number ``within`` those of the Func.

    ``placed`` names the Funcs whose storage a directive has put somewhere, so that it no longer
    follows the compute level.
    """

    pipeline: Pipeline
    schedule: Schedule
    selected: str
    stage: int = 0
    placed: frozenset[str] = frozenset()
    within: int | None = None

    def func(self, func: str | Func | ImageParam) -> Self:
        """Select the pure stage of another Func, or an input image to put a Func around.

        Raises:
            KeyError: the pipeline has no such Func.
        """
        name = _name(func)
        if all(image.name != name for image in self.pipeline.images):
            name = self.schedule.of(name).name
        return attrs.evolve(self, selected=name, stage=0, within=None)

    def update(self, index: int = 0) -> Self:
        """Select an update stage of the same Func, counted from 0.

        Raises:
            IndexError: the Func has no such update stage.
        """
        updates = len(self._func.stages) - 1
        if not 0 <= index < updates:
            raise IndexError(
                f"Func {self.selected} has {updates} update stages; there is no update({index})."
            )
        return attrs.evolve(self, stage=index + 1, within=None)

    @property
    def _func(self) -> FuncSchedule:
        return self.schedule.of(self.selected)

    @property
    def _order(self) -> DomainOrder:
        if self.within is not None:
            return self._func.specializations[self.within].order
        return self._func.stages[self.stage]

    def _with_order(self, order: DomainOrder) -> Self:
        if self.within is not None:
            known = list(self._func.specializations)
            known[self.within] = attrs.evolve(known[self.within], order=order)
            return self._with_specializations(known, self.within)
        changed = self.schedule.with_stage(self.selected, self.stage, order)
        return attrs.evolve(self, schedule=changed)

    def _with_func(self, func: FuncSchedule) -> Self:
        if self.within is not None:
            raise TypeError(
                f"After specialize only the loops of {self.selected} can be scheduled: where and "
                "how its values are stored is the same for all of its specializations. Begin a "
                "new line."
            )
        return attrs.evolve(self, schedule=self.schedule.replace(func))

    def in_(self, *consumers: str | Func | Sequence[str | Func]) -> Self:
        """Put a new Func that equals this one between it and ``consumers``, or all that read it,
        and select that. It is called ``f_in_g`` after both, or ``f_in``; asking for it again
        selects it again.
        """
        return self.derive(Wrap(self.selected, _names(consumers)))

    def clone_in(self, *consumers: str | Func | Sequence[str | Func]) -> Self:
        """Let ``consumers`` read a copy of this Func, called ``f_clone_in_g`` and scheduled as this
        one is now, and select that.
        """
        return self.derive(Clone(self.selected, _names(consumers)))

    def rfactor(self, *pairs: Name | Sequence[tuple[Name, Name]]) -> Self:
        """Reduce in two steps: ``rfactor(r.y, u)``, or ``rfactor([(r.y, u), (r.z, v)])``, makes a
        Func ``f_intm`` of partial results, with a Var for each of these loops over RVars of the
        selected update, which then reduces along them only. Both keep the other loops. The new
        Func is selected; its reduction is its ``update(0)``.
        """
        names = tuple(_loops_and_vars(pairs))
        if self.stage == 0 or len(names) % 2 or not names:
            raise TypeError(
                f"rfactor takes loops over RVars of an update, each with a new Var, as in "
                f"{self.selected}.update(0).rfactor(r.x, u); it was given ({', '.join(names)})"
                f"{' and no update' if self.stage == 0 else ''}."
            )
        stage = self._definition.stages[self.stage]
        _, splits = parted_splits(stage, self._order)
        preserved = tuple(zip(names[::2], names[1::2], strict=True))
        return self.derive(RFactor(self.selected, self.stage - 1, splits, preserved))

    def atomic(self) -> Self:
        """Change each element in one step, so that loops over RVars may be parallel or vectorized
        although iterations change the same element.
        """
        atomic = (*self._func.atomic, self.stage)
        return self._with_func(attrs.evolve(self._func, atomic=atomic))

    def derive(self, step: Derivation) -> Self:
        """Rewrite the pipeline by ``step``, and select the Func that it adds."""
        schedule = self.schedule
        if step not in schedule.derivations:
            start = self._with_splits_of(step) if isinstance(step, RFactor) else self
            schedule = _with_derivation(self.pipeline, start.schedule, step)
        return attrs.evolve(self, schedule=schedule, selected=step.name, stage=0, within=None)

    def specialize(self, condition: ExprLike) -> Self:
        """Schedule the selected stage anew where ``condition`` holds, beginning with its schedule
        as it is; a specialization of a specialization is one where both conditions hold. The
        directives that follow, until a stage is selected again, are about that only.

        Where several conditions hold, the one that was written first counts. They are over scalar
        parameters and the sizes and strides of images and outputs.
        """
        return self._specialized(plain_condition(condition), "")

    def specialize_fail(self, message: str) -> Self:
        """Stop the pipeline with a message where no condition of the stage's specializations
        holds.
        """
        return self._specialized(constant(True, Bool), message)

    def _specialized(self, condition: Expr, failure: str) -> Self:
        known, place = list(self._func.specializations), len(self._func.specializations)
        if self.within is not None and failure:
            known[self.within] = attrs.evolve(known[self.within], failure=failure)
            return self._with_specializations(known, self.within)
        if self.within is not None:
            place = self.within
            condition = Op(Bool, "and", (known[place].condition, condition))
        for number, one in enumerate(known):
            if (one.stage, one.condition) == (self.stage, condition):
                return attrs.evolve(self, within=number)
        known.insert(place, Specialization(self.stage, condition, self._order, failure))
        return self._with_specializations(known, place)

    def _with_specializations(self, changed: list[Specialization], place: int) -> Self:
        func = attrs.evolve(self._func, specializations=tuple(changed))
        within = func.specializations.index(changed[place])
        return attrs.evolve(self, schedule=self.schedule.replace(func), within=within)

    def _with_splits_of(self, step: RFactor) -> Self:
        """The splits that a factorization takes made, where they are not yet."""
        known = [f.name for f in derived(self.pipeline, self.schedule).functions]
        result = attrs.evolve(self, selected=step.func, stage=step.update + 1)
        if step.func not in known or not 0 < result.stage < len(result._func.stages):
            return self
        _, made = parted_splits(result._definition.stages[result.stage], result._order)
        for record in step.splits if made != step.splits else ():
            if isinstance(record, Split):
                result = result.split(
                    record.old, record.outer, record.inner, record.factor, record.tail
                )
            else:
                result = result.fuse(record.inner, record.outer, record.fused)
        return result

    @property
    def _definition(self) -> Function:
        return derived(self.pipeline, self.schedule).function(self.selected)

    def split(
        self, old: Name, outer: Name, inner: Name, factor: Factor, tail: Tail | str = Tail.AUTO
    ) -> Self:
        """Split loop ``old``: ``inner`` has ``factor`` iterations, ``outer`` counts them."""
        record = Split(_name(old), _name(outer), _name(inner), _factor(factor), _member(Tail, tail))
        order = self._order
        kind, policy = order.kind(record.old), order.partition(record.old)
        parts = (Loop(record.outer, kind), Loop(record.inner, kind))
        policies = [Partitioned(name, policy) for name in (record.outer, record.inner)]
        return self._with_order(
            DomainOrder(
                (*order.splits, record),
                _replaced(order.loops, record.old, parts),
                (*_without(order.partitions, record.old), *policies),
                order.prefetches,
            )
        )

    def fuse(self, inner: Name, outer: Name, fused: Name) -> Self:
        """Make one loop of two; it stands where ``inner`` stood and keeps its kind."""
        record = Fuse(_name(inner), _name(outer), _name(fused))
        loops = tuple(loop for loop in self._order.loops if loop.name != record.outer)
        kind, policy = self._order.kind(record.inner), self._order.partition(record.inner)
        policies = _without(self._order.partitions, record.inner, record.outer)
        return self._with_order(
            DomainOrder(
                (*self._order.splits, record),
                _replaced(loops, record.inner, (Loop(record.fused, kind),)),
                (*policies, Partitioned(record.fused, policy)),
                self._order.prefetches,
            )
        )

    def partition(self, loop: Name, policy: Partition | str) -> Self:
        """Say whether a loop is split where tests along it are decided. What is made of it later
        is partitioned likewise.
        """
        one = Partitioned(_name(loop), _member(Partition, policy))
        changed = (*self._order.partitions, one)
        return self._with_order(attrs.evolve(self._order, partitions=changed))

    def never_partition(self, *loops: Name) -> Self:
        """Leave loops whole: less code, whose tests are asked in each iteration."""
        return self._partition_all(loops, Partition.NEVER)

    def always_partition(self, *loops: Name) -> Self:
        """Split loops where tests along them are decided, if there are no vectors in them, too."""
        return self._partition_all(loops, Partition.ALWAYS)

    def never_partition_all(self) -> Self:
        """Leave all loops of the stage whole."""
        return self._partition_all(self._order.names, Partition.NEVER)

    def always_partition_all(self) -> Self:
        """Split all loops of the stage where tests along them are decided."""
        return self._partition_all(self._order.names, Partition.ALWAYS)

    def prefetch(
        self,
        target: str | Func | ImageParam,
        at: Name,
        origin: Name,
        offset: int = 1,
        bound: PrefetchBound | str = PrefetchBound.GUARD_WITH_IF,
    ) -> Self:
        """At the beginning of each iteration of loop ``at``, bring near what its body reads of an
        image or a Func ``offset`` iterations of loop ``origin`` later; ``bound`` says of what at
        the end of that loop.
        """
        names = _name(target), _name(at), _name(origin)
        record = Prefetch(*names, _whole(offset), _member(PrefetchBound, bound))
        changed = (*self._order.prefetches, record)
        return self._with_order(attrs.evolve(self._order, prefetches=changed))

    def _partition_all(self, loops: Sequence[Name], policy: Partition) -> Self:
        result = self
        for loop in loops:
            result = result.partition(loop, policy)
        return result

    def reorder(self, *loops: Name) -> Self:
        """Put the named loops into this order, innermost first, in the places they hold."""
        names = [_name(loop) for loop in loops]
        current = list(self._order.loops)
        for name in names:
            if all(loop.name != name for loop in current):
                current.insert(0, Loop(name))
        places = [i for i, loop in enumerate(current) if loop.name in names]
        found = {loop.name: loop for loop in current}
        wanted = [found[name] for name in reversed(names)]
        # A name given twice leaves more loops than places; they all stay, for `verify` to name.
        reordered = list(current)
        for place, loop in zip(places, wanted, strict=False):
            reordered[place] = loop
        reordered[len(reordered) :] = wanted[len(places) :]
        return self._with_order(attrs.evolve(self._order, loops=tuple(reordered)))

    def loops(self, *loops: Name | Loop) -> Self:
        """Set the loops outright, innermost first, without regard to the splits.

        No legal schedule needs it; it records orders that no other directives lead to.
        """
        records = tuple(loop if isinstance(loop, Loop) else Loop(_name(loop)) for loop in loops)
        return self._with_order(attrs.evolve(self._order, loops=records[::-1]))

    def tile(self, *args: Name | Factor | Tail) -> Self:
        """``tile(x, y, xo, yo, xi, yi, xfactor, yfactor)`` or, reusing the names of ``x`` and
        ``y`` for the outer loops, ``tile(x, y, xi, yi, xfactor, yfactor)``; a tail may follow.
        Three dimensions are written likewise.

        Raises:
            TypeError: neither form.
        """
        return self._tile(_tile_arguments("tile", (2, 3), args))

    def _tile(self, tile: _Tile) -> Self:
        result = self
        for split in zip(tile.old, tile.outer, tile.inner, tile.factors, strict=True):
            result = result.split(*split, tile.tail)
        return result.reorder(*tile.inner, *tile.outer)

    def _kind(self, loop: Name, kind: LoopKind) -> Self:
        name = _name(loop)
        loops = self._order.loops
        if all(known.name != name for known in loops):
            loops = (Loop(name), *loops)
        changed = tuple(Loop(name, kind) if known.name == name else known for known in loops)
        return self._with_order(attrs.evolve(self._order, loops=changed))

    def _split_then(
        self, loop: Name, factor: Factor | None, suffix: str, kind: LoopKind, tail: Tail | str
    ) -> Self:
        if factor is None:
            return self._kind(loop, kind)
        inner = f"{_name(loop)}_{suffix}"
        return self.split(loop, loop, inner, factor, tail)._kind(inner, kind)

    def serial(self, loop: Name) -> Self:
        """Execute the iterations in order."""
        return self._kind(loop, LoopKind.SERIAL)

    def parallel(
        self, loop: Name, task_size: Factor | None = None, tail: Tail | str = Tail.AUTO
    ) -> Self:
        """Execute the iterations on the thread pool; with ``task_size``, that many a task."""
        if task_size is None:
            return self._kind(loop, LoopKind.PARALLEL)
        inner = f"{_name(loop)}_p"
        return self.split(loop, loop, inner, task_size, tail)._kind(loop, LoopKind.PARALLEL)

    def vectorize(
        self, loop: Name, factor: Factor | None = None, tail: Tail | str = Tail.AUTO
    ) -> Self:
        """Execute the iterations as vector lanes; with ``factor``, of a split by it."""
        return self._split_then(loop, factor, "v", LoopKind.VECTORIZED, tail)

    def unroll(
        self, loop: Name, factor: Factor | None = None, tail: Tail | str = Tail.AUTO
    ) -> Self:
        """Write the iterations out; with ``factor``, those of a split by it."""
        return self._split_then(loop, factor, "u", LoopKind.UNROLLED, tail)

    def gpu_blocks(self, *loops: Name) -> Self:
        """Map loops to the GPU grid, innermost first."""
        result = self
        for loop in loops:
            result = result._kind(loop, LoopKind.GPU_BLOCK)
        return result

    def gpu_threads(self, *loops: Name) -> Self:
        """Map loops to the threads of a block, innermost first."""
        result = self
        for loop in loops:
            result = result._kind(loop, LoopKind.GPU_THREAD)
        return result

    def gpu_tile(self, *args: Name | Factor | Tail) -> Self:
        """``tile`` whose outer loops are GPU blocks and whose inner loops are threads; it has
        one to three dimensions.

        Raises:
            TypeError: the arguments are not those of ``tile``.
        """
        tile = _tile_arguments("gpu_tile", (1, 2, 3), args)
        return self._tile(tile).gpu_blocks(*tile.outer).gpu_threads(*tile.inner)

    def compute_inline(self) -> Self:
        """Substitute the Func into its consumers."""
        return self._compute(INLINE)

    def compute_root(self) -> Self:
        """Compute all of the Func before any consumer runs."""
        return self._compute(ROOT)

    def compute_at(self, func: str | Func, loop: Name) -> Self:
        """Compute what one iteration of that loop needs, at its start.

        Storage follows unless ``store_at`` or ``store_root`` has put it elsewhere.
        """
        return self._compute(LoopLevel(_name(func), _name(loop)))

    def _compute(self, level: LoopLevel) -> Self:
        follows = self._func.store == self._func.compute and self.selected not in self.placed
        store = level if follows or level.is_inline else self._func.store
        return self._with_func(attrs.evolve(self._func, compute=level, store=store))

    def store_at(self, func: str | Func, loop: Name) -> Self:
        """Allocate the storage at that loop, at or outside the compute level."""
        return self._store(LoopLevel(_name(func), _name(loop)))

    def store_root(self) -> Self:
        """Allocate the storage outside all loops."""
        return self._store(ROOT)

    def _store(self, level: LoopLevel) -> Self:
        placed = attrs.evolve(self, placed=self.placed | {self.selected})
        return placed._with_func(attrs.evolve(self._func, store=level))

    def store_in(self, memory: Memory | str) -> Self:
        """Choose the kind of memory."""
        return self._with_func(attrs.evolve(self._func, memory=_member(Memory, memory)))

    def compute_with(
        self, func: str | Func, loop: Name, align: LoopAlign | str = LoopAlign.AUTO
    ) -> Self:
        """Fuse the loops with those of another Func, from the outermost to ``loop``."""
        companion = Companion(_name(func), _name(loop), _member(LoopAlign, align))
        return self._with_func(attrs.evolve(self._func, companion=companion))

    def hoist_storage(self, func: str | Func, loop: Name) -> Self:
        """Obtain the memory for the storage at that loop, at or outside the store level, once for
        all that is stored inside. No values are kept for longer.
        """
        return self._hoisted(LoopLevel(_name(func), _name(loop)))

    def hoist_storage_root(self) -> Self:
        """Obtain the memory for the storage outside all loops."""
        return self._hoisted(ROOT)

    def _hoisted(self, level: LoopLevel) -> Self:
        return self._with_func(attrs.evolve(self._func, hoist=level))

    def fold_storage(self, dimension: Name, factor: Factor, fold_forward: bool = True) -> Self:
        """Keep only ``factor`` values along a dimension, reused in a circle, while what is read
        moves up along it; or down, without ``fold_forward``.
        """
        fold = Fold(_name(dimension), _factor(factor), fold_forward)
        return self._with_func(attrs.evolve(self._func, folds=(*self._func.folds, fold)))

    def reorder_storage(self, *dimensions: Name) -> Self:
        """Lay the named dimensions out in this order, innermost first, in the places they hold."""
        order = tuple(_name(d) for d in dimensions)
        orders = (*self._func.storage_orders, order)
        return self._with_func(attrs.evolve(self._func, storage_orders=orders))

    def align_storage(self, dimension: Name, multiple: int) -> Self:
        """Pad a dimension of the storage, so that the strides of those outside of it are multiples
        of ``multiple`` values.
        """
        pad = Pad(_name(dimension), _whole(multiple))
        return self._with_func(attrs.evolve(self._func, pads=(*self._func.pads, pad)))

    def bound_storage(self, dimension: Name, bound: int) -> Self:
        """Store exactly ``bound`` values along a dimension; more must never be needed."""
        limit = StorageBound(_name(dimension), _whole(bound))
        limits = (*self._func.storage_bounds, limit)
        return self._with_func(attrs.evolve(self._func, storage_bounds=limits))

    def bound(self, dimension: Name, min: int, extent: int) -> Self:
        """Compute ``extent`` coordinates from ``min`` on of a dimension, whatever is required."""
        return self._bounded(Bound(_name(dimension), _whole(min), _whole(extent)))

    def bound_extent(self, dimension: Name, extent: int) -> Self:
        """Compute ``extent`` coordinates of a dimension, from the first that is required on."""
        return self._bounded(Bound(_name(dimension), None, _whole(extent)))

    def align_bounds(self, dimension: Name, modulus: int, remainder: int = 0) -> Self:
        """Compute as much more of a dimension as makes its first coordinate ``remainder`` modulo
        ``modulus``, and its extent a multiple of ``modulus``.
        """
        whole = _whole(modulus), _whole(remainder)
        return self._bounded(Alignment(_name(dimension), *whole))

    def align_extent(self, dimension: Name, modulus: int) -> Self:
        """Compute as much more of a dimension as makes its extent a multiple of ``modulus``."""
        return self._bounded(Alignment(_name(dimension), _whole(modulus), None))

    def _bounded(self, bound: Bound | Alignment) -> Self:
        return self._with_func(attrs.evolve(self._func, bounds=(*self._func.bounds, bound)))


def _names(things: Sequence[str | Func | Sequence[str | Func]]) -> tuple[str, ...]:
    """The names of Funcs, given one by one or as a list."""
    return tuple(
        _name(one)
        for thing in things
        for one in ((thing,) if isinstance(thing, str | Func) else thing)
    )


def _with_derivation(pipeline: Pipeline, schedule: Schedule, step: Derivation) -> Schedule:
    """``schedule`` with one more derivation, and an entry for the Func that it adds; one without
    loops where it cannot be applied.
    """
    given = attrs.evolve(schedule, derivations=(*schedule.derivations, step))
    before, after = derived(pipeline, schedule), derived(pipeline, given)
    entries = {entry.name: entry for entry in schedule.funcs}
    if step.name not in entries:
        stages = 2 if isinstance(step, RFactor) else 1
        entries[step.name] = FuncSchedule(step.name, (DomainOrder(),) * stages)
    if len(after.functions) > len(before.functions):
        entries |= _new_entries(before, after, entries, step)
    known = [f.name for f in after.functions if f.name in entries]
    rest = [name for name in entries if name not in known]
    return given.with_funcs(entries[name] for name in (*known, *rest))


def _new_entries(
    before: Pipeline, after: Pipeline, entries: Mapping[str, FuncSchedule], step: Derivation
) -> dict[str, FuncSchedule]:
    """The entry of the Func that ``step`` adds, and what becomes of that of its source."""
    added = after.function(step.name)
    entry = FuncSchedule.default(added, not added.is_pure)
    match step:
        case Clone() if step.func in entries:
            return {step.name: attrs.evolve(entries[step.func], name=step.name)}
        case RFactor() if step.func in entries:
            source, index = entries[step.func], step.update + 1
            orders = factored_orders(before.function(step.func), step, source.stages[index])
            stages = (*source.stages[:index], orders.merging, *source.stages[index + 1 :])
            return {
                step.name: attrs.evolve(entry, stages=(entry.stages[0], orders.partial)),
                step.func: attrs.evolve(source, stages=stages),
            }
    return {step.name: entry}


def _loops_and_vars(pairs: Sequence[Name | Sequence[tuple[Name, Name]]]) -> Iterator[str]:
    for pair in pairs:
        if isinstance(pair, str | Variable | RDom):
            yield _name(pair)
        else:
            yield from (_name(one) for loop_and_var in pair for one in loop_and_var)


def _without(policies: tuple[Partitioned, ...], *loops: str) -> tuple[Partitioned, ...]:
    return tuple(one for one in policies if one.loop not in loops)


def _replaced(loops: tuple[Loop, ...], old: str, new: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """``loops`` with ``old`` replaced in place; innermost where there is no such loop."""
    for i, loop in enumerate(loops):
        if loop.name == old:
            return (*loops[:i], *new, *loops[i + 1 :])
    return (*loops, *new)


@frozen
class _Tile:
    """Arguments of a ``tile``: for each dimension its loops and factor."""

    old: tuple[str, ...]
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    factors: tuple[Factor, ...]
    tail: Tail


def _tile_arguments(
    directive: str, possible: tuple[int, ...], args: tuple[Name | Factor | Tail, ...]
) -> _Tile:
    """Either form of ``tile``, over one of the ``possible`` numbers of dimensions."""
    tail = args[-1] if args and isinstance(args[-1], Tail) else None
    parts = args if tail is None else args[:-1]
    # With outer names there are four arguments a dimension, else three.
    forms = {d * width: (d, width) for d in possible for width in (3, 4)}
    dimensions, width = forms.get(len(parts), (0, 0))
    loops = parts[: dimensions * (width - 1)]
    if not dimensions or any(isinstance(p, int | Tail) for p in loops):
        raise TypeError(
            f"{directive} takes x, y, [xo, yo,] xi, yi, xfactor, yfactor[, tail]; "
            f"it was given ({', '.join(map(str, args))})."
        )
    names = tuple(_name(p) for p in loops if not isinstance(p, int))
    old = names[:dimensions]
    return _Tile(
        old=old,
        outer=names[dimensions:-dimensions] or old,
        inner=names[-dimensions:],
        factors=tuple(_factor(p) for p in parts[-dimensions:]),
        tail=tail or Tail.AUTO,
    )
