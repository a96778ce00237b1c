"""Counts of bits as formulas, which every reading of a formula knows.

In a formula numbers are mathematical integers, so that bits are remainders by powers of two of a
number in the range of its type, which solvers of linear arithmetic know.
"""

from __future__ import annotations

import operator
from functools import cache, reduce

from spaces.model.expressions.expr import Expr, Variable, cast, constant
from spaces.model.expressions.functions import select
from spaces.model.expressions.intrinsics import BIT_COUNTS
from spaces.model.expressions.types import Int32, Type

VALUE = "value"
"""The parameter of the formulas."""


@cache
def bit_count(name: str, type: Type) -> Expr:
    """One of :data:`spaces.model.expressions.intrinsics.BIT_COUNTS` of a value of an integer type,
    as a formula over :data:`VALUE`.
    """
    bits = Type("uint", type.bits)
    one, zero = constant(1, Int32), constant(0, Int32)  # a sum that needs not wrap
    powers = [constant(1 << exponent, bits) for exponent in range(type.bits)]
    found = BIT_COUNTS[name].counted(cast(bits, Variable(type, VALUE)), powers)
    return reduce(operator.add, (select(each, one, zero) for each in found))
