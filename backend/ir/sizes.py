"""Products of sizes, which may exceed 32 bits: constants are multiplied only where the product
fits.

An allocation takes the product of its sizes, where a negative size counts as 0. A size is a whole
formula: the sign of one factor says nothing about it, as ``min(-16, -n) * (-1)`` shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from spaces.backend.ir.identities import coordinate
from spaces.model.expressions.expr import Const, Expr, constant
from spaces.model.expressions.types import Int32

ONE = constant(1, Int32)


def times(a: Expr, b: Expr) -> Expr:
    """The product of two sizes."""
    if isinstance(a, Const) and isinstance(b, Const):
        number = int(a.value) * int(b.value)
        if Int32.holds(number):
            return constant(number, Int32)
    return coordinate("mul", a, b)


def product(sizes: Iterable[Expr]) -> Expr:
    """The product of any number of sizes, as text shows it."""
    result: Expr = ONE
    for size in sizes:
        result = times(result, size)
    return result


def elements(sizes: Iterable[Expr], number: Callable[[Expr], int]) -> int:
    """The number of elements of memory with these sizes; ``number`` gives the value of a size."""
    return prod(max(number(size), 0) for size in sizes)


def known_elements(sizes: tuple[Expr, ...]) -> int | None:
    """The number of elements of memory with these sizes; None if it is not known."""
    values = [int(size.value) for size in sizes if isinstance(size, Const)]
    if len(values) < len(sizes):
        return None
    return prod(max(value, 0) for value in values)
