"""Pieces of C text with the precedence of their outermost operator, to write few parentheses."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from attrs import frozen

from spaces.model.expressions.types import Type

CTYPE_OF: Mapping[str, str] = {
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}

_ATOM, _UNARY, _TERNARY = 20, 15, 1

_LEVELS: Mapping[str, int] = {
    "*": 12, "/": 12, "%": 12, "+": 11, "-": 11, "<": 9, "<=": 9, ">": 9, ">=": 9,
    "<<": 10, ">>": 10, "==": 8, "!=": 8, "&": 7, "^": 6, "|": 5, "&&": 4, "||": 3,
}  # fmt: skip


@frozen
class CExpression:
    """An expression of C; ``level`` is the precedence of its outermost operator."""

    text: str
    level: int = _ATOM

    def at(self, level: int) -> str:
        """The text as an operand of an operator of precedence ``level``."""
        return self.text if self.level >= level else f"({self.text})"

    def __str__(self) -> str:
        return self.text


def binary(symbol: str, a: CExpression, b: CExpression) -> CExpression:
    """An infix operator."""
    level = _LEVELS[symbol]
    return CExpression(f"{a.at(level)} {symbol} {b.at(level + 1)}", level)


def conversion(ctype: str, a: CExpression) -> CExpression:
    """A cast to a C type."""
    return CExpression(f"({ctype}){a.at(_UNARY)}", _UNARY)


def negation(a: CExpression) -> CExpression:
    """The negation of a condition."""
    return CExpression(f"!{a.at(_UNARY)}", _UNARY)


def choice(condition: CExpression, a: CExpression, b: CExpression) -> CExpression:
    """``a`` where the condition holds, else ``b``."""
    test = condition.at(_TERNARY + 1)
    return CExpression(f"{test} ? {a.at(_TERNARY + 1)} : {b.at(_TERNARY + 1)}", _TERNARY)


def call(name: str, *arguments: CExpression) -> CExpression:
    """A call of a function."""
    return CExpression(f"{name}({', '.join(map(str, arguments))})")


def element(buffer: str, index: CExpression) -> CExpression:
    """An element of an array."""
    return CExpression(f"{buffer}[{index}]")


def ctype(type: Type) -> str:
    """The C type of an element type."""
    return CTYPE_OF[str(type)]


def literal(value: int | float, type: Type) -> CExpression:
    """A constant; a float has enough digits to give the same bits."""
    if type.is_float:
        return _float_literal(float(value), type)
    if type.is_bool:
        return CExpression("true" if value else "false")
    number = int(value)
    suffix = {"int64": "ll", "uint32": "u", "uint64": "ull"}.get(str(type), "")
    if number == type.min_value and type.bits >= 32 and type.is_int:
        return CExpression(f"{number + 1}{suffix} - 1", _LEVELS["-"])
    return CExpression(f"{number}{suffix}", _ATOM if number >= 0 else _UNARY)


def _float_literal(value: float, type: Type) -> CExpression:
    single = type.bits == 32
    if not math.isfinite(value):
        bits = np.array(value, type.dtype).view(np.uint32 if single else np.int64)
        if single:
            return CExpression(f"__uint_as_float({int(bits):#x}u)")
        return CExpression(f"__longlong_as_double({int(bits)}ll)")
    text = f"{np.float32(value)!s}f" if single else repr(value)
    return CExpression(text, _UNARY if text.startswith("-") else _ATOM)
