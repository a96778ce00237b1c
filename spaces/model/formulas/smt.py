"""Reads formulas as z3 terms.

z3 has no type annotations; ``Any`` for its terms stays in this module.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import z3

from spaces.model.deadline import ask_clock, time_left
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.operators import BITWISE, INFIX
from spaces.model.expressions.types import Type
from spaces.model.formulas.algebra import Reading, read_all
from spaces.model.formulas.float_values import made_from_floats

log = logging.getLogger("spaces.solver")

Term: TypeAlias = Any
"""A z3 integer or boolean term; z3 has no types of its own."""


def new_context() -> z3.Context:
    """A new z3 context for terms and solvers, independent of other contexts; this takes about 2 ms.

    Only one thread at a time may use a context. A new context for each question keeps threads
    apart, and makes answers independent of earlier questions.
    """
    context = z3.Context()
    # Python may collect terms in any thread, also while a solver of the context is at work.
    z3.Z3_enable_concurrent_dec_ref(context.ref())
    return context


NO_TIMEOUT = 2**32 - 1
"""The time limit of a solver without one, in milliseconds: z3's own default."""


def answer(solver: Term, *assumed: Term, timeout_ms: int = NO_TIMEOUT) -> Term:
    """Whether the assertions of a solver have a model in which all of ``assumed`` hold. The answer
    is ``unknown`` after ``timeout_ms``.

    Raises:
        OutOfTime: a deadline around this call is past; z3 stops at the deadline, too.
    """
    ask_clock()
    solver.set("timeout", max(1, int(min(timeout_ms, 1000 * time_left()))))
    found = solver.check(*assumed)
    if found == z3.unknown:
        log.debug("z3 gives up: %s", solver.reason_unknown())
        ask_clock()
    return found


def _divide(a: Term, b: Term) -> Term:
    # z3's integer division rounds like ours for both signs, but division by zero is unspecified.
    if z3.is_int_value(b):
        return a / b if b.as_long() else z3.IntVal(0, b.ctx)
    return z3.If(b == 0, 0, a / b)


def _modulo(a: Term, b: Term) -> Term:
    if z3.is_int_value(b):
        return a % b if b.as_long() else z3.IntVal(0, b.ctx)
    return z3.If(b == 0, 0, a % b)


def _convert(type: Type, value: Term) -> Term:
    if type.is_bool:
        return value if z3.is_bool(value) else value % 2 != 0
    if z3.is_bool(value):
        return _number(value)
    return (value - type.min_value) % (1 << type.bits) + type.min_value


def _bits(combine: Callable[[Term, Term], Term], a: Term, b: Term) -> Term:
    """A bitwise operator on numbers of at most 64 bits."""
    return z3.BV2Int(combine(z3.Int2BV(a, 64), z3.Int2BV(b, 64)), is_signed=True)


def _power(exponent: Term) -> Term:
    """Two to the power of ``exponent``, from 0 on; exponents above 63 all give ``2**64``."""
    result = z3.IntVal(1 << 64, exponent.ctx)
    for number in range(64):
        result = z3.If(exponent == number, 1 << number, result)
    return result


def _truth(value: Term) -> Term:
    return value if z3.is_bool(value) else value != 0


def _number(value: Term) -> Term:
    return z3.If(value, 1, 0) if z3.is_bool(value) else value


def _alike(combine: Callable[[Term, Term], Term]) -> Callable[[Term, Term], Term]:
    """``combine`` of two conditions, or of two numbers; a mixed pair becomes numbers."""

    def combined(a: Term, b: Term) -> Term:
        both = z3.is_bool(a) and z3.is_bool(b)
        return combine(a, b) if both else combine(_number(a), _number(b))

    return combined


def _numbers(combine: Callable[[Term, Term], Term]) -> Callable[[Term, Term], Term]:
    """``combine`` of two numbers; a condition counts as 0 or 1."""
    return lambda a, b: combine(_number(a), _number(b))


_OPERATORS: Mapping[str, Callable[..., Term]] = MappingProxyType(
    {
        **{name: INFIX[name].applied for name in ("add", "sub", "mul")},
        "div": _divide,
        "mod": _modulo,
        "min": _numbers(lambda a, b: z3.If(a <= b, a, b)),
        "max": _numbers(lambda a, b: z3.If(a >= b, a, b)),
        "abs": lambda a: z3.If(a >= 0, a, -a),
        **{name: _numbers(INFIX[name].applied) for name in ("lt", "le", "gt", "ge")},
        **{name: _alike(INFIX[name].applied) for name in ("eq", "ne")},
        "and": lambda a, b: z3.And(_truth(a), _truth(b)),
        "or": lambda a, b: z3.Or(_truth(a), _truth(b)),
        "not": lambda a: z3.Not(_truth(a)),
        "select": lambda condition, a, b: _alike(lambda p, q: z3.If(_truth(condition), p, q))(a, b),
        **{name: partial(_bits, INFIX[name].applied) for name in BITWISE},
        "shift_left": lambda a, by: z3.If(by >= 0, a * _power(by), a / _power(-by)),
        "shift_right": lambda a, by: z3.If(by >= 0, a / _power(by), a * _power(-by)),
    }
)


def _reading(context: z3.Context) -> Reading[Term]:
    return Reading(partial(z3.IntVal, ctx=context), _convert, _OPERATORS)


def _of_floats(formula: Expr, context: z3.Context, done: dict[Expr, Term]) -> None:
    """Adds unknown numbers and conditions for what is made from floats."""
    for node in made_from_floats(formula):
        if node not in done:
            unknown = z3.Bool if node.type.is_bool else z3.Int
            done[node] = unknown(f"float {node.digest}", context)


def term(formula: Expr, values: Mapping[str, Term], context: z3.Context) -> Term:
    """``formula`` as a z3 term; ``values`` are the terms of its parameters, all in ``context``.
    What is made from floats is unknown.
    """
    done: dict[Expr, Term] = {}
    _of_floats(formula, context, done)
    return read_all((formula,), values, _reading(context), done)[0]


def condition(
    formula: Expr,
    values: Mapping[str, Term],
    context: z3.Context,
    done: dict[Expr, Term] | None = None,
) -> Term:
    """A boolean ``formula`` as a z3 condition; all terms are in ``context``. Calls with the same
    ``done`` share the terms of common parts. What is made from floats is unknown.
    """
    done = {} if done is None else done
    _of_floats(formula, context, done)
    return _truth(read_all((formula,), values, _reading(context), done)[0])
