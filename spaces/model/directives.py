"""Halide's scheduling directives, each a function from a schedule to a new schedule.

``schedule(pipeline)`` starts from the default schedule::

    s = schedule(p).func("blur_y").tile("x", "y", "xi", "yi", 256, 32).parallel("y")
    s = s.func("blur_x").compute_at("blur_y", "x").vectorize("x", 8)
    s.schedule  # the Schedule record

Directives record what was written, unknown names included; ``verify`` says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import attrs
from attrs import frozen

from spaces.model.conditions import plain_condition
from spaces.model.derive import derived
from spaces.model.derived_schedule import with_derivation
from spaces.model.directive_arguments import (
    Name,
    Tile,
    factor_of,
    loops_and_vars,
    member_of,
    name_of,
    names_of,
    tile_arguments,
    whole_of,
)
from spaces.model.expr import Expr, ExprLike, Op, constant
from spaces.model.func import Func
from spaces.model.image_param import ImageParam
from spaces.model.pipeline import Function, Pipeline
from spaces.model.rfactor import parted_splits
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


def schedule(pipeline: Pipeline, base: Schedule | None = None) -> Directives:
    """Directives on ``base``, or on the default schedule; the last output is selected first."""
    return Directives(pipeline, base or Schedule.default(pipeline), pipeline.outputs[-1])


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
        name = name_of(func)
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
        return self.derive(Wrap(self.selected, names_of(consumers)))

    def clone_in(self, *consumers: str | Func | Sequence[str | Func]) -> Self:
        """Let ``consumers`` read a copy of this Func, called ``f_clone_in_g`` and scheduled as this
        one is now, and select that.
        """
        return self.derive(Clone(self.selected, names_of(consumers)))

    def rfactor(self, *pairs: Name | Sequence[tuple[Name, Name]]) -> Self:
        """Reduce in two steps: ``rfactor(r.y, u)``, or ``rfactor([(r.y, u), (r.z, v)])``, makes a
        Func ``f_intm`` of partial results, with a Var for each of these loops over RVars of the
        selected update, which then reduces along them only. Both keep the other loops. The new
        Func is selected; its reduction is its ``update(0)``.
        """
        names = tuple(loops_and_vars(pairs))
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
            schedule = with_derivation(self.pipeline, start.schedule, step)
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
        record = Split(
            name_of(old), name_of(outer), name_of(inner), factor_of(factor), member_of(Tail, tail)
        )
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
        record = Fuse(name_of(inner), name_of(outer), name_of(fused))
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
        one = Partitioned(name_of(loop), member_of(Partition, policy))
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
        names = name_of(target), name_of(at), name_of(origin)
        record = Prefetch(*names, whole_of(offset), member_of(PrefetchBound, bound))
        changed = (*self._order.prefetches, record)
        return self._with_order(attrs.evolve(self._order, prefetches=changed))

    def _partition_all(self, loops: Sequence[Name], policy: Partition) -> Self:
        result = self
        for loop in loops:
            result = result.partition(loop, policy)
        return result

    def reorder(self, *loops: Name) -> Self:
        """Put the named loops into this order, innermost first, in the places they hold."""
        names = [name_of(loop) for loop in loops]
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
        records = tuple(loop if isinstance(loop, Loop) else Loop(name_of(loop)) for loop in loops)
        return self._with_order(attrs.evolve(self._order, loops=records[::-1]))

    def tile(self, *args: Name | Factor | Tail) -> Self:
        """``tile(x, y, xo, yo, xi, yi, xfactor, yfactor)`` or, reusing the names of ``x`` and
        ``y`` for the outer loops, ``tile(x, y, xi, yi, xfactor, yfactor)``; a tail may follow.
        Three dimensions are written likewise.

        Raises:
            TypeError: neither form.
        """
        return self._tile(tile_arguments("tile", (2, 3), args))

    def _tile(self, tile: Tile) -> Self:
        result = self
        for split in zip(tile.old, tile.outer, tile.inner, tile.factors, strict=True):
            result = result.split(*split, tile.tail)
        return result.reorder(*tile.inner, *tile.outer)

    def _kind(self, loop: Name, kind: LoopKind) -> Self:
        name = name_of(loop)
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
        inner = f"{name_of(loop)}_{suffix}"
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
        inner = f"{name_of(loop)}_p"
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
        tile = tile_arguments("gpu_tile", (1, 2, 3), args)
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
        return self._compute(LoopLevel(name_of(func), name_of(loop)))

    def _compute(self, level: LoopLevel) -> Self:
        follows = self._func.store == self._func.compute and self.selected not in self.placed
        store = level if follows or level.is_inline else self._func.store
        return self._with_func(attrs.evolve(self._func, compute=level, store=store))

    def store_at(self, func: str | Func, loop: Name) -> Self:
        """Allocate the storage at that loop, at or outside the compute level."""
        return self._store(LoopLevel(name_of(func), name_of(loop)))

    def store_root(self) -> Self:
        """Allocate the storage outside all loops."""
        return self._store(ROOT)

    def _store(self, level: LoopLevel) -> Self:
        placed = attrs.evolve(self, placed=self.placed | {self.selected})
        return placed._with_func(attrs.evolve(self._func, store=level))

    def store_in(self, memory: Memory | str) -> Self:
        """Choose the kind of memory."""
        return self._with_func(attrs.evolve(self._func, memory=member_of(Memory, memory)))

    def compute_with(
        self, func: str | Func, loop: Name, align: LoopAlign | str = LoopAlign.AUTO
    ) -> Self:
        """Fuse the loops with those of another Func, from the outermost to ``loop``."""
        companion = Companion(name_of(func), name_of(loop), member_of(LoopAlign, align))
        return self._with_func(attrs.evolve(self._func, companion=companion))

    def hoist_storage(self, func: str | Func, loop: Name) -> Self:
        """Obtain the memory for the storage at that loop, at or outside the store level, once for
        all that is stored inside. No values are kept for longer.
        """
        return self._hoisted(LoopLevel(name_of(func), name_of(loop)))

    def hoist_storage_root(self) -> Self:
        """Obtain the memory for the storage outside all loops."""
        return self._hoisted(ROOT)

    def _hoisted(self, level: LoopLevel) -> Self:
        return self._with_func(attrs.evolve(self._func, hoist=level))

    def fold_storage(self, dimension: Name, factor: Factor, fold_forward: bool = True) -> Self:
        """Keep only ``factor`` values along a dimension, reused in a circle, while what is read
        moves up along it; or down, without ``fold_forward``.
        """
        fold = Fold(name_of(dimension), factor_of(factor), fold_forward)
        return self._with_func(attrs.evolve(self._func, folds=(*self._func.folds, fold)))

    def reorder_storage(self, *dimensions: Name) -> Self:
        """Lay the named dimensions out in this order, innermost first, in the places they hold."""
        order = tuple(name_of(d) for d in dimensions)
        orders = (*self._func.storage_orders, order)
        return self._with_func(attrs.evolve(self._func, storage_orders=orders))

    def align_storage(self, dimension: Name, multiple: int) -> Self:
        """Pad a dimension of the storage, so that the strides of those outside of it are multiples
        of ``multiple`` values.
        """
        pad = Pad(name_of(dimension), whole_of(multiple))
        return self._with_func(attrs.evolve(self._func, pads=(*self._func.pads, pad)))

    def bound_storage(self, dimension: Name, bound: int) -> Self:
        """Store exactly ``bound`` values along a dimension; more must never be needed."""
        limit = StorageBound(name_of(dimension), whole_of(bound))
        limits = (*self._func.storage_bounds, limit)
        return self._with_func(attrs.evolve(self._func, storage_bounds=limits))

    def bound(self, dimension: Name, min: int, extent: int) -> Self:
        """Compute ``extent`` coordinates from ``min`` on of a dimension, whatever is required."""
        return self._bounded(Bound(name_of(dimension), whole_of(min), whole_of(extent)))

    def bound_extent(self, dimension: Name, extent: int) -> Self:
        """Compute ``extent`` coordinates of a dimension, from the first that is required on."""
        return self._bounded(Bound(name_of(dimension), None, whole_of(extent)))

    def align_bounds(self, dimension: Name, modulus: int, remainder: int = 0) -> Self:
        """Compute as much more of a dimension as makes its first coordinate ``remainder`` modulo
        ``modulus``, and its extent a multiple of ``modulus``.
        """
        whole = whole_of(modulus), whole_of(remainder)
        return self._bounded(Alignment(name_of(dimension), *whole))

    def align_extent(self, dimension: Name, modulus: int) -> Self:
        """Compute as much more of a dimension as makes its extent a multiple of ``modulus``."""
        return self._bounded(Alignment(name_of(dimension), whole_of(modulus), None))

    def _bounded(self, bound: Bound | Alignment) -> Self:
        return self._with_func(attrs.evolve(self._func, bounds=(*self._func.bounds, bound)))


def _without(policies: tuple[Partitioned, ...], *loops: str) -> tuple[Partitioned, ...]:
    return tuple(one for one in policies if one.loop not in loops)


def _replaced(loops: tuple[Loop, ...], old: str, new: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """``loops`` with ``old`` replaced in place; innermost where there is no such loop."""
    for i, loop in enumerate(loops):
        if loop.name == old:
            return (*loops[:i], *new, *loops[i + 1 :])
    return (*loops, *new)
