"""Counts of bits as formulas, which every reading of a formula understands.

The numbers of a formula are mathematical integers. A bit of a number in the range of its type is
therefore a remainder by a power of two, which solvers of linear arithmetic understand.
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
    """The count of :data:`spaces.model.expressions.intrinsics.BIT_COUNTS` called ``name``, for a
    value of the integer ``type``, as a formula over :data:`VALUE`.
    """
    bits = Type("uint", type.bits)
    one, zero = constant(1, Int32), constant(0, Int32)  # in int32 the sum does not wrap
    powers = [constant(1 << exponent, bits) for exponent in range(type.bits)]
    found = BIT_COUNTS[name].counted(cast(bits, Variable(type, VALUE)), powers)
    return reduce(operator.add, (select(each, one, zero) for each in found))
