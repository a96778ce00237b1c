"""Expressions over many lanes: scalars stay scalars, and even steps stay ramps. Where only every
n-th lane steps evenly (``x / 2``, ``x % 2``), each such class of lanes is computed alone, then the
classes are interleaved.
"""

from __future__ import annotations

import math

from spaces.backend.ir.identities import coordinate, evaluated
from spaces.backend.ir.vectors import Broadcast, Load, MaskedLoad, Ramp, Shuffle
from spaces.backend.lowering.cpu.interleaved_vectors import (
    choose_interleaving,
    interleaved,
    lanes_of_class,
    period_of,
)
from spaces.backend.lowering.cpu.keep_sums import has_all_lanes
from spaces.model.expressions.expr import Cast, Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier

_MOST_CLASSES = 4
"""With more classes, vectors become so short that single lanes are cheaper."""


def is_vector(expr: Expr) -> bool:
    """Whether an expression has several lanes."""
    return expr.type.lanes > 1


class Widening:
    """Turns an expression into the vector of its values in ``lanes`` iterations from ``low`` on.

    With a ``mask``, a vector of conditions, only the lanes where it holds have a value: the other
    lanes load nothing.
    """

    def __init__(self, var: Variable, low: Expr, lanes: int, mask: Expr | None = None) -> None:
        self.lanes = lanes
        self.mask = mask
        self._done: dict[Expr, Expr] = {}
        self._interleavings: dict[Expr, Expr] = {}
        self._takes_turns = False
        self._simplify = Simplifier()
        self._var = var
        self._ramp = _ramp(low, constant(1, Int32), lanes)

    def __call__(self, expr: Expr) -> Expr:
        """The expression over all lanes; an expression with the same value in all lanes stays a
        scalar.
        """
        if self._var.name not in expr.names:
            return expr
        done = self._done
        for node in walk(expr, known=done):
            done[node] = self._node(node)
            self._takes_turns |= isinstance(done[node], Shuffle)
        return (
            choose_interleaving(done[expr], self._interleavings)
            if self._takes_turns
            else done[expr]
        )

    def full(self, expr: Expr) -> Expr:
        """The expression over all lanes, always as a vector."""
        return _full(expr, self.lanes)

    def is_even(self, expr: Expr) -> bool:
        """Whether the step between neighboring lanes is constant."""
        wide = self(expr)
        return not is_vector(wide) or isinstance(wide, Ramp)

    def _node(self, node: Expr) -> Expr:
        if self._var.name not in node.names:
            return node
        if isinstance(node, Variable):
            return self._ramp
        children = tuple([self._done[c] for c in node.children])
        for child in children:
            if child.type.lanes > 1:
                return self._over_lanes(node, children, self.lanes)
        return node.with_children(children)

    def _over_lanes(self, node: Expr, children: tuple[Expr, ...], lanes: int) -> Expr:
        """A node over operands; at least one of them is a vector."""
        if isinstance(node, Load) and self.mask is not None and not has_all_lanes(node.buffer):
            return _masked_load(node, children[0], self.mask)
        by_class = self._class_by_class(node, children, lanes)
        return _at_once(node, children, lanes) if by_class is None else by_class

    def _class_by_class(self, node: Expr, children: tuple[Expr, ...], lanes: int) -> Expr | None:
        """A node computed for every ``period``-th lane at a time, if each operand is a ramp, a
        scalar or itself computed so in these lanes; None otherwise.
        """
        own = _own_period(node, children)
        period = math.lcm(own, *map(period_of, children))
        if period == 1 or period > _MOST_CLASSES or lanes % period or lanes // period < 2:
            return None
        results: list[Expr] = []
        for place in range(period):
            parts = [lanes_of_class(c, place, period) for c in children]
            found = tuple(p for p in parts if p is not None)
            if len(found) < len(parts):
                return None
            if not any(is_vector(p) for p in found):
                result = _single(node, found)
            elif isinstance(node, Load) and not isinstance(found[0], Ramp):
                return None
            else:
                result = self._over_lanes(node, found, lanes // period)
            results.append(self._plainer(result) if own > 1 else result)
        return interleaved(results, lanes)

    def _plainer(self, result: Expr) -> Expr:
        """A quotient or remainder in normal form: ``(m + 16 * x) / 2`` becomes ``m / 2 + 8 * x``,
        and a loop over ``x`` need not divide.
        """
        if isinstance(result, Ramp):
            return Ramp(result.type, self._simplify(result.base), result.stride)
        return self._simplify(result)


def _at_once(node: Expr, children: tuple[Expr, ...], lanes: int) -> Expr:
    """A node over operands, computed for all lanes as one vector."""
    match node:
        case Load():
            return Load(node.type.with_lanes(lanes), node.buffer, children[0])
        case Cast():
            return Cast(node.type.with_lanes(lanes), children[0])
        case Op(name="select"):
            arms = tuple(_full(c, lanes) for c in children[1:])
            return Op(node.type.with_lanes(lanes), "select", (children[0], *arms))
        case Op(name="min" | "max"):
            narrow = _narrow_limit(node.name, children)
            if narrow is not None:
                return Cast(node.type.with_lanes(lanes), narrow)
    if isinstance(node, Op) and node.type == Int32:
        even = _even_step(node.name, children)
        if even is not None:
            return even
    if not isinstance(node, Op):
        raise TypeError(f"a {type(node).__name__} has no lanes of its own: `{node}`")
    wide = tuple(_full(c, lanes) for c in children)
    return Op(node.type.with_lanes(lanes), node.name, wide)


def _masked_load(node: Load, index: Expr, mask: Expr) -> Expr:
    """The load in the lanes of a mask; lanes that take turns are loaded turn by turn."""
    period, lanes = period_of(index), index.type.lanes
    if (
        isinstance(index, Shuffle)
        and period > 1
        and all(isinstance(part, Ramp) for part in index.parts)
    ):
        kind, masked = node.type.with_lanes(lanes // period), mask.type.with_lanes(lanes // period)
        masks = (Shuffle(masked, (mask,), tuple(range(n, lanes, period))) for n in range(period))
        turns = zip(index.parts, masks, strict=True)
        return interleaved([MaskedLoad(kind, node.buffer, i, m) for i, m in turns], lanes)
    return MaskedLoad(node.type.with_lanes(lanes), node.buffer, index, mask)


def _narrow_limit(name: str, operands: tuple[Expr, ...]) -> Expr | None:
    """The min or max of a number and widened values, calculated before they are widened: more lanes
    fit into a register then. None if the narrow type does not hold the number, or if the operands
    are no number and widened values.
    """
    match operands:
        case (Cast(type=wide, value=value), Const(value=limit)):
            pass
        case (Const(value=limit), Cast(type=wide, value=value)):
            pass
        case _:
            return None
    narrow = value.type.element
    if narrow.is_float or wide.is_float or narrow.is_bool or not is_vector(value):
        return None
    if not wide.element.holds_all(narrow) or not narrow.holds(int(limit)):
        return None
    return Op(value.type, name, (value, _full(constant(limit, narrow), value.type.lanes)))


def _own_period(node: Expr, children: tuple[Expr, ...]) -> int:
    """The least n such that every n-th lane of a quotient or remainder of a ramp is a ramp
    again.
    """
    match node, children:
        case (
            Op(name="div" | "mod", type=kind),
            (Ramp(stride=Const(value=step)), Const(value=divisor)),
        ) if kind == Int32 and divisor > 0:
            return int(divisor) // math.gcd(int(step), int(divisor))
    return 1


def _single(node: Expr, operands: tuple[Expr, ...]) -> Expr:
    if isinstance(node, Op) and node.type == Int32 and len(operands) == 2:
        return _computed(node.name, *operands)
    return node.with_children(operands)


def _full(expr: Expr, lanes: int) -> Expr:
    return expr if is_vector(expr) else Broadcast(expr.type.with_lanes(lanes), expr)


def _ramp(base: Expr, stride: Expr, lanes: int) -> Expr:
    return Ramp(Int32.with_lanes(lanes), base, stride)


def _even_step(name: str, operands: tuple[Expr, ...]) -> Expr | None:
    """The ramp (or scalar) that an operator makes of ramps and scalars; None if the result is
    neither.
    """
    if not all(isinstance(o, Ramp) or not is_vector(o) for o in operands):
        return None
    lanes = max(o.type.lanes for o in operands)
    bases = [o.base if isinstance(o, Ramp) else o for o in operands]
    steps = [o.stride if isinstance(o, Ramp) else constant(0, Int32) for o in operands]
    if name in ("add", "sub"):
        return _stepping(_computed(name, *bases), _computed(name, *steps), lanes)
    if name == "mul" and not all(isinstance(o, Ramp) for o in operands):
        a, b = operands if isinstance(operands[0], Ramp) else operands[::-1]
        assert isinstance(a, Ramp)
        return _stepping(_computed("mul", a.base, b), _computed("mul", a.stride, b), lanes)
    if name in ("div", "mod") and not is_vector(operands[1]):
        step, divisor = steps[0], operands[1]
        if isinstance(step, Const) and isinstance(divisor, Const) and divisor.value > 0:
            times, over = divmod(int(step.value), int(divisor.value))
            if over == 0:
                base = _computed(name, bases[0], divisor)
                return _stepping(base, constant(times if name == "div" else 0, Int32), lanes)
    return None


def _stepping(base: Expr, step: Expr, lanes: int) -> Expr:
    is_still = isinstance(step, Const) and step.value == 0
    return base if is_still else _ramp(base, step, lanes)


def _computed(operator: str, a: Expr, b: Expr) -> Expr:
    """The operation on scalars, evaluated if both are numbers and dropped if an operand changes
    nothing.
    """
    return evaluated(coordinate(operator, a, b))
