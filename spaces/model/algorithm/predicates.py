"""What the predicates of a reduction domain say about coordinates.

A comparison that bounds one variable by others (``r.x < r.y``, ``r.x <= x``) narrows the interval
of that variable. One of several variables (``r.x + r.y < 8``) bounds sums of them, too, which their
intervals do not. Values that are read only where a comparison holds need not exist elsewhere.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import TypeGuard

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, Variable, constant
from spaces.model.expressions.types import Bool, Int32
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier


def narrowed(
    ranges: Mapping[str, Interval], predicates: Iterable[Expr], simplify: Simplifier
) -> dict[str, Interval]:
    """The part of ``ranges`` in which all predicates without loads may hold. Each range keeps at
    least one value.
    """
    result = dict(ranges)
    known = [c for p in predicates if not p.loads for c in _claims(p)]
    for claim in known:
        for name in sorted(claim.names & result.keys()):
            result[name] = _narrowed(result, name, claim, simplify)
    return result


def joint_claims(predicates: Iterable[Expr], names: Container[str]) -> tuple[Expr, ...]:
    """The expressions that are not negative where all predicates without loads hold, of those that
    mention two or more of ``names``.
    """
    known = (c for p in predicates if not p.loads for c in _claims(p))
    return tuple(c for c in known if sum(name in names for name in c.names) > 1)


def limited(interval: Interval, closer: Interval, simplify: Simplifier) -> Interval:
    """The part of an interval between the known ends of another, which follow from claims; at least
    one value of it, since claims may exclude all.
    """
    low = interval.min if closer.min is None else closer.min
    high = interval.max if closer.max is None else closer.max
    if low is interval.min and high is interval.max:
        return interval
    if low is not None and interval.max is not None:
        low = simplify(fn.min(low, interval.max))
    return Interval(low, high if low is None or high is None else simplify(fn.max(high, low)))


def limits_nothing(predicate: Expr, simplify: Simplifier) -> bool:
    """Whether no limit of a variable follows from a predicate: it compares no sums."""
    claims = _claims(predicate)
    variables = (Variable(Int32, name) for name in sorted(predicate.names))
    forms = [simplify.polynomial(claim) for claim in claims]
    return not any(form.alone(v) for form in forms for v in variables)


def _claims(predicate: Expr) -> tuple[Expr, ...]:
    """The expressions that are not negative if an int32 comparison holds; empty for other
    conditions.
    """
    if not isinstance(predicate, Op) or not predicate.type.is_bool:
        return ()
    if predicate.name == "not":
        (inner,) = predicate.args
        return _claims(Op(Bool, _NEGATED[inner.name], inner.args)) if _is_ordered(inner) else ()
    if any(a.type != Int32 for a in predicate.args):
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


_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}


def _is_ordered(predicate: Expr) -> TypeGuard[Op]:
    return isinstance(predicate, Op) and predicate.name in _NEGATED


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
