"""Rewrites coordinates computed in wider types as int32 arithmetic.

``saturating_add(x, 3)`` is ``int32(clamp(int64(x) + 3, ...))``. No step of it can wrap, so it
equals the same sum of mathematical integers, which normal forms expand.
"""

from __future__ import annotations

from spaces.model.expressions.expr import Cast, Const, Expr, Op, cast, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.corners import CORNERS, Ends

_ALIKE = ("add", "sub", "mul", "div", "mod", "min", "max")
"""Operators with the same result in all types, as long as nothing wraps."""

_RING = ("add", "sub", "mul", "reinterpret")
"""Operators whose lowest n bits depend only on the lowest n bits of their operands."""


def narrowed(node: Expr) -> Expr | None:
    """A conversion to int32 rewritten as int32 arithmetic over its int32 parts. This needs that no
    step can wrap, or that wrapping every step to int32 gives the same result; otherwise None.
    Expressions that read values give None, too.
    """
    if not _is_from_wider(node):
        return None
    found = _plain(node.children[0])
    if found is not None and all(map(Int32.holds, found[1])):
        return found[0]
    return _modular(node.children[0])


def wrapped(node: Expr) -> Expr | None:
    """A conversion to int32 rewritten as int32 arithmetic that wraps, if the result is the same;
    else None.
    """
    return _modular(node.children[0]) if _is_from_wider(node) else None


def _is_from_wider(node: Expr) -> bool:
    """Whether ``node`` makes an integer of 32 bits or more, without reads, an int32: by a
    conversion, or by another reading of its bits.
    """
    is_conversion = isinstance(node, Cast) or (isinstance(node, Op) and node.name == "reinterpret")
    if not is_conversion or node.type is not Int32 or node.loads:
        return False
    (value,) = node.children
    return not value.type.is_float and value.type.bits >= 32


def _modular(node: Expr) -> Expr | None:
    """An int32 expression equal to ``node`` modulo 2**32, or None. Sums and products in wider types
    have the same lowest 32 bits.
    """
    kind = node.type
    if kind.is_float or kind.is_bool:
        return None
    if isinstance(node, Const):
        return constant(Int32.wrap(int(node.value)), Int32)
    if kind is Int32 or kind.bits < 32:
        return cast(Int32, node)
    if isinstance(node, Cast):
        return _modular(node.value)
    match node:
        case Op(name="shift_left", args=(value, Const(value=by))) if 0 <= by <= 30:
            part = _modular(value)
            return None if part is None else part * (1 << int(by))
    if not isinstance(node, Op) or node.name not in _RING:
        return None
    parts = [_modular(a) for a in node.args]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return known[0] if node.name == "reinterpret" else Op(Int32, node.name, tuple(known))


def _plain(node: Expr) -> tuple[Expr, Ends] | None:
    """The same number as an int32 expression, and its ends; None if a step may wrap."""
    kind = node.type
    if kind.is_float or kind.is_bool:
        return None
    if isinstance(node, Const):
        value = int(node.value)
        return (constant(value, Int32), (value, value)) if Int32.holds(value) else None
    if kind is Int32:
        return node, (Int32.min_value, Int32.max_value)
    if kind.bits < 32:
        return cast(Int32, node), (kind.min_value, kind.max_value)
    found: tuple[Expr, Ends] | None = None
    if isinstance(node, Cast):
        found = _plain(node.value)
    elif isinstance(node, Op) and node.name in _ALIKE:
        found = _operation(node)
    elif isinstance(node, Op) and node.name == "shift_right":
        found = _halved(node)
    if found is None or not (kind.holds(found[1][0]) and kind.holds(found[1][1])):
        return None
    return found


def _operation(node: Op) -> tuple[Expr, Ends] | None:
    parts = [_plain(a) for a in node.args]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    ends = CORNERS[node.name](node.type, *(end for _, end in known))
    return None if ends is None else (Op(Int32, node.name, tuple(e for e, _ in known)), ends)


def _halved(node: Op) -> tuple[Expr, Ends] | None:
    """A right shift by a constant, as a quotient."""
    value, by = node.args
    found = _plain(value)
    if found is None or not isinstance(by, Const) or not 0 <= by.value <= 30:
        return None
    plain, (low, high) = found
    return plain / (1 << int(by.value)), (low >> int(by.value), high >> int(by.value))
