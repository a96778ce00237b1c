"""Expressions as CUDA C, with the meaning of `backend.arithmetic`.

Integers wrap without undefined behaviour: sums, differences and products of signed and of narrow
types are worked out in an unsigned type and converted back. Coordinates are the exception: what
indexes memory or bounds a loop is mathematical, stays far from the limits of int (the caller checks
sizes), and is printed as plain int arithmetic, which compilers understand better.

A printed expression of a type narrower than int may have the C type int; its value is in range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from attrs import define, field, frozen

from backend.program import Load
from spaces.model.expr import Call, Cast, Const, Expr, Op, Variable
from spaces.model.types import Bool, Int32, Type

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

_DEEPEST = 24
"""Nesting of parentheses beyond which a subexpression gets a name of its own."""


def ctype(type: Type) -> str:
    """The C type of an element type."""
    return CTYPE_OF[str(type)]


def literal(value: int | float, type: Type) -> str:
    """A constant; floats have as many digits as it takes to mean the same bits."""
    if type.is_float:
        return _float_literal(float(value), type)
    if type.is_bool:
        return "true" if value else "false"
    number = int(value)
    suffix = {"int64": "ll", "uint32": "u", "uint64": "ull"}.get(str(type), "")
    if number == type.min_value and type.bits >= 32 and type.is_int:
        return f"({number + 1}{suffix} - 1)"
    return f"{number}{suffix}" if number >= 0 else f"({number}{suffix})"


def _float_literal(value: float, type: Type) -> str:
    single = type.bits == 32
    if not math.isfinite(value):
        bits = np.array(value, type.dtype).view(np.uint32 if single else np.uint64)
        if single:
            return f"__uint_as_float({int(bits):#x}u)"
        return f"__longlong_as_double({int(bits.view(np.int64))}ll)"
    text = str(np.float32(value)) if single else repr(value)
    text = f"{text}{'f' if single else ''}"
    return f"({text})" if text.startswith("-") else text


@frozen
class Root:
    """An expression to print; ``is_index`` where it is a coordinate, an index or a bound."""

    expr: Expr
    is_index: bool


@frozen
class Printed:
    """Definitions of names for what occurs more than once, and the text of each root."""

    definitions: tuple[str, ...]
    texts: tuple[str, ...]


_Key: TypeAlias = tuple[Expr, bool]
"""A node, and whether it is printed as plain int arithmetic."""


@define
class ExpressionPrinter:
    """Prints expressions of one kernel.

    Attributes:
        variable: the name of a variable.
        counts: whether a variable is never negative.
        buffer: the name of a buffer.
        fresh: a new name.
        helpers: names of the helper functions that were called so far.
    """

    variable: Callable[[str], str]
    counts: Callable[[str], bool]
    buffer: Callable[[str], str]
    fresh: Callable[[str], str]
    helpers: set[str]
    _texts: dict[_Key, str] = field(factory=dict)
    _reads: dict[Expr, bool] = field(factory=dict)

    def print(self, roots: Sequence[Root]) -> Printed:
        """The texts of ``roots``, which are evaluated at one place, one after the other."""
        keys = [self._key(root.expr, root.is_index) for root in roots]
        order, uses = self._order(keys)
        self._texts = {}
        definitions, depths = [], dict[_Key, int]()
        for key in order:
            node = key[0]
            text = self._text(key)
            depth = 1 + max((depths[c] for c in self._children(key)), default=0)
            is_simple = isinstance(node, Const | Variable)
            if not is_simple and (uses[key] > 1 or depth > _DEEPEST):
                name = self.fresh("t")
                definitions.append(f"const {ctype(node.type)} {name} = {_bare(text)};")
                text, depth = name, 0
            self._texts[key], depths[key] = text, depth
        return Printed(tuple(definitions), tuple(_bare(self._texts[key]) for key in keys))

    def _key(self, node: Expr, is_index: bool) -> _Key:
        """Plain int arithmetic only for coordinates that no data flows into."""
        plain = is_index and node.type in (Int32, Bool) and isinstance(node, Op)
        return node, plain and not self._reads_memory(node)

    def _reads_memory(self, root: Expr) -> bool:
        stack = [root]
        while stack:
            node = stack[-1]
            unknown = [c for c in node.children if c not in self._reads]
            if unknown and node not in self._reads:
                stack.extend(unknown)
                continue
            below = any(self._reads[c] for c in node.children)
            self._reads[node] = below or isinstance(node, Load)
            stack.pop()
        return self._reads[root]

    def _children(self, key: _Key) -> tuple[_Key, ...]:
        node, plain = key
        is_index = plain or isinstance(node, Load)
        return tuple(self._key(child, is_index) for child in node.children)

    def _order(self, roots: Sequence[_Key]) -> tuple[list[_Key], dict[_Key, int]]:
        """All nodes, operands first, and how often each occurs."""
        uses: dict[_Key, int] = {}
        order: list[_Key] = []
        stack = [(key, False) for key in reversed(roots)]
        while stack:
            key, ready = stack.pop()
            if ready:
                order.append(key)
                continue
            uses[key] = uses.get(key, 0) + 1
            if uses[key] == 1:
                stack.append((key, True))
                stack.extend((child, False) for child in reversed(self._children(key)))
        return order, uses

    def _help(self, name: str) -> str:
        self.helpers.add(name)
        return name

    def _text(self, key: _Key) -> str:
        node = key[0]
        operands = [self._texts[child] for child in self._children(key)]
        match node:
            case Const(value=value):
                return literal(value, node.type)
            case Variable(name=name):
                return self.variable(name)
            case Load(buffer=buffer):
                return f"{self.buffer(buffer)}[{_bare(operands[0])}]"
            case Cast(value=value):
                return self._cast(node.type, value.type, operands[0])
            case Op():
                return self._operator(node, key, operands)
            case Call():
                raise TypeError(f"`{node}` is not lowered to an access of memory.")
        raise TypeError(f"{type(node).__name__} has no meaning in a kernel: `{node}`.")

    def _operator(self, node: Op, key: _Key, operands: list[str]) -> str:
        name, of = node.name, node.args[-1].type
        if name in _COMPARISONS or (name in _BOOLEAN and of.is_bool):
            symbol = _BOOLEAN[name] if of.is_bool and name in _BOOLEAN else _COMPARISONS[name]
            return f"({operands[0]} {symbol} {operands[1]})"
        if name == "not":
            return f"!{operands[0]}"
        if name == "select":
            return f"({operands[0]} ? {operands[1]} : {operands[2]})"
        if of.is_bool:
            return "false"  # all that remains of operators on booleans is `mod`
        if of.is_float:
            return self._float(name, node.type, operands)
        return self._integer(node, key, operands)

    def _float(self, name: str, type: Type, operands: list[str]) -> str:
        if name in _SYMBOLS:
            return f"({operands[0]} {_SYMBOLS[name]} {operands[1]})"
        helper = {"min": "lesser", "max": "greater", "mod": "float_mod"}.get(name)
        arguments = ", ".join(_bare(o) for o in operands)
        if helper is not None:
            return f"{self._help(helper)}({arguments})"
        function = "fabs" if name == "abs" else name
        return f"{function}{'f' if type.bits == 32 else ''}({arguments})"

    def _integer(self, node: Op, key: _Key, operands: list[str]) -> str:
        name, type = node.name, node.type
        if name in ("add", "sub", "mul"):
            if key[1]:
                return f"({operands[0]} {_SYMBOLS[name]} {operands[1]})"
            return f"({ctype(type)}){self._ring(key)}"
        arguments = ", ".join(_bare(o) for o in operands)
        if name in ("min", "max"):
            return f"{name}({arguments})"
        source = node.args[0].type
        signed, unsigned = _computing(source)
        if name == "abs":
            text = f"{self._help('magnitude')}<{signed}, {unsigned}>({arguments})"
            return text if type.bits >= 32 else f"({ctype(type)}){text}"
        return self._division(node, operands, arguments)

    def _division(self, node: Op, operands: list[str], arguments: str) -> str:
        name, type = node.name, node.type
        signed, unsigned = _computing(type)
        divisor = node.args[1]
        counts = type.is_uint or self._is_count(node.args[0])
        if counts and isinstance(divisor, Const) and divisor.value > 0:
            return f"({operands[0]} {'/' if name == 'div' else '%'} {operands[1]})"
        if type.is_uint:
            wide = unsigned if type.bits >= 32 else signed
            return f"{self._help(f'unsigned_{name}')}<{wide}>({arguments})"
        if name == "mod":
            return f"{self._help('euclid_mod')}<{signed}>({arguments})"
        text = f"{self._help('euclid_div')}<{signed}, {unsigned}>({arguments})"
        # The least narrow integer over -1 does not fit its type.
        return text if type.bits >= 32 else f"({ctype(type)}){text}"

    def _is_count(self, node: Expr) -> bool:
        """Whether a coordinate is certainly not negative."""
        match node:
            case Const(value=value):
                return value >= 0
            case Variable(name=name):
                return self.counts(name)
            case Op(name="add" | "mul" | "min", args=args):
                return not self._reads_memory(node) and all(self._is_count(a) for a in args)
            case Op(name="max", args=args):
                return any(self._is_count(a) for a in args)
            case Op(name="select", args=args):
                return all(self._is_count(a) for a in args[1:])
            case Op(name="div" | "mod", args=(value, Const(value=divisor))) if divisor > 0:
                return node.name == "mod" or self._is_count(value)
        return False

    def _ring(self, key: _Key) -> str:
        """A sum, difference or product in the unsigned type that it is worked out in."""
        node = key[0]
        assert isinstance(node, Op)
        parts = [self._ring_operand(child) for child in self._children(key)]
        return f"({parts[0]} {_SYMBOLS[node.name]} {parts[1]})"

    def _ring_operand(self, key: _Key) -> str:
        node, text = key[0], self._texts[key]
        unsigned = _computing(node.type)[1]
        prefix = f"({ctype(node.type)})("
        is_sum = isinstance(node, Op) and node.name in ("add", "sub", "mul")
        if is_sum and text.startswith(prefix):
            return text[len(prefix) - 1 :]  # it is in that type already, before its conversion
        if node.type.is_uint and node.type.bits >= 32:
            return text
        if isinstance(node, Const) and node.value >= 0:
            return f"{int(node.value)}{'ull' if node.type.bits == 64 else 'u'}"
        return f"({unsigned}){text}"

    def _cast(self, to: Type, source: Type, text: str) -> str:
        if to.is_bool:
            return f"({text} >= 1)" if source.is_float else f"(({text} & 1) != 0)"
        if to.is_float or not source.is_float:
            return f"({ctype(to)}){text}"
        if to.bits < 32:
            limits = f"{to.min_value}), {to.max_value}"
            return f"({ctype(to)})min(max({self._help('to_int')}({_bare(text)}), {limits})"
        helper = {"int": "to_int", "uint": "to_uint"}[to.code]
        if to.bits == 64:
            helper = {"int": "to_llong", "uint": "to_ullong"}[to.code]
        return f"{self._help(helper)}({_bare(text)})"


_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_BOOLEAN = {
    "and": "&&", "or": "||", "add": "!=", "sub": "!=", "mul": "&&", "div": "&&",
    "min": "&&", "max": "||",
}  # fmt: skip
"""Operators on booleans, which are integers of one bit."""


def _computing(type: Type) -> tuple[str, str]:
    """The signed and the unsigned type that arithmetic on an integer type is worked out in."""
    if type.bits == 64:
        return "long long", "unsigned long long"
    return "int", "unsigned int"


def _bare(text: str) -> str:
    """``text`` without parentheses that enclose all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if at == len(text) - 1 else text
    return text
