"""Counting bits as formulas: what ``popcount`` and its kin mean in every reading of a formula.

In a formula numbers are mathematical integers, so that bits are remainders by powers of two of a
number in the range of its type, which solvers of linear arithmetic know.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import zip_longest

from spaces.model.expressions.expr import Expr, Op, Variable, cast, constant
from spaces.model.expressions.functions import select
from spaces.model.expressions.types import Bool, Int32, Type

VALUE = "value"
"""The parameter of the formulas."""


def _set_bits(value: Expr, powers: Sequence[Expr]) -> Iterator[Expr]:
    for power, next_one in zip_longest(powers, powers[1:]):
        below = value if next_one is None else value % next_one
        yield Op(Bool, "ge", (below, power))


def _leading_zeros(value: Expr, powers: Sequence[Expr]) -> Iterator[Expr]:
    """A bit is one of the highest that are not set where the value lies below it."""
    return (Op(Bool, "lt", (value, power)) for power in powers)


def _trailing_zeros(value: Expr, powers: Sequence[Expr]) -> Iterator[Expr]:
    """A bit is one of the lowest that are not set where the power above it divides the value."""
    zero = constant(0, value.type)
    yield from (Op(Bool, "eq", (value % power, zero)) for power in powers[1:])
    yield Op(Bool, "eq", (value, zero))


_COUNTED: Mapping[str, Callable[[Expr, Sequence[Expr]], Iterator[Expr]]] = {
    "popcount": _set_bits,
    "count_leading_zeros": _leading_zeros,
    "count_trailing_zeros": _trailing_zeros,
}

BIT_COUNTS = frozenset(_COUNTED)
"""The operators that count bits."""


@cache
def bit_count(name: str, type: Type) -> Expr:
    """One of :data:`BIT_COUNTS` of a value of an integer type, as a formula over :data:`VALUE`."""
    bits = Type("uint", type.bits)
    one, zero = constant(1, Int32), constant(0, Int32)  # a sum that needs not wrap
    powers = [constant(1 << exponent, bits) for exponent in range(type.bits)]
    found = _COUNTED[name](cast(bits, Variable(type, VALUE)), powers)
    return reduce(operator.add, (select(each, one, zero) for each in found))
