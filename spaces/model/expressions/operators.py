"""The operators with symbols, and the text of an operator applied to operands."""

from __future__ import annotations

from spaces.model.expressions.shared_text import ATOM, Shown

ARITHMETIC = ("add", "sub", "mul", "div", "mod", "min", "max")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
LOGIC = ("and", "or", "not")

_INFIX = {
    "or": ("|", 1), "bit_or": ("|", 1), "bit_xor": ("^", 2), "and": ("&", 3), "bit_and": ("&", 3),
    "eq": ("==", 4), "ne": ("!=", 4), "lt": ("<", 5), "le": ("<=", 5), "gt": (">", 5),
    "ge": (">=", 5), "shift_left": ("<<", 6), "shift_right": (">>", 6), "add": ("+", 7),
    "sub": ("-", 7), "mul": ("*", 8), "div": ("/", 8), "mod": ("%", 8),
}  # fmt: skip
_PREFIX = {"not": "!", "bit_not": "~"}
_UNARY = 10


def symbol(name: str) -> str:
    """The symbol of an infix operator."""
    return _INFIX[name][0]


def operation(name: str, parts: list[Shown]) -> Shown:
    """The text of an operator applied to operands, with the fewest parentheses."""
    if name in _INFIX:
        symbol, level = _INFIX[name]
        return f"{_inside(parts[0], level)} {symbol} {_inside(parts[1], level + 1)}", level
    if name in _PREFIX:
        return f"{_PREFIX[name]}{_inside(parts[0], _UNARY)}", ATOM
    return f"{name}({', '.join(text for text, _ in parts)})", ATOM


def literal(value: int | float) -> Shown:
    """The text of a number; a negative one binds as a difference does."""
    return str(value), _INFIX["add"][1] if value < 0 else ATOM


def _inside(part: Shown, level: int) -> str:
    """The text of an operand, in parentheses if it binds less strongly than ``level``."""
    text, own = part
    return f"({text})" if own < level else text
