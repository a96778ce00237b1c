"""Numbers that the same calculation runs on: one number, or one for each choice of parameters.

Features, prices and occupancy calculate with Python's numbers, with NumPy's arrays over tile
choices, with formulas, and with :class:`~spaces.model.formulas.recorded.Recorded` numbers. These
share operators. What Python and NumPy spell differently, such as a minimum, stands here.

Most numbers of a batch depend on none of its parameters. NumPy takes ten times as long for them as
Python does, and makes arrays of them that slow down what follows. So Python's numbers stay such.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, ExprLike, as_expr


class Symbolic(Protocol):
    """Numbers or conditions, one for each choice: an array, or a recorded number."""

    def __add__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __radd__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __sub__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __rsub__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __mul__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __rmul__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __truediv__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __rtruediv__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __floordiv__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __rfloordiv__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __mod__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __rmod__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __neg__(self) -> Symbolic: ...
    def __lt__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __le__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __gt__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __ge__(self, other: SymbolicNumber, /) -> Symbolic: ...
    def __and__(self, other: SymbolicCondition, /) -> Symbolic: ...
    def __rand__(self, other: SymbolicCondition, /) -> Symbolic: ...
    def __or__(self, other: SymbolicCondition, /) -> Symbolic: ...
    def __ror__(self, other: SymbolicCondition, /) -> Symbolic: ...


SymbolicNumber: TypeAlias = int | float | Expr | Symbolic
"""A number to calculate with. A condition counts as 0 or 1, as in Python."""

SymbolicCondition: TypeAlias = bool | Expr | Symbolic
"""A condition that may hold for some choices only."""

_PLAIN = (int, float, np.integer)

# NumPy's functions take whatever becomes an array, and give whatever does not.
_maximum = cast(Callable[[SymbolicNumber, SymbolicNumber], Symbolic], np.maximum)
_minimum = cast(Callable[[SymbolicNumber, SymbolicNumber], Symbolic], np.minimum)
_where = cast(Callable[[SymbolicCondition, SymbolicNumber, SymbolicNumber], Symbolic], np.where)
_not = cast(Callable[[SymbolicCondition], Symbolic], np.logical_not)
_ceil = cast(Callable[[SymbolicNumber], Symbolic], np.ceil)


def maximum(a: SymbolicNumber, b: SymbolicNumber) -> SymbolicNumber:
    """The larger of two numbers, for each choice."""
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        return a if a >= b else b
    if isinstance(a, Expr) or isinstance(b, Expr):
        return fn.max(_operand(a), _operand(b))
    return _maximum(a, b)


def minimum(a: SymbolicNumber, b: SymbolicNumber) -> SymbolicNumber:
    """The smaller of two numbers, for each choice."""
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        return a if a <= b else b
    if isinstance(a, Expr) or isinstance(b, Expr):
        return fn.min(_operand(a), _operand(b))
    return _minimum(a, b)


def where(condition: SymbolicCondition, a: SymbolicNumber, b: SymbolicNumber) -> SymbolicNumber:
    """The first number where a condition holds, the second elsewhere."""
    if isinstance(condition, bool | np.bool_):
        return a if condition else b
    if isinstance(condition, Expr):
        return fn.select(condition, _operand(a), _operand(b))
    return _where(condition, a, b)


def logical_not(condition: SymbolicCondition) -> SymbolicCondition:
    """Whether a condition does not hold, for each choice."""
    if isinstance(condition, bool | np.bool_):
        return not condition
    return ~condition if isinstance(condition, Expr) else _not(condition)


def ceil(number: SymbolicNumber) -> SymbolicNumber:
    """The least integer that is not less, for each choice."""
    return math.ceil(number) if isinstance(number, int | float) else _ceil(number)


def as_array(number: SymbolicNumber) -> NDArray[Any]:
    """A number of Python or NumPy as an array; one number gives an array without axes."""
    return np.asarray(number)


def as_formula(number: SymbolicNumber) -> Expr:
    """A formula, or a number of Python as a formula.

    Raises:
        TypeError: it is an array or a recorded number.
    """
    return as_expr(_operand(number))


def _operand(number: SymbolicNumber) -> ExprLike:
    """A number that a formula calculates with."""
    if isinstance(number, int | float | np.integer | Expr):
        return number
    raise TypeError(f"A formula does not calculate with {type(number).__name__}.")
