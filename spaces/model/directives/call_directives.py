"""Directives about the values of the selected Func: where they are computed and stored, and how."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

import attrs
from attrs import frozen

from spaces.model.algorithm.func import Func
from spaces.model.directives.declaration import DIRECTIVES, Directive, directive
from spaces.model.directives.directive_arguments import (
    Alignments,
    Name,
    alignments_of,
    factor_of,
    member_of,
    name_of,
    whole_of,
)
from spaces.model.directives.selection import Selection
from spaces.model.schedules.domain_order import Factor
from spaces.model.schedules.schedule import (
    INLINE,
    ROOT,
    Alignment,
    Bound,
    Companion,
    Fold,
    LoopAlign,
    LoopLevel,
    MemoryType,
    Pad,
    StageOf,
    StorageBound,
)


@frozen
class CallDirectives(Selection):
    """Directives that change where the selected Func is computed and stored, how its storage is
    laid out, and what of it is computed.
    """

    @directive()
    def compute_inline(self) -> Self:
        """Substitute the Func into its consumers."""
        return self._compute(INLINE)

    @directive()
    def compute_root(self) -> Self:
        """Compute all of the Func before any consumer runs."""
        return self._compute(ROOT)

    @directive()
    def compute_at(self, func: str | Func, loop: Name) -> Self:
        """Compute what one iteration of that loop needs, at its start.

        Storage follows unless ``store_at`` or ``store_root`` has put it elsewhere.
        """
        return self._compute(LoopLevel(name_of(func), name_of(loop)))

    def _compute(self, level: LoopLevel) -> Self:
        follows = self._func.store == self._func.compute and self.selected not in self.placed
        store = level if follows or level.is_inline else self._func.store
        return self._with_func(attrs.evolve(self._func, compute=level, store=store))

    @directive(
        Companion, parts={"align": "alignment"}, shown={"align": LoopAlign.ALIGN_START.qualified}
    )
    def compute_with(
        self, other: str | Func | StageOf, loop: Name, align: Alignments = LoopAlign.AUTO
    ) -> Self:
        """Fuse the loops of a stage with those of a stage of another Func, from the outermost to
        ``loop``; ``align`` says of ``loop``, or of each loop named, which iterations come together.
        """
        target = other if isinstance(other, StageOf) else StageOf(name_of(other))
        companion = Companion(target, name_of(loop), alignments_of(loop, align), self.stage)
        companions = (*self._func.companions, companion)
        return self._with_func(attrs.evolve(self._func, companions=companions))

    @directive()
    def store_at(self, func: str | Func, loop: Name) -> Self:
        """Allocate the storage at that loop, at or outside the compute level."""
        return self._store(LoopLevel(name_of(func), name_of(loop)))

    @directive()
    def store_root(self) -> Self:
        """Allocate the storage outside all loops."""
        return self._store(ROOT)

    def _store(self, level: LoopLevel) -> Self:
        placed = attrs.evolve(self, placed=self.placed | {self.selected})
        return placed._with_func(attrs.evolve(self._func, store=level))

    @directive(shown={"memory": MemoryType.STACK.qualified})
    def store_in(self, memory: MemoryType | str) -> Self:
        """Choose the kind of memory."""
        return self._with_func(attrs.evolve(self._func, memory=member_of(MemoryType, memory)))

    @directive()
    def hoist_storage(self, func: str | Func, loop: Name) -> Self:
        """Obtain the memory for the storage at that loop, at or outside the store level, once for
        all that is stored inside. No values are kept for longer.
        """
        return self._hoisted(LoopLevel(name_of(func), name_of(loop)))

    @directive()
    def hoist_storage_root(self) -> Self:
        """Obtain the memory for the storage outside all loops."""
        return self._hoisted(ROOT)

    def _hoisted(self, level: LoopLevel) -> Self:
        return self._with_func(attrs.evolve(self._func, hoist=level))

    @directive(setting="memoized")
    def memoize(self) -> Self:
        """Keep the values for later visits and calls, with what they depend on: the values of
        Params, and where and how much of the Func is computed. The next time all of these are the
        same, copy the values and compute nothing.
        """
        return self._with_func(attrs.evolve(self._func, memoized=True))

    @directive(setting="asynchronous")
    def async_(self) -> Self:
        """Allow that other threads compute the Func while its readers run, and wait for what they
        read.

        Halide does so. Code of this library computes the Func before its readers, with the same
        values; the verdict on the schedule says so.
        """
        return self._with_func(attrs.evolve(self._func, asynchronous=True))

    @directive(setting="ring")
    def ring_buffer(self, extent: int) -> Self:
        """Let the hoisted memory hold the values of ``extent`` iterations, each in its own place;
        later iterations take these places in turn.
        """
        return self._with_func(attrs.evolve(self._func, ring=whole_of(extent)))

    @directive(Fold, parts={"fold_forward": "forward"})
    def fold_storage(self, dimension: Name, factor: Factor, fold_forward: bool = True) -> Self:
        """Keep only ``factor`` values along a dimension, reused in a circle, while what is read
        moves up along it; or down, without ``fold_forward``.
        """
        fold = Fold(name_of(dimension), factor_of(factor), fold_forward)
        return self._with_func(attrs.evolve(self._func, folds=(*self._func.folds, fold)))

    @directive()
    def reorder_storage(self, *dimensions: Name) -> Self:
        """Lay the named dimensions out in this order, innermost first, in the places they hold."""
        order = tuple(name_of(d) for d in dimensions)
        orders = (*self._func.storage_orders, order)
        return self._with_func(attrs.evolve(self._func, storage_orders=orders))

    @directive(Pad)
    def align_storage(self, dimension: Name, multiple: int) -> Self:
        """Pad a dimension of the storage, so that the strides of those outside of it are multiples
        of ``multiple`` values.
        """
        pad = Pad(name_of(dimension), whole_of(multiple))
        return self._with_func(attrs.evolve(self._func, pads=(*self._func.pads, pad)))

    @directive(StorageBound, parts={"bound": "extent"})
    def bound_storage(self, dimension: Name, bound: int) -> Self:
        """Store exactly ``bound`` values along a dimension; more must never be needed."""
        limit = StorageBound(name_of(dimension), whole_of(bound))
        limits = (*self._func.storage_bounds, limit)
        return self._with_func(attrs.evolve(self._func, storage_bounds=limits))

    @directive(Bound)
    def bound(self, dimension: Name, min: int, extent: int) -> Self:
        """Compute ``extent`` coordinates from ``min`` on of a dimension, whatever is required."""
        return self._bounded(Bound(name_of(dimension), whole_of(min), whole_of(extent)))

    @directive(Bound)
    def bound_extent(self, dimension: Name, extent: int) -> Self:
        """Compute ``extent`` coordinates of a dimension, from the first that is required on."""
        return self._bounded(Bound(name_of(dimension), None, whole_of(extent)))

    @directive(Alignment)
    def align_bounds(self, dimension: Name, modulus: int, remainder: int = 0) -> Self:
        """Compute as much more of a dimension as makes its first coordinate ``remainder`` modulo
        ``modulus``, and its extent a multiple of ``modulus``.
        """
        whole = whole_of(modulus), whole_of(remainder)
        return self._bounded(Alignment(name_of(dimension), *whole))

    @directive(Alignment)
    def align_extent(self, dimension: Name, modulus: int) -> Self:
        """Compute as much more of a dimension as makes its extent a multiple of ``modulus``."""
        return self._bounded(Alignment(name_of(dimension), whole_of(modulus), None))

    def _bounded(self, bound: Bound | Alignment) -> Self:
        return self._with_func(attrs.evolve(self._func, bounds=(*self._func.bounds, bound)))


FLAGS: Mapping[str, Directive] = MappingProxyType(
    {one.setting: one for one in DIRECTIVES.values() if one.setting and not one.parameters}
)
"""The directives that take no argument and set one field of a Func's schedule. The field is the
key.
"""
