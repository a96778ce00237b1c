"""The bits that the numbers in a formula need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Call, Expr, Op, Variable, walk
from spaces.model.expressions.operators import BITWISE, COMPARISONS, LOGIC
from spaces.model.expressions.types import Int64, Type
from spaces.model.formulas.algebra import SHIFTS, Reading, read

MOST_BITS = 1024
"""The most bits of a number in a condition on the sizes and Params of a call, enough for a product
of 33 int32 numbers. Machine code calculates such a condition with integers of as many bits, and
longer ones take long to compile.
"""

_BEYOND = 1 << (16 * MOST_BITS)
"""A number in place of all larger ones."""


def is_too_wide(condition: Expr) -> bool:
    """Whether a comparison of integers in a condition may need more than ``MOST_BITS`` bits. One
    that reads an image or a Func may not: rules refuse it.
    """
    return any(
        isinstance(node, Op)
        and node.name in COMPARISONS
        and not node.has_floats
        and _is_of_numbers(node)
        and width(node) > MOST_BITS
        for node in walk(expanded(condition))
    )


def _is_of_numbers(formula: Expr) -> bool:
    return not any(isinstance(node, Call) for node in walk(formula))


@lru_cache(maxsize=1024)
def width(formula: Expr) -> int:
    """Returns ``bits`` so that ``-2**bits < n < 2**bits`` for each number n in a formula without
    floats, by limits of each operator. Sizes and parameters have any value of their types. Strides,
    which are int32 in formulas, have any value of int64.
    """
    greatest = 1

    def noted(magnitude: int) -> int:
        nonlocal greatest
        greatest = max(greatest, magnitude)
        return magnitude

    variables = (node for node in walk(formula) if isinstance(node, Variable))
    values = {v.name: noted(magnitude_of(v)) for v in variables}
    reading = Reading(
        literal=lambda value: noted(abs(value)),
        convert=lambda type, magnitude: noted(magnitude_of_type(type)),
        operators={name: _noting(noted, one) for name, one in MAGNITUDES.items()},
    )
    read(formula, values, reading)
    return greatest.bit_length()


def _noting(noted: Callable[[int], int], result: Callable[..., int]) -> Callable[..., int]:
    return lambda *operands: noted(result(*operands))


def magnitude_of(variable: Variable) -> int:
    """The largest absolute value of a size or parameter."""
    return magnitude_of_type(Int64 if ".stride." in variable.name else variable.type)


def magnitude_of_type(type: Type) -> int:
    """The largest absolute value of an integer type."""
    return max(-type.min_value, type.max_value)


def _at_most(magnitude: int) -> int:
    return min(magnitude, _BEYOND)


def _greatest(*operands: int) -> int:
    return max(operands)


MAGNITUDES: Mapping[str, Callable[..., int]] = {
    "add": lambda a, b: _at_most(a + b),
    "sub": lambda a, b: _at_most(a + b),
    "mul": lambda a, b: _at_most(a * b),
    "div": lambda a, b: a,
    "mod": lambda a, b: b,
    "min": _greatest,
    "max": _greatest,
    "abs": lambda a: a,
    "select": lambda condition, a, b: max(a, b),
    # A shift wraps in its type, which has fewer bits than the integers of machine code.
    **dict.fromkeys(SHIFTS, lambda a, by: a),
    **dict.fromkeys(BITWISE, lambda a, b: 1 << max(a, b).bit_length()),
    **dict.fromkeys((*COMPARISONS, *LOGIC), lambda *operands: 1),
}
"""The largest absolute value of a result, from those of the operands."""
