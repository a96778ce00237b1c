"""What is allocated for a Func: its arrays, how large they are, and how they lie in memory."""

from __future__ import annotations

import operator
from functools import reduce

from attrs import frozen

from spaces.model.algorithm.pipeline import Function
from spaces.model.expressions.expr import Expr, component_names, constant
from spaces.model.expressions.types import Int32, Type
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.sliding import Storage
from spaces.model.schedules.schedule import FuncSchedule, LoopLevel, MemoryType


@frozen
class Allocation:
    """Storage of a Func: an array for each of ``types``, all of one shape. ``mins`` and ``extents``
    have an entry a dimension, in the order of the arguments. With a fold factor, coordinates count
    modulo the factor and the extent is the factor. ``order`` are the dimensions as they lie in
    memory, innermost first.
    """

    func: str
    types: tuple[Type, ...]
    level: LoopLevel
    memory: MemoryType
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


def allocated(
    function: Function, schedule: FuncSchedule, storage: Storage, simplify: Simplifier
) -> Allocation:
    """What is allocated for a Func that keeps ``storage``."""
    args = function.args
    ends = [(i.min, i.max) for i in storage.stored if i.min is not None and i.max is not None]
    folds = tuple(
        None if fold is None else _room(schedule, arg, fold, simplify)
        for arg, fold in zip(args, storage.folds, strict=True)
    )
    return Allocation(
        func=function.name,
        types=function.types,
        level=schedule.store,
        memory=schedule.memory,
        mins=tuple(low for low, _ in ends),
        extents=tuple(
            _room(schedule, arg, high - low + 1, simplify) if fold is None else fold
            for arg, (low, high), fold in zip(args, ends, folds, strict=True)
        ),
        folds=folds,
        order=memory_order(args, schedule.storage_orders),
    )


def _room(schedule: FuncSchedule, dimension: str, extent: Expr, simplify: Simplifier) -> Expr:
    """The stored values along a dimension that needs ``extent`` values."""
    for bound in schedule.storage_bounds:
        if bound.dimension == dimension:
            extent = constant(bound.extent, Int32)
    for pad in schedule.pads:
        if pad.dimension == dimension:
            multiple = constant(pad.multiple, Int32)
            extent = (extent + multiple - 1) / multiple * multiple
    return simplify(extent)
