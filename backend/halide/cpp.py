"""Expressions as C++ text against Halide.h; every operand has the same type as here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from attrs import define, field

from spaces.model.expressions.definitions import CONVERSIONS, LIKELY_AT, UNDEFINED
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Text, Variable, walk
from spaces.model.expressions.operators import INFIX
from spaces.model.expressions.types import Float32, Int32, Type
from spaces.model.writing.tokens import quote

Spell: TypeAlias = Callable[[str], str]

CPP_TYPES: Mapping[str, str] = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    **{f"{code}{bits}": f"{code}{bits}_t" for code in ("int", "uint") for bits in (8, 16, 32, 64)},
}
"""The C++ type that ``cast<T>`` and ``Param<T>`` take for an element type."""

_UNARY = 11
_PLAIN_LIMIT = (1 << 31) - 1
_WORTH_NAMING = 4
"""A subexpression that is used twice gets a name if it has at least this many nodes."""


def literal(value: int | float, type: Type) -> str:
    """An ``Expr`` of exactly this type and value."""
    if type.is_float:
        return f"Expr({_float(value, type)})"
    if type == Int32 and abs(value) <= _PLAIN_LIMIT:
        return f"Expr({value})"
    name = CPP_TYPES[str(type)]
    if type.is_int and value == type.min_value and type.bits >= 32:
        return f"Expr(std::numeric_limits<{name}>::min())"
    suffix = {"int": "ll", "uint": "ull"}[type.code] if type.bits == 64 else ""
    return f"Expr(({name}){value}{'u' if type.is_uint and type.bits == 32 else suffix})"


def _float(value: float, type: Type) -> str:
    name = CPP_TYPES[str(type)]
    if math.isnan(value):
        return f"std::numeric_limits<{name}>::quiet_NaN()"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}std::numeric_limits<{name}>::infinity()"
    # The shortest decimal number with the same bits; both forms have a point or an exponent.
    return f"{np.float32(value)!s}f" if type.bits == 32 else repr(float(value))


@define
class Printer:
    """Prints the expressions of one definition.

    ``variable`` gives the text of a variable, and ``target`` of a Func or image. Subexpressions
    that occur more than once are declared first, under names that ``fresh`` makes.
    """

    variable: Spell
    target: Spell
    fresh: Callable[[], str]
    declarations: list[str] = field(factory=list)
    _named: dict[Expr, str] = field(factory=dict)

    def share(self, *roots: Expr) -> None:
        """Declares the subexpressions that ``roots`` use more than once."""
        nodes = list(walk(*roots))
        uses = Counter(child for node in nodes for child in node.children)
        size: dict[Expr, int] = {}
        for node in nodes:
            size[node] = 1 + sum(size[c] for c in node.children)
            if uses[node] > 1 and size[node] >= _WORTH_NAMING:
                text = self.text(node)
                self._named[node] = self.fresh()
                self.declarations.append(f"Expr {self._named[node]} = {text};")
                size[node] = 1

    def text(self, node: Expr, outer: int = 0) -> str:
        """The text of ``node`` as an operand of an operator of precedence ``outer``."""
        if node in self._named:
            return self._named[node]
        match node:
            case Const(value=value):
                return literal(value, node.type)
            case Variable(name=name):
                return self.variable(name)
            case Text(words=words):
                return quote(words)
            case Cast(value=value):
                return f"cast<{CPP_TYPES[str(node.type)]}>({self.text(value)})"
            case Call(target=name, args=args, component=component):
                index = "" if component is None else f"[{component}]"
                return f"{self.target(name)}({', '.join(self.index(a) for a in args)}){index}"
            case Op(name=name, args=(left, right)) if name in INFIX:
                symbol, level = INFIX[name].cpp_symbol, INFIX[name].cpp_level
                # A bare number takes the type of the operand beside it.
                first = self._operand(left, level, beside=right)
                second = self._operand(right, level + 1, beside=left)
                text = f"{first} {symbol} {second}"
                return f"({text})" if level < outer else text
            case Op(name="not", args=(value,)):
                return f"!{self.text(value, _UNARY)}"
            case Op(name="bit_not", args=(value,)):
                return f"~{self.text(value, _UNARY)}"
            case Op(name=name, args=args) if name in (*CONVERSIONS, UNDEFINED):
                operands = ", ".join(self.text(a) for a in args)
                return f"{name}<{CPP_TYPES[str(node.type)]}>({operands})"
            case Op(name=name, args=(Call() as read, *places)) if name == LIKELY_AT:
                return self.text(Call(read.type, read.target, tuple(places), read.component))
            case Op(name="mux", args=(index, *values)):
                return f"mux({self.text(index)}, {{{', '.join(map(self.text, values))}}})"
            case Op(name=name, args=args):
                return f"{name}({', '.join(self.text(a) for a in args)})"
        raise TypeError(f"{type(node).__name__} is not a node of the algorithm language.")

    def index(self, node: Expr) -> str:
        """A coordinate; whole numbers need no type there."""
        if isinstance(node, Const) and abs(node.value) <= _PLAIN_LIMIT:
            return str(node.value)
        return self.text(node)

    def _operand(self, node: Expr, level: int, beside: Expr) -> str:
        if not isinstance(node, Const) or isinstance(beside, Const) or node.type.is_bool:
            return self.text(node, level)
        if node.type == Float32:
            return _float(node.value, node.type)
        if node.type.is_float or abs(node.value) > _PLAIN_LIMIT:
            return self.text(node, level)  # no operator takes a double or a long
        return str(node.value)
