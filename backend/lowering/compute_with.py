"""Fuse the loops of two Funcs that are computed with each other.

The fused loop runs from the first iteration of either to the last of either; in each it does what
the loops have to do there. Neither Func reads the other, so that the order does not matter.
"""

from __future__ import annotations

from attrs import evolve

from backend.lowering.statements import bind, block
from backend.program import For, If, Statement
from spaces.model import functions as fn
from spaces.model.expr import Const, Expr, Op
from spaces.model.schedule import LoopAlign
from spaces.model.simplify import Simplifier
from spaces.model.types import Bool


def fused(
    child: Statement, parent: Statement, depth: int, align: LoopAlign, simplify: Simplifier
) -> Statement:
    """The ``depth`` outermost loops of both as one each; as they are where these are no loops."""
    if not depth or not isinstance(child, For) or not isinstance(parent, For):
        return block(child, parent)
    child = _shifted(child, _shift(child, parent, align, simplify), parent)
    low = simplify(fn.min(child.min, parent.min))
    end = simplify(fn.max(child.min + child.extent, parent.min + parent.extent))
    both = [_inside(loop, parent, low, end, simplify) for loop in (child, parent)]
    inner = fused(child.body, parent.body, depth - 1, align, simplify)
    apart = block(*(_if(c, loop.body) for c, loop in zip(both, (child, parent), strict=True)))
    needed = [c for c in both if c is not None]
    if needed:
        inner = If(needed[0] if len(needed) == 1 else _and(*needed), inner, apart)
    return evolve(parent, min=low, extent=simplify(end - low), body=inner)


def _shift(child: For, parent: For, align: LoopAlign, simplify: Simplifier) -> Expr:
    """How much later the iterations of the child come than their numbers say."""
    if align is LoopAlign.ALIGN_START:
        return simplify(parent.min - child.min)
    if align is LoopAlign.ALIGN_END:
        return simplify(parent.min + parent.extent - child.min - child.extent)
    return simplify(parent.min * 0)


def _shifted(child: For, shift: Expr, parent: For) -> For:
    body = bind(child.body, child.var, parent.var - shift)
    return evolve(child, var=parent.var, min=child.min + shift, body=body)


def _inside(loop: For, parent: For, low: Expr, end: Expr, simplify: Simplifier) -> Expr | None:
    """The condition that an iteration is one of a loop; None where all are."""
    conditions = []
    if not simplify.at_most(loop.min, low):
        conditions.append(loop.min <= parent.var)
    if not simplify.at_most(end, loop.min + loop.extent):
        conditions.append(parent.var < loop.min + loop.extent)
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else _and(*conditions)


def _and(first: Expr, second: Expr) -> Expr:
    return Op(Bool, "and", (first, second))


def _if(condition: Expr | None, body: Statement) -> Statement:
    if condition is None or (isinstance(condition, Const) and condition.value):
        return body
    return If(condition, body)
