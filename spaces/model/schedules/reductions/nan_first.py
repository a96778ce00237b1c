"""A component that keeps its least or greatest value until a NaN comes, which then stays:
``select(is_nan(f) | (f > e), f, e)``.
"""

from __future__ import annotations

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Expr, Op
from spaces.model.expressions.types import Bool
from spaces.model.schedules.reductions.associative import (
    Part,
    following,
    identity,
    is_now,
    now,
    reads_own,
)

_KEPT = {"gt": "max", "ge": "max", "lt": "min", "le": "min"}
"""The reduction, by the comparison of the kept value with the next one."""

ZEROS = "the order decides which of a zero and a negative zero stays"
"""Why such a component depends on the order of what it compares."""

_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def nan_first(function: Function, stage: Stage, number: int) -> Part | None:
    """The part of such a component. Either of two zeros may stay, and either of two NaNs."""
    match stage.values[number]:
        case Op(
            name="select",
            args=(Op(name="or", args=(Op(name="is_nan", args=(asked,)), Op() as test)), kept, next),
        ) if asked is kept and is_now(function, stage, number, kept):
            order = _order(test, kept, next)
        case _:
            return None
    if order not in _KEPT or reads_own(function, next):
        return None
    type, old, new = function.types[number], now(function, number), following(function, number)
    stays = Op(Bool, "or", (Op(Bool, "is_nan", (old,)), Op(Bool, order, (old, new))))
    pattern = Op(type, "select", (stays, old, new))
    return Part(
        (number,),
        (next,),
        (identity(_KEPT[order], type),),
        (pattern,),
        inexact=ZEROS,
    )


def _order(test: Op, kept: Expr, next: Expr) -> str:
    """How ``kept`` is compared with ``next``; nothing where it is not."""
    match test.args:
        case (a, b) if a is kept and b is next:
            return test.name
        case (a, b) if b is kept and a is next:
            return _MIRRORED.get(test.name, "")
    return ""
