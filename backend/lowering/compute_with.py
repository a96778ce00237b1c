"""Fuse the loops of stages that are computed with each other.

The fused loop runs from the first iteration of any to the last of any; in each it does what the
loops have to do there, stages of one Func in their order. None of the Funcs reads another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from attrs import evolve, frozen

from backend.lowering.statements import bind, block
from backend.program import For, If, Statement
from spaces.model import functions as fn
from spaces.model.expr import Const, Expr, Op
from spaces.model.schedule import Companion, LoopAlign, StageOf
from spaces.model.simplify import Simplifier
from spaces.model.types import Bool


@frozen
class Child:
    """A stage whose outermost loops, those of ``names``, are fused with those of another one."""

    stage: StageOf
    companion: Companion
    statement: Statement
    names: tuple[str, ...]


def fused(children: Sequence[Child], root: Statement, simplify: Simplifier) -> Statement:
    """The outermost loops of all as one each; as they are where these are no loops. What children
    are fused with comes before them, or is ``root``.
    """
    near = [c for c in children if c.names and isinstance(c.statement, For)]
    rest = [c.statement for c in children if c not in near]
    if not near or not isinstance(root, For):
        return block(*(c.statement for c in children), root)
    moved: dict[StageOf, For] = {}
    for child in near:
        loop, beside = child.statement, moved.get(child.companion.other, root)
        assert isinstance(loop, For)
        shift = _shift(loop, beside, child.companion.align(child.names[0]), simplify)
        moved[child.stage] = _shifted(loop, shift, root)
    loops = (*moved.values(), root)
    low = simplify(reduce(fn.min, (loop.min for loop in loops)))
    end = simplify(reduce(fn.max, (loop.min + loop.extent for loop in loops)))
    ranges = [_inside(loop, root, low, end, simplify) for loop in loops]
    inner = fused(
        [evolve(c, statement=moved[c.stage].body, names=c.names[1:]) for c in near],
        root.body,
        simplify,
    )
    apart = block(*(_if(c, loop.body) for c, loop in zip(ranges, loops, strict=True)))
    needed = list(dict.fromkeys(c for c in ranges if c is not None))
    if needed:
        inner = If(reduce(_and, needed), inner, apart)
    return block(*rest, evolve(root, min=low, extent=simplify(end - low), body=inner))


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
    return reduce(_and, conditions) if conditions else None


def _and(first: Expr, second: Expr) -> Expr:
    return Op(Bool, "and", (first, second))


def _if(condition: Expr | None, body: Statement) -> Statement:
    if condition is None or (isinstance(condition, Const) and condition.value):
        return body
    return If(condition, body)
