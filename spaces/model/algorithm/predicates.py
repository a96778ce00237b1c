"""Narrows the ranges of RVars by the predicates of their reduction domain.

A comparison that bounds one variable by others (``r.x < r.y``, ``r.x <= x``) narrows the interval
of that variable. Values that are read only where the comparison holds need not exist elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.regions import Interval, Ranges
from spaces.model.formulas.simplify import Simplifier


def narrowed(
    ranges: Mapping[str, Interval], predicates: Iterable[Expr], simplify: Simplifier
) -> dict[str, Interval]:
    """The part of ``ranges`` in which all predicates without loads may hold. Each range keeps at
    least one value.
    """
    result = dict(ranges)
    claims = [c for p in predicates if not p.loads for c in _claims(p)]
    for claim in claims:
        for name in sorted(claim.names & result.keys()):
            result[name] = _narrowed(result, name, claim, simplify)
    return result


def _claims(predicate: Expr) -> tuple[Expr, ...]:
    """The expressions that are not negative if an int32 comparison holds; empty for other
    conditions.
    """
    if not isinstance(predicate, Op) or any(a.type != Int32 for a in predicate.args):
        return ()
    match predicate:
        case Op(name="lt", args=(a, b)):
            return (b - a - 1,)
        case Op(name="le", args=(a, b)):
            return (b - a,)
        case Op(name="gt", args=(a, b)):
            return (a - b - 1,)
        case Op(name="ge", args=(a, b)):
            return (a - b,)
        case Op(name="eq", args=(a, b)):
            return (a - b, b - a)
    return ()


def _narrowed(
    ranges: Mapping[str, Interval], name: str, claim: Expr, simplify: Simplifier
) -> Interval:
    known = ranges[name]
    parts = simplify.polynomial(claim).split(Variable(Int32, name))
    slope = None if parts is None else parts[0].constant
    if parts is None or not slope or known.min is None or known.max is None:
        return known
    others = parts[1].expr()
    rest = None if name in others.names else Ranges(simplify, ranges).most(others)
    if rest is None:
        return known
    if slope > 0:
        least = constant(0, Int32) - rest / constant(slope, Int32)
        return Interval(simplify(fn.min(fn.max(known.min, least), known.max)), known.max)
    most = rest / constant(-slope, Int32)
    return Interval(known.min, simplify(fn.max(fn.min(known.max, most), known.min)))
