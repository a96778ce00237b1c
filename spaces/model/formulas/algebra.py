"""Formulas and their readings.

A formula is an integer or boolean :class:`~spaces.model.expressions.expr.Expr` over named
parameters: a loop extent, an allocation size, a rule. The code writes it once and *reads* it in
several ways: as Python ints (:data:`INTEGERS`), as NumPy arrays (:data:`ARRAYS`), as z3 terms
(:mod:`spaces.model.formulas.smt`), as machine code (:mod:`spaces.model.formulas.native`). Numbers
of type int32 are coordinates, that is, mathematical integers; of their operators only shifts wrap
to 32 bits. Numbers of other types wrap, as they do in compiled code. Division rounds so that the
remainder is never negative; division by zero gives zero.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from attrs import frozen

from spaces.model.expressions.bit_counts import VALUE, bit_count
from spaces.model.expressions.definitions import DERIVED, definition
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable, walk
from spaces.model.expressions.intrinsics import BIT_COUNTS
from spaces.model.expressions.operators import BITWISE, INFIX
from spaces.model.expressions.types import Bool, Int32, Type
from spaces.model.formulas.float_values import float_value, has_value, touches_floats

T = TypeVar("T")

MOST_SHIFT = 128
"""The largest amount of a shift, more than the bits of any type; larger amounts count as this one.
"""


class FormulaError(TypeError):
    """An expression is not a formula (it calls a Func or uses floats), or lacks a parameter."""


@frozen
class Reading(Generic[T]):
    """How to read a formula: literals, conversions, and one function for each operator. A reading
    with ``real``, for literals of floats, reads formulas of floats, too. One with ``floats`` reads
    whole numbers that are made from floats: ``floats`` gives the value of a node from those of its
    operands.
    """

    literal: Callable[[int], T]
    convert: Callable[[Type, T], T]
    operators: Mapping[str, Callable[..., T]]
    real: Callable[[float], T] | None = None
    floats: Callable[[Expr, Sequence[T]], T] | None = None


def read(formula: Expr, values: Mapping[str, Any], reading: Reading[T]) -> T:
    """The value of ``formula`` for the given ``values`` of its parameters.

    Raises:
        FormulaError: a parameter has no value, or ``formula`` is not a formula.
    """
    return read_all((formula,), values, reading)[0]


def read_all(
    formulas: tuple[Expr, ...],
    values: Mapping[str, Any],
    reading: Reading[T],
    done: dict[Expr, T] | None = None,
) -> tuple[T, ...]:
    """The values of several formulas; shared parts are computed once. Calls with the same
    ``values`` may share ``done``, the results for all parts.
    """
    done = {} if done is None else done
    for node in walk(*formulas, known=done):
        if reading.floats is not None and touches_floats(node) and not isinstance(node, Variable):
            if not has_value(node):
                raise FormulaError(f"`{node}` has no meaning in a formula.")
            done[node] = reading.floats(node, [done[child] for child in node.children])
            continue
        match node:
            case Const() if not node.type.is_float:
                done[node] = reading.literal(int(node.value))
            case Const() if reading.real is not None:
                done[node] = reading.real(node.value)
            case Variable():
                if node.name not in values:
                    raise FormulaError(f"The parameter {node.name} of a formula has no value.")
                done[node] = values[node.name]
            case Cast() if reading.real is not None or not touches_floats(node):
                done[node] = reading.convert(node.type, done[node.value])
            case Op() if node.name in reading.operators:
                value = reading.operators[node.name](*(done[a] for a in node.args))
                done[node] = reading.convert(node.type, value) if _may_wrap(node) else value
            case Op(name="reinterpret", args=(number,)) if not touches_floats(node):
                done[node] = reading.convert(node.type, done[number])
            case Op(name=name, args=(value,)) if name in BIT_COUNTS:
                done[node] = read(bit_count(name, value.type), {VALUE: done[value]}, reading)
            case Op() if node.name in DERIVED:
                done[node] = read_all((definition(node),), values, reading, done)[0]
            case Call() | Op() | Cast() | Const():
                raise FormulaError(f"`{node}` has no meaning in a formula over integers.")
    return tuple(done[f] for f in formulas)


SHIFTS = ("shift_left", "shift_right")
"""Operators that multiply or divide by powers of two."""

_WRAPPING = ("add", "sub", "mul", "div", *BITWISE, *SHIFTS)
"""Operators whose results may exceed the range of the type."""


def _may_wrap(node: Op) -> bool:
    """Whether a reading must wrap the result of an operator to its type."""
    if node.type is Int32:
        return node.name in SHIFTS
    return not node.type.is_bool and node.name in _WRAPPING


def _divide(a: int, b: int) -> int:
    if b == 0:
        return 0
    return a // b if b > 0 else -(a // -b)


def _modulo(a: int, b: int) -> int:
    return a % abs(b) if b else 0


def _shift(a: int, by: int) -> int:
    by = max(-MOST_SHIFT, min(by, MOST_SHIFT))
    return a << by if by >= 0 else a >> -by


def _number_from_floats(node: Expr, operands: Sequence[Any]) -> Any:
    value = float_value(node, operands)
    return value if node.type.is_float else value.item()


INTEGERS: Reading[int] = Reading(
    literal=int,
    convert=lambda type, value: type.wrap(value),
    operators={
        **{name: one.applied for name, one in INFIX.items()},
        "div": _divide,
        "mod": _modulo,
        "min": min,
        "max": max,
        "abs": abs,
        "and": lambda a, b: bool(a) and bool(b),
        "or": lambda a, b: bool(a) or bool(b),
        "not": operator.not_,
        "select": lambda condition, a, b: a if condition else b,
        "shift_left": _shift,
        "shift_right": lambda a, by: _shift(a, -by),
    },
    floats=_number_from_floats,
)


OPERATORS = frozenset(INTEGERS.operators) | set(BIT_COUNTS)
"""The operators with a meaning in a formula."""


def never_wraps(formula: Expr) -> bool:
    """Whether a formula calculates with int32 numbers only. These are coordinates and stand for
    mathematical integers; arithmetic in other types wraps.
    """
    return all(map(_is_exact, walk(formula)))


def _is_exact(node: Expr) -> bool:
    match node:
        case Const():
            return not node.type.is_float
        case Variable():
            return node.type in (Int32, Bool)
        case Cast(type=type, value=value):
            return not type.is_float and not value.type.is_float
        case Op(name="abs", args=(value,)):
            return value.type == Int32
        case Op():
            return node.type in (Int32, Bool) and node.name in OPERATORS
    return False


def _divide_arrays(a: Any, b: Any) -> Any:
    if isinstance(b, int) and b > 0:
        return a // b
    positive = np.where(b == 0, 1, np.abs(b))
    return np.where(b == 0, 0, np.sign(b) * (a // positive))


def _modulo_arrays(a: Any, b: Any) -> Any:
    if isinstance(b, int) and b > 0:
        return a % b
    return np.where(b == 0, 0, a % np.where(b == 0, 1, np.abs(b)))


def _shift_arrays(a: Any, by: Any) -> Any:
    # NumPy shifts by less than the width of a number; a right shift by 63 leaves the sign.
    left, right = np.clip(by, 0, 63), np.clip(np.negative(by), 0, 63)
    shifted = np.where(np.less(by, 64), np.left_shift(a, left), 0)
    return np.where(np.greater_equal(by, 0), shifted, np.right_shift(a, right))


def _wrap_arrays(type: Type, value: Any) -> Any:
    if type.bits < 64:
        return (value - type.min_value) % (1 << type.bits) + type.min_value
    return np.asarray(np.frompyfunc(type.wrap, 1, 1)(value), np.object_)


_LARGEST = np.iinfo(np.int64).max


def _is_beyond_arrays(value: Any) -> bool:
    """Whether a number may be too large for int64 arrays."""
    if isinstance(value, int):
        return not -_LARGEST <= value <= _LARGEST
    return isinstance(value, np.ndarray) and value.dtype == np.object_


def _of_arrays(name: str, combine: Callable[..., Any]) -> Callable[..., Any]:
    """The operator ``name`` of arrays, by ``combine``. Arrays of Python's ints go through the
    operator of ints instead, element by element.
    """
    whole = INTEGERS.operators[name]

    def combined(*operands: Any) -> Any:
        if any(map(_is_beyond_arrays, operands)):
            return np.asarray(np.frompyfunc(whole, len(operands), 1)(*operands), np.object_)
        return combine(*operands)

    return combined


_ARRAY_OPERATORS: Mapping[str, Callable[..., Any]] = {
    **INTEGERS.operators,
    "div": _divide_arrays,
    "mod": _modulo_arrays,
    "min": np.minimum,
    "max": np.maximum,
    "abs": np.abs,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "select": np.where,
    "shift_left": _shift_arrays,
    "shift_right": lambda a, by: _shift_arrays(a, -by),
}


def _array_from_floats(node: Expr, operands: Sequence[Any]) -> Any:
    value = float_value(node, operands)
    if node.type.is_float or node.type.is_bool:
        return value
    return value.astype(np.int64) if value.shape else value.item()


ARRAYS: Reading[Any] = Reading(
    literal=int,
    convert=_wrap_arrays,
    operators={name: _of_arrays(name, combine) for name, combine in _ARRAY_OPERATORS.items()},
    floats=_array_from_floats,
)
"""Values are int64 arrays (or ints) that broadcast together. Numbers of 64 bits, which may wrap,
are arrays of Python's ints.
"""


def evaluate(formula: Expr, values: Mapping[str, float]) -> int:
    """The integer value of ``formula``; conditions give 0 or 1."""
    return int(read(formula, values, INTEGERS))
