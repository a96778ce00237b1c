"""Points that stand for any coordinate of a Func, and the condition that one lies in a box."""

from __future__ import annotations

from spaces.constraints.obligations.sites import Subject
from spaces.constraints.reasoning.formulas import within
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.types import Int32
from spaces.model.formulas.interval import Box


def point_of(func: str, names: tuple[str, ...]) -> dict[str, Expr]:
    """A variable for each Var or RVar of a Func, such as ``blur_x(y)``; not a loop variable."""
    return {name: Variable(Int32, f"{func}({name})") for name in names}


def free_names(point: dict[str, Expr]) -> frozenset[str]:
    """The names of the variables of a point."""
    return frozenset(v.name for v in point.values() if isinstance(v, Variable))


def in_box(subject: Subject, point: tuple[Expr, ...], box: Box) -> tuple[Expr, ...]:
    """The condition that a point lies in a box of formulas."""
    formula = subject.opaque.formula
    return tuple(
        condition
        for value, interval in zip(point, box, strict=True)
        if interval.min is not None and interval.max is not None
        for condition in within(value, formula(interval.min), formula(interval.max))
    )
