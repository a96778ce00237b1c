"""Limits of variables in the promises of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from spaces.model.algorithm.pipeline import Promise
from spaces.model.expressions.expr import Expr, Op, Variable


@frozen
class Limit:
    """The promise that one variable is at least, at most, or exactly ``value``."""

    name: str
    value: Expr
    is_lower: bool
    is_upper: bool


def limits(promises: Iterable[Promise]) -> tuple[Limit, ...]:
    """The limits in promises of the forms ``variable >= e`` and ``variable <= e``."""
    found: dict[tuple[str, Expr], set[str]] = {}
    for promise in promises:
        match promise.condition:
            case Op(name="ge" | "le" as order, args=(Variable(name=name), value)):
                found.setdefault((name, value), set()).add(order)
            case _:
                pass
    return tuple(
        Limit(name, value, "ge" in orders, "le" in orders)
        for (name, value), orders in found.items()
    )
