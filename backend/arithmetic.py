"""Halide's arithmetic on NumPy arrays: one function for each operator, exact in the element type.

All operands have one dtype, and the result keeps it: nothing is promoted, float32 stays float32.

- Integers wrap modulo 2**bits. For signed integers of 32 and 64 bits, Halide calls overflow
  undefined; here it wraps, as Halide's code does.
- Integer ``div`` rounds so that the remainder ``mod`` lies in ``[0, abs(divisor))``; both are 0
  for a zero divisor; the smallest integer divided by -1 wraps to itself.
- Float ``mod`` is ``a - b * floor(a / b)``.
- ``min`` is ``a if a < b else b`` and ``max`` is ``a if a > b else b``. Both give ``b`` where
  either is NaN or both are zeros: they are the x86 instructions, as in Halide with strict_float.
- Booleans are one-bit integers: ``add`` and ``sub`` are exclusive or, a cast to bool keeps the
  lowest bit.
- A shift by the width of the type or more gives 0, or copies of the sign bit; a negative amount
  shifts the other way. Halide leaves large shifts undefined.
- A cast of a float to an integer truncates toward zero. Halide leaves a value out of range
  undefined; here it becomes the nearest integer of the type, and NaN becomes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Cast, Const, Expr, Op, Variable, walk
from spaces.model.expressions.intrinsics import INTRINSICS
from spaces.model.expressions.types import Type

Array: TypeAlias = NDArray[Any]


def convert(target: Type, value: Array) -> Array:
    """``value`` cast to ``target``, as :class:`spaces.model.expressions.expr.Cast` does."""
    if target.is_float or value.dtype.kind != "f":
        if target.is_bool and value.dtype.kind != "b":
            return np.asarray((value & 1).astype(bool))
        return np.asarray(value.astype(target.dtype))
    whole = np.trunc(value)
    # Both limits are powers of two (or 0), hence exact in any float type.
    below = whole <= float(target.min_value)
    above = whole >= float(target.max_value + 1)
    inside = np.where(below | above | np.isnan(whole), whole.dtype.type(0), whole)
    element = target.dtype.type
    limited = np.where(below, element(target.min_value), inside.astype(target.dtype))
    return np.where(above, element(target.max_value), limited)


def _add(a: Array, b: Array) -> Array:
    return np.logical_xor(a, b) if a.dtype.kind == "b" else np.add(a, b)


def _sub(a: Array, b: Array) -> Array:
    return np.logical_xor(a, b) if a.dtype.kind == "b" else np.subtract(a, b)


def _div(a: Array, b: Array) -> Array:
    match a.dtype.kind:
        case "f":
            return np.divide(a, b)
        case "b":
            return np.logical_and(a, b)
        case "u":
            return np.floor_divide(a, b)
    quotient = np.floor_divide(a, b)
    # The floor leaves a negative remainder under a negative divisor: one more fits.
    return quotient if np.all(b > 0) else np.add(quotient, np.remainder(a, b) < 0, dtype=a.dtype)


def _mod(a: Array, b: Array) -> Array:
    match a.dtype.kind:
        case "f":
            return np.subtract(a, np.multiply(b, np.floor(np.divide(a, b))))
        case "b":
            return np.zeros_like(np.logical_and(a, b))
        case "u":
            return np.remainder(a, b)
    remainder = np.remainder(a, b)
    return np.where(remainder < 0, np.subtract(remainder, b), remainder)


def _min(a: Array, b: Array) -> Array:
    return np.where(a < b, a, b) if a.dtype.kind == "f" else np.minimum(a, b)


def _max(a: Array, b: Array) -> Array:
    return np.where(a > b, a, b) if a.dtype.kind == "f" else np.maximum(a, b)


def _abs(a: Array) -> Array:
    if a.dtype.kind != "i":
        return np.abs(a)
    return np.abs(a).astype(f"u{a.dtype.itemsize}")


def _shift_left(a: Array, by: Array) -> Array:
    return _shift(a, by, 1)


def _shift_right(a: Array, by: Array) -> Array:
    return _shift(a, by, -1)


def _shift(a: Array, by: Array, direction: int) -> Array:
    """``a * 2**(by * direction)``; an amount of the width of the type or more gives 0 or -1."""
    most = 8 * a.dtype.itemsize
    wide = by.astype(np.int64) if by.dtype.kind == "i" else np.minimum(by, most).astype(np.int64)
    steps = np.clip(wide, -most, most) * direction
    up, down = np.clip(steps, 0, most - 1), np.clip(-steps, 0, most - 1)
    left = np.where(steps >= most, a.dtype.type(0), np.left_shift(a, up.astype(a.dtype)))
    right = np.right_shift(a, down.astype(a.dtype))
    if a.dtype.kind == "u":
        right = np.where(steps <= -most, a.dtype.type(0), right)
    return np.asarray(np.where(steps >= 0, left, right))


OPERATORS: Mapping[str, Callable[..., Array]] = {
    "add": _add,
    "sub": _sub,
    "mul": np.multiply,
    "div": _div,
    "mod": _mod,
    "min": _min,
    "max": _max,
    "abs": _abs,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "select": np.where,
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    **{name: one.array for name, one in INTRINSICS.items()},
}
"""The array function of every operator of :data:`spaces.model.expressions.signatures.OPERATORS`
except ``reinterpret``; only :func:`operate` has the type that ``reinterpret`` needs.

``sin`` to ``pow`` and ``asin`` to ``atanh`` are NumPy's functions in the operand's type; other
implementations differ by a few units in the last place. All other operators are exact.
"""


def operate(name: str, result: Type, operands: Sequence[Array]) -> Array:
    """The value of an operator whose result has the type ``result``."""
    if name == "reinterpret":
        (value,) = operands
        return np.ascontiguousarray(value).view(result.dtype).reshape(value.shape)
    return OPERATORS[name](*operands)


def value_of(expr: Expr, values: Mapping[str, int | float | bool]) -> Any:
    """The value of an expression of parameters and sizes for these ``values``."""
    done: dict[Expr, Array] = {}
    root = expanded(expr)
    with np.errstate(all="ignore"):
        for node in walk(root):
            match node:
                case Const(value=value):
                    done[node] = np.asarray(value, node.type.dtype)
                case Variable(name=name):
                    done[node] = np.asarray(values[name], node.type.dtype)
                case Cast(value=inner):
                    done[node] = convert(node.type, done[inner])
                case Op(name=name, args=args):
                    done[node] = np.asarray(operate(name, node.type, [done[a] for a in args]))
                case _:
                    raise TypeError(f"`{node}` depends on more than parameters and sizes.")
    return done[root].item()
