"""The operators with symbols, and the text of an operator applied to operands.

An entry holds what printers and readers of an infix operator share; they derive from it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from spaces.model.expressions.shared_text import ATOM, Shown

ARITHMETIC = ("add", "sub", "mul", "div", "mod", "min", "max")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
LOGIC = ("and", "or", "not")
BITWISE = ("bit_and", "bit_or", "bit_xor")


@frozen
class InfixOperator:
    """An operator that stands between its two operands.

    Attributes:
        name: of the ``Op``.
        symbol: how it is written.
        level: how strongly it binds; greater ones bind first.
        cpp_symbol: how it is written in C++.
        cpp_level: how strongly it binds in C++.
        applied: Python's operator: what integers, terms of solvers and Halide's expressions
            understand, each in its own way.
    """

    name: str
    symbol: str
    level: int
    cpp_symbol: str
    cpp_level: int
    applied: Callable[[Any, Any], Any]


_INFIX = (
    InfixOperator("or", "|", 1, "||", 1, operator.or_),
    InfixOperator("and", "&", 3, "&&", 2, operator.and_),
    InfixOperator("bit_or", "|", 1, "|", 3, operator.or_),
    InfixOperator("bit_xor", "^", 2, "^", 4, operator.xor),
    InfixOperator("bit_and", "&", 3, "&", 5, operator.and_),
    InfixOperator("eq", "==", 4, "==", 6, operator.eq),
    InfixOperator("ne", "!=", 4, "!=", 6, operator.ne),
    InfixOperator("lt", "<", 5, "<", 7, operator.lt),
    InfixOperator("le", "<=", 5, "<=", 7, operator.le),
    InfixOperator("gt", ">", 5, ">", 7, operator.gt),
    InfixOperator("ge", ">=", 5, ">=", 7, operator.ge),
    InfixOperator("shift_left", "<<", 6, "<<", 8, operator.lshift),
    InfixOperator("shift_right", ">>", 6, ">>", 8, operator.rshift),
    InfixOperator("add", "+", 7, "+", 9, operator.add),
    InfixOperator("sub", "-", 7, "-", 9, operator.sub),
    InfixOperator("mul", "*", 8, "*", 10, operator.mul),
    InfixOperator("div", "/", 8, "/", 10, operator.truediv),
    InfixOperator("mod", "%", 8, "%", 10, operator.mod),
)

INFIX: Mapping[str, InfixOperator] = {one.name: one for one in _INFIX}
"""The operators between two operands, by their names."""

_PREFIX = {"not": "!", "bit_not": "~"}
_UNARY = 10


def symbol(name: str) -> str:
    """The symbol of an infix operator."""
    return INFIX[name].symbol


def operation(name: str, parts: list[Shown]) -> Shown:
    """The text of an operator applied to operands, with the fewest parentheses."""
    if name in INFIX:
        symbol, level = INFIX[name].symbol, INFIX[name].level
        return f"{_inside(parts[0], level)} {symbol} {_inside(parts[1], level + 1)}", level
    if name in _PREFIX:
        return f"{_PREFIX[name]}{_inside(parts[0], _UNARY)}", ATOM
    return f"{name}({', '.join(text for text, _ in parts)})", ATOM


def literal(value: int | float) -> Shown:
    """The text of a number; a negative one binds as a difference does."""
    return str(value), INFIX["add"].level if value < 0 else ATOM


def _inside(part: Shown, level: int) -> str:
    """The text of an operand, in parentheses if it binds less strongly than ``level``."""
    text, own = part
    return f"({text})" if own < level else text
