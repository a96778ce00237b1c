"""Components that change together by an operator of their own: products of numbers of two parts,
and values that are combined with what was accumulated before them.
"""

from __future__ import annotations

from functools import reduce

from attrs import frozen

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Expr, Op, constant
from spaces.model.schedules.reductions.associative import (
    Part,
    by_operator,
    combined_with,
    following,
    identity,
    is_now,
    now,
    reads_own,
    why_inexact,
)


@frozen
class _Term:
    """A component of what there is, multiplied; ``operator`` adds or subtracts it."""

    operator: str
    factor: Expr


def product(function: Function, stage: Stage, group: tuple[int, ...]) -> Part | None:
    """``(a, b) * (c, d) = (a * c - b * d, b * c + a * d)``, the product of complex numbers. That is
    associative with a sum for the difference, too, and without ``b * d`` (dual numbers, which
    carry a derivative).
    """
    if len(group) != 2 or len({function.types[n] for n in group}) > 1:
        return None
    for real, other in (group, group[::-1]):
        found = _product(function, stage, real, other)
        if found is not None:
            return found
    return None


def _product(function: Function, stage: Stage, real: int, other: int) -> Part | None:
    first = _terms(function, stage, stage.values[real], (real, other))
    second = _terms(function, stage, stage.values[other], (real, other))
    if first is None or second is None or real not in first or len(second) < 2:
        return None
    factor, cross = first[real].factor, second[real].factor
    is_product = second[other].factor is factor and (
        other not in first or first[other].factor is cross
    )
    added = [first[real], *second.values()]
    if not is_product or any(term.operator != "add" for term in added):
        return None
    type = function.types[real]
    a, b, c, d = (of(function, n) for of in (now, following) for n in (real, other))
    whole: Expr = Op(type, "mul", (a, c))
    if other in first:
        whole = Op(type, first[other].operator, (whole, Op(type, "mul", (b, d))))
    mixed = Op(type, "add", (Op(type, "mul", (b, c)), Op(type, "mul", (a, d))))
    return Part(
        (real, other),
        (factor, cross),
        (constant(1, type), constant(0, type)),
        (whole, mixed),
        inexact=why_inexact("mul", type),
    )


def _terms(
    function: Function, stage: Stage, value: Expr, group: tuple[int, ...]
) -> dict[int, _Term] | None:
    """What a value adds up: components of what there is, each once and multiplied."""
    found: dict[int, _Term] = {}
    for operator, term in _summands("add", value):
        factors = _factors(term)
        which = [(n, f) for f in factors for n in group if is_now(function, stage, n, f)]
        others = [f for f in factors if not any(f is own for _, own in which)]
        if len(which) != 1 or which[0][0] in found or reads_own(function, *others):
            return None
        one = constant(1, value.type)
        factor = reduce(lambda a, b: Op(a.type, "mul", (a, b)), others) if others else one
        found[which[0][0]] = _Term(operator, factor)
    return found


def _summands(operator: str, value: Expr) -> tuple[tuple[str, Expr], ...]:
    """The terms of a sum, and whether each is added or subtracted."""
    if not isinstance(value, Op) or value.name not in ("add", "sub"):
        return ((operator, value),)
    first, second = value.args
    opposite = "add" if operator == "sub" else "sub"
    turned = operator if value.name == "add" else opposite
    return (*_summands(operator, first), *_summands(turned, second))


def _factors(value: Expr) -> tuple[Expr, ...]:
    if isinstance(value, Op) and value.name == "mul":
        return tuple(f for arg in value.args for f in _factors(arg))
    return (value,)


def running(function: Function, stage: Stage, group: tuple[int, ...]) -> Part | None:
    """``(a, b) * (c, d) = (a op c, a op d)``: the last value with all before it."""
    for key in group:
        own = by_operator(function, stage, key)
        if own is None:
            continue
        others = {
            n: combined_with(function, stage, key, stage.values[n]) for n in group if n != key
        }
        found = {key: own.operands[0]}
        found |= {n: o[1] for n, o in others.items() if o is not None and o[0] == own.operator}
        if len(found) == len(group) and len({function.types[n] for n in group}) == 1:
            return _running(function, own.operator, key, {n: found[n] for n in group})
    return None


def _running(function: Function, operator: str, key: int, operands: dict[int, Expr]) -> Part:
    type = function.types[key]
    return Part(
        tuple(operands),
        tuple(operands.values()),
        (identity(operator, type),) * len(operands),
        tuple(Op(type, operator, (now(function, key), following(function, n))) for n in operands),
        order="combines each value with those before it",
        of_some=True,
        inexact=why_inexact(operator, type),
    )
