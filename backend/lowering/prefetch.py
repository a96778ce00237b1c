"""Prefetch statements: one for each cache line of the innermost dimension, in loops over the other
dimensions.
"""

from __future__ import annotations

from spaces.backend.ir.statements import For, If, Prefetch, Statement, block
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Variable, constant
from spaces.model.expressions.types import Int32, Type
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.prefetching import Ahead, ahead
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import LoopKind, Partition

LINE_BYTES = 64
"""The size of a cache line, in bytes, on all supported hosts."""


def prefetches(bounds: Bounds, loop: LoopVar) -> tuple[Statement, ...]:
    """The prefetches at the start of each iteration of a loop."""
    return tuple(
        _prefetch(bounds, f"{loop.var.name}.ahead{number}", one)
        for number, one in enumerate(ahead(bounds, loop))
    )


def _prefetch(bounds: Bounds, name: str, one: Ahead) -> Statement:
    pipeline = bounds.pipeline
    images = {i.name: i for i in pipeline.images}
    if one.target in images:
        arrays: tuple[tuple[str, Type], ...] = ((one.target, images[one.target].type),)
    else:
        function = pipeline.function(one.target)
        arrays = tuple(zip(function.buffers, function.types, strict=True))
    parts = (_lines(f"{name}.{buffer}", buffer, type, one) for buffer, type in arrays)
    found = block(*parts)
    return found if one.condition is None else If(one.condition, found)


def _lines(name: str, buffer: str, type: Type, one: Ahead) -> Statement:
    at: list[Expr] = []
    loops: list[tuple[Variable, Expr]] = []
    for d, interval in enumerate(one.box):
        low, high = interval.min, interval.max
        if low is None or high is None:
            raise ValueError(f"The region of {buffer} to prefetch has no limits.")
        var = Variable(Int32, f"{name}.{d}")
        step = max(1, LINE_BYTES // type.bytes) if d == 0 else 1
        at.append(fn.min(low + var * step, high) if step > 1 else low + var)
        # A line may begin at any element, so one more line holds the last value.
        loops.append((var, (high - low + step - 1) / step + 1 if step > 1 else high - low + 1))
    result: Statement = Prefetch(buffer, tuple(at))
    for var, extent in loops:
        result = For(
            var, constant(0, Int32), extent, LoopKind.SERIAL, result, partition=Partition.NEVER
        )
    return result
