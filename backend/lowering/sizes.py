"""Products of sizes, which may exceed 32 bits: numbers are multiplied out only where they fit."""

from __future__ import annotations

from collections.abc import Iterable

from spaces.model.expressions.expr import Const, Expr, Op, constant
from spaces.model.expressions.types import Int32

ONE = constant(1, Int32)

SMALL_BYTES = 16 << 10
"""Scratch of up to this many bytes lies on the stack without being asked to, as in Halide."""


def times(a: Expr, b: Expr) -> Expr:
    """The product of two sizes."""
    if a is ONE or b is ONE:
        return b if a is ONE else a
    if isinstance(a, Const) and isinstance(b, Const):
        number = int(a.value) * int(b.value)
        if Int32.holds(number):
            return constant(number, Int32)
    return Op(Int32, "mul", (a, b))


def product(sizes: Iterable[Expr]) -> Expr:
    """The product of any number of sizes."""
    result: Expr = ONE
    for size in sizes:
        result = times(result, size)
    return result


def factors(size: Expr) -> tuple[Expr, ...]:
    """The sizes whose product a size is."""
    if isinstance(size, Op) and size.name == "mul":
        return (*factors(size.args[0]), *factors(size.args[1]))
    return (size,)
