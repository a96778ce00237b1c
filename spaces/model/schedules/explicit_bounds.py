"""Explicit bounds: what ``bound``, ``bound_extent``, ``align_bounds`` and ``align_extent`` make of
the box that is required of a Func.

As in Halide, the bound written last is applied first. A bound of the extent alone counts only if a
Func is stored where it is computed; elsewhere its first coordinate moves on while earlier values
are kept. If a bound leaves out required values, Halide computes wrong values; here a rule refuses
the schedule.
"""

from __future__ import annotations

from attrs import frozen

from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.interval import Box, Interval
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.schedule import Alignment, Bound, FuncSchedule


@frozen
class Declared:
    """``bound`` limits dimension ``d`` to ``low`` .. ``high``, where ``required`` is needed."""

    bound: Bound
    d: int
    low: Expr
    high: Expr
    required: Interval


def declared(
    args: tuple[str, ...], schedule: FuncSchedule, box: Box, simplify: Simplifier
) -> tuple[Box, tuple[Declared, ...]]:
    """``box`` after the explicit bounds of a Func, and the limits they set. Bounds of names that
    are no dimension of the Func change nothing.
    """
    result = list(box)
    found = []
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
        found.append(Declared(record, d, low, high, interval))
        if record.min is not None or schedule.store == schedule.compute:
            result[d] = Interval(low, high)
    return tuple(result), tuple(found)


def _aligned(record: Alignment, low: Expr, high: Expr, simplify: Simplifier) -> Interval:
    modulus = constant(record.modulus, Int32)
    if record.remainder is None:
        extent = (high - low + record.modulus) / modulus * modulus
        return Interval(low, simplify(low + extent - 1))
    remainder = record.remainder % record.modulus
    first = (low - remainder) / modulus * modulus + remainder
    end = (high - remainder + record.modulus) / modulus * modulus + remainder
    return Interval(simplify(first), simplify(end - 1))
