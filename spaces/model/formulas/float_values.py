"""Floats in formulas: whole numbers that a call computes from floats, such as ``int32(1.0 / p)``.

Arithmetic rounds after each operation in the type of the operands, as the reference and Halide with
strict floats do. So the numbers are the same bits as in compiled code.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from spaces.model.expressions.expr import Cast, Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.types import Type

GROWING: Mapping[str, Callable[..., Any]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}
"""Functions of one float that never decrease."""

_OPERATORS: Mapping[str, Callable[..., Any]] = {
    **GROWING,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": lambda a, b: np.where(a < b, a, b),
    "max": lambda a, b: np.where(a > b, a, b),
    "abs": np.abs,
    "select": np.where,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}

_OF_LOOP = re.compile(r"\.s\d+\.")
"""Matches the names of loop variables, such as ``f.s0.x``."""

LARGEST_EXPONENT = 30
"""A float of a call from which coordinates are made lies below two to this power, and a divisor
above its reciprocal; then no arithmetic in :func:`is_limited` overflows.
"""

_OF_WHOLE = 64
"""No integer has a magnitude above two to this power."""

_MOST_EXPONENT = {32: 127, 64: 1023}


def touches_floats(node: Expr) -> bool:
    """Whether a node is a float or is made from one."""
    return node.type.is_float or any(child.type.is_float for child in node.children)


@lru_cache(maxsize=4096)
def has_value(expr: Expr) -> bool:
    """Whether all arithmetic of floats in an expression without reads has a value here."""
    return not expr.loads and all(map(_is_known, walk(expr)))


def _is_known(node: Expr) -> bool:
    if not touches_floats(node):
        return True
    is_kind = not node.type.is_float or node.type.bits in _MOST_EXPONENT
    known = isinstance(node, Const | Variable | Cast)
    return is_kind and node.type.lanes == 1 and (known or _is_operator(node))


def _is_operator(node: Expr) -> bool:
    return isinstance(node, Op) and node.name in _OPERATORS


def float_value(node: Expr, operands: Sequence[Any]) -> Any:
    """The value of one node that :func:`touches_floats`, but of no variable, from those of its
    operands: an array of its type.
    """
    types = [child.type for child in node.children]
    given = [np.asarray(v, type.dtype) for v, type in zip(operands, types, strict=True)]
    with np.errstate(all="ignore"):
        match node:
            case Const():
                return np.asarray(node.value, node.type.dtype)
            case Cast() if node.type.is_float:
                return given[0].astype(node.type.dtype)
            case Cast():
                return _truncated(node.type, given[0])
            case Op(name=name):
                return _OPERATORS[name](*given)
    raise TypeError(f"`{node}` is no arithmetic of floats.")


def float_literal(node: Expr) -> Const | None:
    """The value of an operator that makes a float of literals; None if it is another node, or its
    value is not finite.
    """
    if not (node.type.is_float and isinstance(node, Op) and _is_known(node)):
        return None
    values = [child.value for child in node.children if isinstance(child, Const)]
    if len(values) < len(node.children):
        return None
    found = float(float_value(node, values))
    return constant(found, node.type) if math.isfinite(found) else None


def _truncated(target: Type, value: Any) -> Any:
    """A float truncated toward zero and limited to a type; 0 for NaN."""
    whole = np.trunc(value.astype(np.float64))
    low, high = float(target.min_value), float(target.max_value + 1)
    inside = np.where((whole > low) & (whole < high), whole, 0.0).astype(target.dtype)
    limited = np.where(whole <= low, np.asarray(target.min_value, target.dtype), inside)
    return np.where(whole >= high, np.asarray(target.max_value, target.dtype), limited)


def made_from_floats(*exprs: Expr) -> Iterator[Expr]:
    """The outermost nodes of integer formulas that are made from floats."""
    seen: set[Expr] = set()
    waiting = [expr for expr in exprs if expr.has_floats]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if touches_floats(node):
            yield node
        else:
            waiting += (child for child in node.children if child.has_floats)


def is_limited(end: Expr) -> bool:
    """Whether no arithmetic in a float overflows, and so gives NaN, while the conditions of
    :func:`limits_of_floats` hold.
    """
    return _exponent(end) is not None


@lru_cache(maxsize=4096)
def _exponent(node: Expr) -> int | None:
    """A float, and every float that it is made from, has a magnitude of at most two to this power;
    None if it may be beyond its type.
    """
    if not node.type.is_float:
        return _OF_WHOLE
    found = _LEAF if is_float_of_call(node) else _exponent_of(node)
    return None if found is None or found > _MOST_EXPONENT.get(node.type.bits, 0) else found


_LEAF = LARGEST_EXPONENT


def _exponent_of(node: Expr) -> int | None:
    if isinstance(node, Const):
        return _of_number(float(node.value))
    parts = [_exponent(child) for child in node.children if not child.type.is_bool]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    match node:
        case Op(name="mul"):
            return sum(known)
        case Op(name="div", args=(_, Const(value=divisor))) if divisor:
            return known[0] + (_of_number(1 / divisor) or 0)
        case Op(name="div", args=(_, divisor)) if is_float_of_call(divisor):
            return known[0] + LARGEST_EXPONENT
        case Op(name="div"):
            return None
        case Cast() | Op():
            return max(known, default=0) + 1
    return None


def _of_number(value: float) -> int | None:
    if not math.isfinite(value):
        return None
    return max(0, math.frexp(value)[1])


def is_float_of_call(node: Expr) -> bool:
    """Whether a float depends on parameters and sizes of a call only, and on one at least."""
    return bool(node.names) and node.type.is_float and not node.loads and not has_loops(node)


def has_loops(node: Expr) -> bool:
    """Whether a formula has loop variables, such as ``f.s0.x``."""
    return any(map(_OF_LOOP.search, node.names))


def limits_of_floats(*exprs: Expr) -> tuple[Expr, ...]:
    """The conditions under which no arithmetic of the floats in integer formulas overflows: what a
    call computes from parameters and sizes is not too large, and divisors are not too small.
    """
    found: dict[Expr, None] = {}
    for node in walk(*made_from_floats(*exprs)):
        if is_float_of_call(node) and not _is_choice(node):
            low, high = (constant(s * 2.0**LARGEST_EXPONENT, node.type) for s in (-1, 1))
            found[(node >= low) & (node <= high)] = None
        elif isinstance(node, Op) and node.name == "div" and is_float_of_call(node.args[1]):
            low, high = (constant(s * 2.0**-LARGEST_EXPONENT, node.type) for s in (-1, 1))
            found[(node.args[1] <= low) | (node.args[1] >= high)] = None
    return tuple(found)


def _is_choice(node: Expr) -> bool:
    """Whether a float is one of its operands, or a whole number."""
    is_operand = isinstance(node, Op) and node.name in ("min", "max", "select")
    return is_operand or isinstance(node, Cast)
