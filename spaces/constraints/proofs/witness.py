"""Finds the iteration that visits a point: undoes splits and fuses, from the Vars to the loops.

The nest gives coordinates as expressions of loops. Here loops are expressions of coordinates, made
from the schedule's records alone, so that a mistake in one direction contradicts the other.
"""

from __future__ import annotations

from collections.abc import Mapping

from spaces.model.algorithm.pipeline import Stage
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.nest.splits import factor_expr, resolved_tails, tail_of_writes
from spaces.model.schedules.domain_order import DomainOrder, Fuse, Split, Tail

Span = tuple[Expr, Expr]
"""The first value of a loop and the number of its values."""

_ZERO = constant(0, Int32)
_ONE = constant(1, Int32)


def witness(
    stage: Stage,
    order: DomainOrder,
    is_update: bool,
    spans: Mapping[str, Span],
    point: Mapping[str, Expr],
) -> dict[str, Expr]:
    """The value of each final loop in the iteration that visits ``point``, given the span of each
    Var and RVar of the stage.
    """
    spans = {**spans, **dict.fromkeys(order.once, (_ZERO, _ONE))}
    values = {**point, **dict.fromkeys(order.once, _ZERO)}
    tails = resolved_tails(stage, order, is_update)
    for record, tail in zip(order.splits, tails, strict=True):
        if isinstance(record, Fuse):
            _fuse(record, spans, values)
        else:
            _split(record, tail, spans, values)
    return values


def _split(record: Split, tail: Tail, spans: dict[str, Span], values: dict[str, Expr]) -> None:
    low, extent = spans.pop(record.old)
    offset = values.pop(record.old) - low
    factor = factor_expr(record.factor)
    tile = offset / factor
    start = tile * factor
    if tail_of_writes(tail) is Tail.SHIFT_INWARDS:
        start = fn.min(start, extent - factor)
    spans[record.outer] = (_ZERO, (extent + factor - 1) / factor)
    spans[record.inner] = (_ZERO, factor)
    values[record.outer] = tile
    values[record.inner] = offset - start


def _fuse(record: Fuse, spans: dict[str, Span], values: dict[str, Expr]) -> None:
    inner, outer = spans.pop(record.inner), spans.pop(record.outer)
    row = values.pop(record.outer) - outer[0]
    column = values.pop(record.inner) - inner[0]
    spans[record.fused] = (_ZERO, inner[1] * outer[1])
    values[record.fused] = row * inner[1] + column
