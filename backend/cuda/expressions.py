"""Expressions as CUDA C, with the meaning of `spaces.backend.arithmetic`.

Integers wrap without undefined behaviour: the text computes sums, differences and products of
signed and of narrow types in an unsigned type and converts them back. Coordinates are the
exception. Indices of memory and bounds of loops never wrap, because they stay far from the limits
of int (the caller checks sizes). They are printed as plain int arithmetic, which compilers
understand better.

A printed expression of a type narrower than int may have the C type int; its value is in range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from attrs import define, field, frozen

from spaces.backend.cuda.c_text import (
    CExpression,
    binary,
    call,
    choice,
    conversion,
    ctype,
    element,
    literal,
    negation,
)
from spaces.backend.cuda.number_ends import NumberEnds
from spaces.backend.ir.vectors import Load
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable
from spaces.model.expressions.intrinsics import BIT_COUNTS, FLOAT_FUNCTIONS
from spaces.model.expressions.operators import BITWISE, COMPARISONS, INFIX
from spaces.model.expressions.types import Bool, Int32, Type

_DEEPEST = 24
"""The depth of nesting from which a subexpression gets a name."""


@frozen
class Root:
    """An expression to print; ``is_index`` if it is a coordinate, an index or a bound."""

    expr: Expr
    is_index: bool


@frozen
class Printed:
    """The definitions of names for repeated subexpressions, and the text of each root."""

    definitions: tuple[str, ...]
    texts: tuple[CExpression, ...]


_Key: TypeAlias = tuple[Expr, bool]
"""A node, and whether to print it as plain int arithmetic."""


@define
class ExpressionPrinter:
    """Prints expressions of one kernel.

    Attributes:
        variable: gives the name of a variable.
        ends: the ends of the numbers in the kernel.
        buffer: gives the name of a buffer.
        fresh: gives a new name.
        helpers: names of the helper functions that the text calls so far.
    """

    variable: Callable[[str], str]
    ends: NumberEnds
    buffer: Callable[[str], str]
    fresh: Callable[[str], str]
    helpers: set[str]
    _texts: dict[_Key, CExpression] = field(factory=dict)
    _rings: dict[_Key, CExpression] = field(factory=dict)
    _reads: dict[Expr, bool] = field(factory=dict)

    def print(self, roots: Sequence[Root]) -> Printed:
        """The texts of ``roots``; the kernel evaluates them in order at one place."""
        keys = [self._key(root.expr, root.is_index) for root in roots]
        order, uses = self._order(keys)
        self._texts, self._rings = {}, {}
        definitions, depths = [], dict[_Key, int]()
        for key in order:
            node = key[0]
            text = self._text(key)
            depth = 1 + max((depths[c] for c in self._children(key)), default=0)
            is_simple = isinstance(node, Const | Variable)
            if not is_simple and (uses[key] > 1 or depth > _DEEPEST):
                name = self.fresh("t")
                definitions.append(f"const {ctype(node.type)} {name} = {text};")
                text, depth = CExpression(name), 0
                self._rings.pop(key, None)
            self._texts[key], depths[key] = text, depth
        return Printed(tuple(definitions), tuple(self._texts[key] for key in keys))

    def _key(self, node: Expr, is_index: bool) -> _Key:
        """Allows plain int arithmetic only for coordinates that depend on no data."""
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

    def _help(self, name: str, *arguments: CExpression, types: str = "") -> CExpression:
        """A call of a helper function with the given C types."""
        self.helpers.add(name)
        return call(f"{name}<{types}>" if types else name, *arguments)

    def _text(self, key: _Key) -> CExpression:
        node = key[0]
        operands = [self._texts[child] for child in self._children(key)]
        match node:
            case Const(value=value):
                return literal(value, node.type)
            case Variable(name=name):
                return CExpression(self.variable(name))
            case Load(buffer=buffer):
                return element(self.buffer(buffer), operands[0])
            case Cast(value=value):
                return self._cast(node.type, value.type, operands[0])
            case Op():
                return self._operator(node, key, operands)
            case Call():
                raise TypeError(f"`{node}` is not lowered to an access of memory.")
        raise TypeError(f"{type(node).__name__} has no meaning in a kernel: `{node}`.")

    def _operator(self, node: Op, key: _Key, operands: list[CExpression]) -> CExpression:
        name, of = node.name, node.args[-1].type
        if of.is_bool and name in _BOOLEAN:
            return binary(_BOOLEAN[name], *operands)
        if name in COMPARISONS:
            return binary(_symbol(name), *operands)
        if name == "not":
            return negation(operands[0])
        if name == "select":
            return choice(*operands)
        if of.is_bool:
            return literal(0, Bool)  # the only other operator on booleans is `mod`
        if name in ("reinterpret", "shift_left", "shift_right"):
            return self._bits(node, operands)
        if of.is_float:
            return self._float(name, node.type, operands)
        return self._integer(node, key, operands)

    def _bits(self, node: Op, operands: list[CExpression]) -> CExpression:
        """Operators that depend on another type than the type of the result."""
        to, source = node.type, node.args[0].type
        if node.name == "reinterpret":
            if to.is_float == source.is_float:
                return conversion(ctype(to), operands[0])
            read = _READ_BITS[to.bits]
            if to.is_float:
                carrier = "unsigned int" if to.bits == 32 else "long long"
                return call(read[0], conversion(carrier, operands[0]))
            return conversion(ctype(to), call(read[1], operands[0]))
        by = node.args[1]
        if isinstance(by, Const) and 0 <= by.value < to.bits:
            return self._shift_by_number(node, operands[0], int(by.value))
        types = f"{ctype(to)}, {ctype(Type('uint', to.bits))}, {ctype(by.type)}"
        return self._help(node.name, *operands, types=types)

    def _shift_by_number(self, node: Op, value: CExpression, number: int) -> CExpression:
        symbol, type = _symbol(node.name), node.type
        if symbol == "<<":
            value = conversion(_computing(type)[1], value)
        shifted = binary(symbol, value, literal(number, Int32))
        return conversion(ctype(type), shifted) if symbol == "<<" else shifted

    def _float(self, name: str, type: Type, operands: list[CExpression]) -> CExpression:
        if name in _OF_FLOATS:
            return binary(_symbol(name), *operands)
        helper = {"min": "lesser", "max": "greater", "mod": "float_mod"}.get(name)
        if helper is not None:
            return self._help(helper, *operands)
        function = "fabs" if name == "abs" else FLOAT_FUNCTIONS[name].cuda
        return call(f"{function}f" if type.bits == 32 else function, *operands)

    def _integer(self, node: Op, key: _Key, operands: list[CExpression]) -> CExpression:
        name, type = node.name, node.type
        if name in ("add", "sub", "mul"):
            if key[1]:
                return binary(_symbol(name), *operands)
            ring = binary(_symbol(name), *(self._ring(child) for child in self._children(key)))
            self._rings[key] = ring
            return conversion(ctype(type), ring)
        if name in ("min", "max"):
            return call(name, *operands)
        if name in BITWISE:
            return binary(_symbol(name), *operands)
        if name in BIT_COUNTS:
            bits = conversion(ctype(Type("uint", type.bits)), operands[0])
            return conversion(ctype(type), self._help(name, bits, literal(type.bits, Int32)))
        if name == "abs":
            signed, unsigned = _computing(node.args[0].type)
            text = self._help("magnitude", *operands, types=f"{signed}, {unsigned}")
            return text if type.bits >= 32 else conversion(ctype(type), text)
        return self._division(node, key, operands)

    def _division(self, node: Op, key: _Key, operands: list[CExpression]) -> CExpression:
        name, type, divisor = node.name, node.type, node.args[1]
        signed, unsigned = _computing(type)
        if type.is_uint:
            if isinstance(divisor, Const) and divisor.value > 0:
                return binary(_QUOTIENTS[name], *operands)
            wide = unsigned if type.bits >= 32 else signed
            return self._help(f"unsigned_{name}", *operands, types=wide)
        if type is Int32 and all(self._is_count(child) for child in self._children(key)):
            return self._of_counts(name, divisor, operands)
        if name == "mod":
            return self._help("euclid_mod", *operands, types=signed)
        text = self._help("euclid_div", *operands, types=f"{signed}, {unsigned}")
        # The least narrow integer over -1 does not fit its type.
        return text if type.bits >= 32 else conversion(ctype(type), text)

    def _of_counts(self, name: str, divisor: Expr, operands: list[CExpression]) -> CExpression:
        """A quotient or remainder of numbers that are not negative. Unsigned ones take fewer
        instructions.
        """
        if isinstance(divisor, Const) and divisor.value > 0:
            dividend = conversion("unsigned int", operands[0])
            by = CExpression(f"{int(divisor.value)}u")
            return conversion("int", binary(_QUOTIENTS[name], dividend, by))
        return conversion("int", self._help(f"unsigned_{name}", *operands, types="unsigned int"))

    def _is_count(self, key: _Key) -> bool:
        """Whether an operand is certainly not negative."""
        node, is_coordinate = key
        known = is_coordinate or self.ends.is_exact(node)
        return known and self.ends.of_coordinate(node)[0] >= 0

    def _ring(self, key: _Key) -> CExpression:
        """An operand of a sum, difference or product, in the unsigned type of the computation."""
        node, text = key[0], self._texts[key]
        if key in self._rings:
            return self._rings[key]  # before its conversion it already has that type
        if node.type.is_uint and node.type.bits >= 32:
            return text
        if isinstance(node, Const) and node.value >= 0:
            return CExpression(f"{int(node.value)}{'ull' if node.type.bits == 64 else 'u'}")
        return conversion(_computing(node.type)[1], text)

    def _cast(self, to: Type, source: Type, text: CExpression) -> CExpression:
        if to.is_bool and source.is_float:
            return binary(">=", text, CExpression("1"))
        if to.is_bool:
            return binary("!=", binary("&", text, CExpression("1")), CExpression("0"))
        if to.is_float or not source.is_float:
            return conversion(ctype(to), text)
        if to.bits < 32:
            low, high = literal(to.min_value, Int32), literal(to.max_value, Int32)
            limited = call("min", call("max", self._help("to_int", text), low), high)
            return conversion(ctype(to), limited)
        helper = {"int": "to_int", "uint": "to_uint"}[to.code]
        if to.bits == 64:
            helper = {"int": "to_llong", "uint": "to_ullong"}[to.code]
        return self._help(helper, text)


_QUOTIENTS = {"div": "/", "mod": "%"}
"""How C writes them for numbers that are not negative."""

_OF_FLOATS = ("add", "sub", "mul", "div")
"""Operators of floats that C has."""

_READ_BITS = {
    32: ("__uint_as_float", "__float_as_uint"),
    64: ("__longlong_as_double", "__double_as_longlong"),
}
_BOOLEAN = {
    "and": "&&", "or": "||", "add": "!=", "sub": "!=", "mul": "&&", "div": "&&",
    "min": "&&", "max": "||",
}  # fmt: skip
"""Operators on booleans, which are integers of one bit."""


def _symbol(name: str) -> str:
    """How C writes an operator between its operands."""
    return INFIX[name].cpp_symbol


def _computing(type: Type) -> tuple[str, str]:
    """The signed and the unsigned type in which arithmetic on an integer type is computed."""
    if type.bits == 64:
        return "long long", "unsigned long long"
    return "int", "unsigned int"
