"""Interleaved vectors: lane ``i`` is lane ``i / n`` of vector ``i % n`` of ``n`` shorter
vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from spaces.backend.ir.identities import coordinate
from spaces.backend.ir.vectors import Broadcast, Ramp, Shuffle
from spaces.model.expressions.expr import Cast, Const, Expr, Op, constant, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Int32

_REGISTER_BITS = 512
"""A vector up to this size costs as much as a narrower one."""

_SHUFFLE_COST = 2.0
"""The cost of interleaving, in additions: it reads two registers, and few units execute it."""


def interleaved(parts: Sequence[Expr], lanes: int) -> Expr:
    """The vector of ``lanes`` lanes that interleaves ``parts``, vectors or scalars; a scalar if all
    parts are the same scalar.
    """
    first, count = parts[0], len(parts)
    if first.type.lanes == 1 and all(p is first for p in parts):
        return first
    short = first.type.with_lanes(lanes // count)
    full = tuple(p if p.type.lanes > 1 else Broadcast(short, p) for p in parts)
    return Shuffle(first.type.with_lanes(lanes), full, _turns(count, lanes))


def period_of(expr: Expr) -> int:
    """The number of vectors that an expression interleaves; 1 if it interleaves none."""
    if isinstance(expr, Shuffle) and expr.picks == _turns(len(expr.parts), expr.type.lanes):
        return len(expr.parts)
    return 1


def lanes_of_class(expr: Expr, place: int, period: int) -> Expr | None:
    """Every ``period``-th lane from lane ``place`` on, for a scalar, a ramp or an interleaved
    vector, where the result is as simple as the whole. None for any other expression.
    """
    lanes = expr.type.lanes
    if lanes == 1:
        return expr
    match expr:
        case Broadcast(value=value):
            return value
        case Ramp(base=base, stride=Const(value=step)):
            begin = coordinate("add", base, constant(int(step) * place, Int32))
            kind = Int32.with_lanes(lanes // period)
            return Ramp(kind, begin, constant(int(step) * period, Int32))
        case Ramp(base=base, stride=stride):
            begin = coordinate("add", base, coordinate("mul", stride, constant(place, Int32)))
            kind = Int32.with_lanes(lanes // period)
            return Ramp(kind, begin, Op(Int32, "mul", (stride, constant(period, Int32))))
    own = period_of(expr)
    if own == 1 or period % own or not isinstance(expr, Shuffle):
        return None
    part = expr.parts[place % own]
    return part_of_part(part, place // own, period // own)


def part_of_part(part: Expr, place: int, period: int) -> Expr | None:
    """The same lanes of one of the interleaved vectors; a scalar if all its lanes are equal."""
    if period > 1:
        return lanes_of_class(part, place, period)
    return part.value if isinstance(part, Broadcast) else part


def choose_interleaving(root: Expr, done: dict[Expr, Expr] | None = None) -> Expr:
    """The expression with interleaved values computed in the cheaper way: either part by part, with
    one interleaving at the end, or as whole vectors, after the loads are interleaved. ``done``
    holds the results of parts that several expressions share.
    """

    def cheaper(node: Expr) -> Expr:
        if period_of(node) == 1 or not isinstance(node, Shuffle):
            return node
        return min(node, _joined(node.parts, node.type.lanes), key=_cost)

    return rewrite(root, cheaper, done)


def _joined(root: tuple[Expr, ...], lanes: int) -> Expr:
    """The vector that interleaves parts; parts that do the same operation become one wide
    operation.
    """
    done: dict[tuple[Expr, ...], Expr] = {}
    stack = [root]
    while stack:
        parts = stack[-1]
        operands = _operands(parts)
        missing = [o for o in operands if o not in done]
        if missing:
            stack += missing
            continue
        done[parts] = _at_once(parts, [done[o] for o in operands], lanes)
        stack.pop()
    return done[root]


def _operands(parts: tuple[Expr, ...]) -> list[tuple[Expr, ...]]:
    """The operands of parts that do the same operation, position by position; empty for other
    parts.
    """
    if isinstance(parts[0], Op | Cast) and all(_is_like(p, parts[0]) for p in parts):
        return list(zip(*(p.children for p in parts), strict=True))
    return []


def _at_once(parts: tuple[Expr, ...], operands: list[Expr], lanes: int) -> Expr:
    first, count = parts[0], len(parts)
    kind = first.type.element.with_lanes(lanes)
    match first:
        case Cast() if operands and first.type.lanes > 1:
            return Cast(kind, operands[0])
        case Op() if operands and first.type.lanes > 1:
            return Op(kind, first.name, tuple(operands))
        case Broadcast() if all(p is first for p in parts):
            return Broadcast(kind, first.value)
        case Ramp(base=base, stride=Const(value=step)):
            whole = Ramp(kind, base, constant(int(step) // count, Int32))
            if all(lanes_of_class(whole, n, count) is p for n, p in enumerate(parts)):
                return whole
    return interleaved(parts, lanes)


def _is_like(part: Expr, first: Expr) -> bool:
    """Whether two vectors of one type are the same operation on operands of the same types."""
    if type(part) is not type(first) or part.type != first.type or part.type.lanes == 1:
        return False
    if isinstance(part, Op) and isinstance(first, Op) and part.name != first.name:
        return False
    pairs = zip(part.children, first.children, strict=True)
    return all(a.type == b.type for a, b in pairs)


def _cost(root: Expr) -> float:
    """About how many instructions compute a vector, without those that compute addresses."""
    total = 0.0
    for node in walk(root):
        if node.type.lanes > 1 and not isinstance(node, Ramp | Broadcast):
            weight = _SHUFFLE_COST if isinstance(node, Shuffle) else 1.0
            total += weight * max(1.0, node.type.lanes * node.type.bits / _REGISTER_BITS)
    return total


def _turns(count: int, lanes: int) -> tuple[int, ...]:
    length = lanes // count
    return tuple(lane // count + lane % count * length for lane in range(lanes))
