"""NumPy's arithmetic as formulas: a calculation runs once on :class:`Recorded` numbers, and what it
did to them is an expression, which machine code then computes for a whole lattice.

The rules are NumPy's: integers have 64 bits and wrap, ``/`` gives a float64, integers become
float64 beside one, and a minimum with NaN is NaN. So the expression gives the same bits as the
calculation on arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from attrs import field, frozen
from numpy.lib.mixins import NDArrayOperatorsMixin

from spaces.model.expressions.expr import Const, Expr, Op, cast, constant
from spaces.model.expressions.types import Bool, Float64, Int64, Type
from spaces.model.formulas.symbolic import SymbolicCondition, SymbolicNumber


class DependsOnDataError(TypeError):
    """A calculation asks for the value of a recorded number, or does something to it that no
    formula does.
    """


@frozen(eq=False)
class Recorded(NDArrayOperatorsMixin):
    """A number of a lattice as an expression of bool, int64 or float64."""

    expr: Expr = field()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kw: Any) -> Any:
        combine = _FUNCTIONS.get(ufunc)
        if combine is None or method != "__call__" or kw:
            raise DependsOnDataError(f"No formula stands for NumPy's {ufunc.__name__} here.")
        return Recorded(combine(*map(expression_of, inputs)))

    def __array_function__(self, function: Any, types: Any, args: Any, kw: Any) -> Any:
        if function is not np.where or len(args) != 3 or kw:
            raise DependsOnDataError(f"No formula stands for NumPy's {function.__name__} here.")
        condition, a, b = map(expression_of, args)
        a, b = _alike(a, b)
        return Recorded(Op(a.type, "select", (condition, a, b)))

    def __bool__(self) -> bool:
        raise DependsOnDataError(
            "The value of a recorded number is not known; use np.where in place of if."
        )


def is_nowhere(condition: SymbolicCondition) -> bool:
    """Whether a condition is known to hold for no choice. The values of a recorded one are not
    known.
    """
    if isinstance(condition, bool):
        return not condition
    return not isinstance(condition, Recorded) and not _any(condition)


def _any(condition: object) -> bool:
    """NumPy's ``any``, but quick where a condition is the same for all choices."""
    return bool(condition.any() if isinstance(condition, np.ndarray) else condition)


def range_of(number: SymbolicNumber, most: int) -> tuple[int, int]:
    """The least and the largest value of an integer from 0 to ``most``; these two for a recorded
    one.
    """
    values: object = number
    if isinstance(values, np.ndarray):
        return int(values.min()), min(int(values.max()), most)
    if isinstance(values, int | np.integer):
        return int(values), min(int(values), most)
    return 0, most


def expression_of(value: object) -> Expr:
    """A recorded number, or a plain one, as an expression."""
    if isinstance(value, Recorded):
        return value.expr
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | np.bool_):
        return constant(bool(value), Bool)
    if isinstance(value, int | np.integer) and Int64.holds(int(value)):
        return constant(int(value), Int64)
    if isinstance(value, float | np.floating) and not np.isnan(value):
        return constant(float(value), Float64)
    raise DependsOnDataError(f"{type(value).__name__} and recorded numbers do not mix.")


_Combined: TypeAlias = Callable[..., Expr]


def _alike(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Both in NumPy's common type."""
    common = max(a.type, b.type, key=_RANKS.__getitem__)
    return cast(common, a), cast(common, b)


_RANKS: Mapping[Type, int] = {Bool: 0, Int64: 1, Float64: 2}


def _arithmetic(name: str, a: Expr, b: Expr) -> Expr:
    a, b = _alike(a, b)
    if a.type is Bool:
        raise DependsOnDataError("No formula calculates with two conditions as with numbers.")
    return Op(a.type, name, (a, b))


def _quotient(a: Expr, b: Expr) -> Expr:
    return Op(Float64, "div", (cast(Float64, a), cast(Float64, b)))


def _floored(a: Expr, b: Expr) -> Expr:
    """The quotient of integers, rounded down for a divisor of either sign; 0 for the divisor 0."""
    a, b = _integers("floor_divide", a, b)
    quotient = Op(Int64, "div", (a, b))
    if _is_positive(b):
        return quotient
    opposite = Op(Int64, "div", (_negative(a), _negative(b)))
    return Op(Int64, "select", (_comparison("lt", b, _ZERO), opposite, quotient))


def _is_positive(a: Expr) -> bool:
    """Whether an integer is known to be positive."""
    if isinstance(a, Op) and a.name == "max":
        return any(map(_is_positive, a.args))
    return isinstance(a, Const) and a.value > 0


def _remainder(a: Expr, b: Expr) -> Expr:
    """The remainder of integers, with the sign of the divisor."""
    a, b = _integers("remainder", a, b)
    rounded = Op(Int64, "sub", (a, Op(Int64, "mul", (_floored(a, b), b))))
    return Op(Int64, "select", (_comparison("eq", b, _ZERO), _ZERO, rounded))


def _integers(name: str, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    if Float64 in (a.type, b.type):
        raise DependsOnDataError(f"No formula stands for NumPy's {name} of floats.")
    return cast(Int64, a), cast(Int64, b)


def _comparison(name: str, a: Expr, b: Expr) -> Expr:
    return Op(Bool, name, _alike(a, b))


def _logical(name: str, *operands: Expr) -> Expr:
    if any(operand.type is not Bool for operand in operands):
        raise DependsOnDataError("No formula combines the bits of recorded numbers.")
    return Op(Bool, name, operands)


def _negative(a: Expr) -> Expr:
    zero = constant(-0.0, Float64) if a.type is Float64 else _ZERO
    return _arithmetic("sub", zero, a)


def _rounded_up(a: Expr) -> Expr:
    return Op(Float64, "ceil", (a,)) if a.type is Float64 else a


_ZERO = constant(0, Int64)

_FUNCTIONS: Mapping[np.ufunc, _Combined] = {
    np.add: partial(_arithmetic, "add"),
    np.subtract: partial(_arithmetic, "sub"),
    np.multiply: partial(_arithmetic, "mul"),
    np.true_divide: _quotient,
    np.floor_divide: _floored,
    np.remainder: _remainder,
    np.minimum: partial(_arithmetic, "min"),
    np.maximum: partial(_arithmetic, "max"),
    np.negative: _negative,
    np.ceil: _rounded_up,
    np.less: partial(_comparison, "lt"),
    np.less_equal: partial(_comparison, "le"),
    np.greater: partial(_comparison, "gt"),
    np.greater_equal: partial(_comparison, "ge"),
    np.equal: partial(_comparison, "eq"),
    np.not_equal: partial(_comparison, "ne"),
    np.bitwise_and: partial(_logical, "and"),
    np.bitwise_or: partial(_logical, "or"),
    np.invert: partial(_logical, "not"),
    np.logical_and: partial(_logical, "and"),
    np.logical_or: partial(_logical, "or"),
    np.logical_not: partial(_logical, "not"),
}
"""For each function of NumPy, the expression of its result."""
