"""Expressions over many lanes at once: scalars stay scalars, even steps stay ramps."""

from __future__ import annotations

from backend.program import Broadcast, Load, MaskedLoad, Ramp
from spaces.model.algebra import INTEGERS
from spaces.model.expr import Cast, Const, Expr, Op, Variable, constant, walk
from spaces.model.types import Int32


def is_vector(expr: Expr) -> bool:
    """Whether an expression has several lanes."""
    return expr.type.lanes > 1


class Widening:
    """Gives expressions the value they have in each of ``lanes`` iterations from ``low`` on.

    With a ``mask``, a vector of conditions, only the lanes where it holds have one: loads of the
    others touch nothing.
    """

    def __init__(self, var: Variable, low: Expr, lanes: int, mask: Expr | None = None) -> None:
        self.lanes = lanes
        self.mask = mask
        self._done: dict[Expr, Expr] = {}
        self._var = var
        self._ramp = _ramp(low, constant(1, Int32), lanes)

    def __call__(self, expr: Expr) -> Expr:
        """The expression over all lanes; one that is the same in each stays a scalar."""
        for node in walk(expr):
            if node not in self._done:
                self._done[node] = self._node(node)
        return self._done[expr]

    def full(self, expr: Expr) -> Expr:
        """A vector, made of a scalar if need be."""
        if is_vector(expr):
            return expr
        return Broadcast(expr.type.with_lanes(self.lanes), expr)

    def is_even(self, expr: Expr) -> bool:
        """Whether each lane is a fixed step from the one before."""
        wide = self(expr)
        return not is_vector(wide) or isinstance(wide, Ramp)

    def _node(self, node: Expr) -> Expr:
        if isinstance(node, Variable) and node.name == self._var.name:
            return self._ramp
        children = tuple(self._done[c] for c in node.children)
        if not any(is_vector(c) for c in children):
            same = all(a is b for a, b in zip(children, node.children, strict=True))
            return node if same else node.with_children(children)
        match node:
            case Load():
                vector = node.type.with_lanes(self.lanes)
                if self.mask is None:
                    return Load(vector, node.buffer, children[0])
                return MaskedLoad(vector, node.buffer, children[0], self.mask)
            case Cast():
                return Cast(node.type.with_lanes(self.lanes), children[0])
            case Op(name="select"):
                condition = children[0]
                arms = tuple(self.full(c) for c in children[1:])
                return Op(node.type.with_lanes(self.lanes), "select", (condition, *arms))
            case Op() if node.type == Int32:
                even = _even_step(node.name, children)
                if even is not None:
                    return even
        if not isinstance(node, Op):
            raise TypeError(f"a {type(node).__name__} has no lanes of its own: `{node}`")
        wide = tuple(self.full(c) for c in children)
        return Op(node.type.with_lanes(self.lanes), node.name, wide)


def _ramp(base: Expr, stride: Expr, lanes: int) -> Expr:
    return Ramp(Int32.with_lanes(lanes), base, stride)


def _even_step(name: str, operands: tuple[Expr, ...]) -> Expr | None:
    """The ramp (or scalar) that an operator makes of ramps and scalars, where it does."""
    if not all(isinstance(o, Ramp) or not is_vector(o) for o in operands):
        return None
    lanes = max(o.type.lanes for o in operands)
    bases = [o.base if isinstance(o, Ramp) else o for o in operands]
    steps = [o.stride if isinstance(o, Ramp) else constant(0, Int32) for o in operands]
    if name in ("add", "sub"):
        return _stepping(_fold(name, *bases), _fold(name, *steps), lanes)
    if name == "mul" and not all(isinstance(o, Ramp) for o in operands):
        a, b = operands if isinstance(operands[0], Ramp) else operands[::-1]
        assert isinstance(a, Ramp)
        return _stepping(_fold("mul", a.base, b), _fold("mul", a.stride, b), lanes)
    if name in ("div", "mod") and not is_vector(operands[1]):
        step, divisor = steps[0], operands[1]
        if isinstance(step, Const) and isinstance(divisor, Const) and divisor.value > 0:
            times, over = divmod(int(step.value), int(divisor.value))
            if over == 0:
                base = _fold(name, bases[0], divisor)
                return _stepping(base, constant(times if name == "div" else 0, Int32), lanes)
    return None


def _stepping(base: Expr, step: Expr, lanes: int) -> Expr:
    is_still = isinstance(step, Const) and step.value == 0
    return base if is_still else _ramp(base, step, lanes)


def _fold(name: str, a: Expr, b: Expr) -> Expr:
    """The operation on scalars, done where both are numbers or one changes nothing."""
    if isinstance(a, Const) and isinstance(b, Const):
        return constant(INTEGERS.operators[name](int(a.value), int(b.value)), Int32)
    if isinstance(b, Const) and b.value == (1 if name in ("mul", "div") else 0) and name != "mod":
        return a
    if isinstance(a, Const) and a.value == (1 if name == "mul" else 0) and name in ("add", "mul"):
        return b
    return Op(Int32, name, (a, b))
