"""Formulas read as z3 terms; with :mod:`spaces.constraints` the only user of z3, which has no
type annotations, so that ``Any`` for its terms stays in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import z3

from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Type
from spaces.model.formulas.algebra import Reading, read, read_all

Term: TypeAlias = Any
"""A z3 integer or boolean term."""


def _divide(a: Term, b: Term) -> Term:
    # z3's integer division rounds like ours for both signs, but division by zero is unspecified.
    if z3.is_int_value(b):
        return a / b if b.as_long() else z3.IntVal(0)
    return z3.If(b == 0, z3.IntVal(0), a / b)


def _modulo(a: Term, b: Term) -> Term:
    if z3.is_int_value(b):
        return a % b if b.as_long() else z3.IntVal(0)
    return z3.If(b == 0, z3.IntVal(0), a % b)


def _convert(type: Type, value: Term) -> Term:
    if type.is_bool:
        return value if z3.is_bool(value) else value % 2 != 0
    if z3.is_bool(value):
        return _number(value)
    return (value - type.min_value) % (1 << type.bits) + type.min_value


def _bits(a: Term, b: Term, combine: Callable[[Term, Term], Term]) -> Term:
    """Bits of numbers of at most 64 bits."""
    return z3.BV2Int(combine(z3.Int2BV(a, 64), z3.Int2BV(b, 64)), is_signed=True)


def _power(exponent: Term) -> Term:
    """Two to the power of a number that is not negative, as far as a number of 64 bits tells one
    from the next.
    """
    result = z3.IntVal(1 << 64)
    for number in range(64):
        result = z3.If(exponent == number, z3.IntVal(1 << number), result)
    return result


def _truth(value: Term) -> Term:
    return value if z3.is_bool(value) else value != 0


def _number(value: Term) -> Term:
    return z3.If(value, z3.IntVal(1), z3.IntVal(0)) if z3.is_bool(value) else value


def _alike(combine: Callable[[Term, Term], Term]) -> Callable[[Term, Term], Term]:
    """``combine`` of two conditions as such, and of what else there is as numbers."""

    def combined(a: Term, b: Term) -> Term:
        both = z3.is_bool(a) and z3.is_bool(b)
        return combine(a, b) if both else combine(_number(a), _number(b))

    return combined


def _numbers(combine: Callable[[Term, Term], Term]) -> Callable[[Term, Term], Term]:
    """``combine`` of numbers, which conditions are too: 0 or 1."""
    return lambda a, b: combine(_number(a), _number(b))


TERMS: Reading[Term] = Reading(
    literal=z3.IntVal,
    convert=_convert,
    operators={
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": _divide,
        "mod": _modulo,
        "min": _numbers(lambda a, b: z3.If(a <= b, a, b)),
        "max": _numbers(lambda a, b: z3.If(a >= b, a, b)),
        "abs": lambda a: z3.If(a >= 0, a, -a),
        "lt": _numbers(lambda a, b: a < b),
        "le": _numbers(lambda a, b: a <= b),
        "gt": _numbers(lambda a, b: a > b),
        "ge": _numbers(lambda a, b: a >= b),
        "eq": _alike(lambda a, b: a == b),
        "ne": _alike(lambda a, b: a != b),
        "and": lambda a, b: z3.And(_truth(a), _truth(b)),
        "or": lambda a, b: z3.Or(_truth(a), _truth(b)),
        "not": lambda a: z3.Not(_truth(a)),
        "select": lambda condition, a, b: _alike(lambda p, q: z3.If(_truth(condition), p, q))(a, b),
        "bit_and": lambda a, b: _bits(a, b, lambda p, q: p & q),
        "bit_or": lambda a, b: _bits(a, b, lambda p, q: p | q),
        "bit_xor": lambda a, b: _bits(a, b, lambda p, q: p ^ q),
        "shift_left": lambda a, by: z3.If(by >= 0, a * _power(by), a / _power(-by)),
        "shift_right": lambda a, by: z3.If(by >= 0, a / _power(by), a * _power(-by)),
    },
)


def term(formula: Expr, values: Mapping[str, Term]) -> Term:
    """``formula`` as a z3 term over the terms given for its parameters."""
    return read(formula, values, TERMS)


def condition(
    formula: Expr, values: Mapping[str, Term], done: dict[Expr, Term] | None = None
) -> Term:
    """A boolean ``formula`` as a z3 condition; terms of parts are shared by all calls with the same
    ``done``.
    """
    return _truth(read_all((formula,), values, TERMS, done)[0])
