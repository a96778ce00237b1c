"""Explicit bounds: what ``bound``, ``bound_extent``, ``align_bounds`` and ``align_extent`` make of
the box that is required of a Func.

As in Halide the one written last is applied first, and the extent alone counts only where a Func is
stored where it is computed: elsewhere its first coordinate moves on while earlier values are kept.
Where a bound leaves out what is required Halide computes wrong values; here it is a condition that
a rule asks for.
"""

from __future__ import annotations

from attrs import frozen

from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.regions import Box, Interval
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.schedule import Alignment, Bound, FuncSchedule


@frozen
class Declared:
    """``bound`` says that dimension ``d`` is needed from ``low`` to ``high`` only, where
    ``required`` is what is needed.
    """

    bound: Bound
    d: int
    low: Expr
    high: Expr
    required: Interval


def declared(
    args: tuple[str, ...], schedule: FuncSchedule, box: Box, simplify: Simplifier
) -> tuple[Box, tuple[Declared, ...]]:
    """``box`` as the bounds of a Func leave it, and what they say of it; directives about what is
    no dimension of the Func say nothing.
    """
    result = list(box)
    said = []
    for record in reversed(schedule.bounds):
        if record.dimension not in args:
            continue
        d = args.index(record.dimension)
        interval = result[d]
        if interval.min is None or interval.max is None:
            continue
        if isinstance(record, Alignment):
            result[d] = _aligned(record, interval.min, interval.max, simplify)
            continue
        low = interval.min if record.min is None else constant(record.min, Int32)
        high = simplify(low + record.extent - 1)
        said.append(Declared(record, d, low, high, interval))
        if record.min is not None or schedule.store == schedule.compute:
            result[d] = Interval(low, high)
    return tuple(result), tuple(said)


def _aligned(record: Alignment, low: Expr, high: Expr, simplify: Simplifier) -> Interval:
    modulus = constant(record.modulus, Int32)
    if record.remainder is None:
        extent = (high - low + record.modulus) / modulus * modulus
        return Interval(low, simplify(low + extent - 1))
    remainder = record.remainder % record.modulus
    first = (low - remainder) / modulus * modulus + remainder
    end = (high - remainder + record.modulus) / modulus * modulus + remainder
    return Interval(simplify(first), simplify(end - 1))
