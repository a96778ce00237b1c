"""Splits of whole dimensions whose last tile is shifted inwards, so that tiles overlap."""

from __future__ import annotations

from attrs import frozen

from spaces.model.algorithm.pipeline import Function
from spaces.model.expressions.expr import Expr
from spaces.model.nest.splits import factor_expr, resolved_tails, tail_of_writes
from spaces.model.schedules.domain_order import Split, Tail
from spaces.model.schedules.schedule import FuncSchedule


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
