"""Conditions on the sizes and parameters of a call, as LLVM instructions on integers that are wide
enough for every number in them.

:data:`~spaces.model.formulas.algebra.INTEGERS` says what such a condition means: numbers of int32
are mathematical integers, and other numbers wrap in their type. Most conditions need 64 bits.
LLVM's integers have any width, so a condition with longer products gets wider integers; its answer
never wraps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from attrs import frozen
from llvmlite import ir

from spaces.backend.llvm.operators import Operators, literal
from spaces.backend.llvm.runtime.blocks import I1, Value
from spaces.model.expressions.expr import Expr, Variable, walk
from spaces.model.expressions.operators import COMPARISONS, LOGIC
from spaces.model.expressions.types import Bool, Int32, Type
from spaces.model.formulas.algebra import INTEGERS, MOST_SHIFT, SHIFTS, Reading, read
from spaces.model.formulas.widths import width

_WORD = 64
"""The bits of a size, a stride or an int32 parameter in machine code."""

_LEAST_BEYOND = 192
"""The bits of the narrowest wider integers. A function of a library divides integers of 128 bits,
and not every process has it; LLVM divides longer integers by its own instructions.
"""


def exactly(condition: Expr, variables: Mapping[str, Value], operators: Operators) -> Value:
    """Emits a condition without floats, calls and vectors; returns a single bit."""
    emit = _Exact(operators, Type("int", _bits(condition)))
    values = {
        node.name: emit.extended(node.type, variables[node.name])
        for node in walk(condition)
        if isinstance(node, Variable)
    }
    return emit.truth(read(condition, values, emit.reading))


def _bits(condition: Expr) -> int:
    needed = width(condition) + 1  # and the sign
    return _WORD if needed <= _WORD else max(-(-needed // _WORD) * _WORD, _LEAST_BEYOND)


@frozen
class _Exact:
    """Emits numbers of the type ``wide``, and conditions as single bits."""

    operators: Operators
    wide: Type

    @property
    def reading(self) -> Reading[Value]:
        """The reading that emits a formula."""
        whole = INTEGERS.operators.keys() - set(LOGIC)
        operators: dict[str, Callable[..., Value]] = {
            name: partial(self._number_operator, name) for name in whole
        }
        operators |= {name: partial(self._comparison, name) for name in COMPARISONS}
        operators |= {name: partial(self._logic, name) for name in LOGIC}
        operators |= {name: partial(self._shift, name) for name in SHIFTS}
        operators |= {name: partial(self._division, name) for name in ("div", "mod")}
        operators["select"] = self._select
        return Reading(partial(literal, self.wide), self._wrapped, operators)

    def extended(self, type: Type, value: Value) -> Value:
        """The value of a variable; one of int32 has 64 bits."""
        if type.is_bool:
            return value
        held = Type("int", _WORD) if type == Int32 else type
        return self.operators.convert(held, self.wide, value)

    def truth(self, value: Value) -> Value:
        """Whether a value is not zero."""
        if value.type == I1:
            return value
        return self.operators.builder.icmp_signed("!=", value, literal(self.wide, 0))

    def _number(self, value: Value) -> Value:
        return self.operators.convert(Bool, self.wide, value) if value.type == I1 else value

    def _wrapped(self, type: Type, value: Value) -> Value:
        """A number wrapped to a type of the language."""
        narrow = self.operators.convert(self.wide, type, self._number(value))
        return narrow if type.is_bool else self.operators.convert(type, self.wide, narrow)

    def _number_operator(self, name: str, *operands: Value) -> Value:
        kinds = [self.wide] * len(operands)
        return self.operators.op(name, self.wide, kinds, [self._number(v) for v in operands])

    def _division(self, name: str, a: Value, b: Value) -> Value:
        a = self._number(a)
        return self._number_operator(name, self._hidden(a) if self.wide.bits > _WORD else a, b)

    def _hidden(self, value: Value) -> Value:
        """The value; LLVM knows none of its bits. It would divide numbers that fit 128 bits by a
        function of a library.
        """
        build, word = self.operators.builder, ir.IntType(_WORD)
        kind = ir.FunctionType(word, [word])
        zero = build.asm(kind, "", "=r,0", [ir.Constant(word, 0)], False)
        top = literal(self.wide, self.wide.bits - _WORD)
        return build.xor(value, build.shl(build.zext(zero, value.type), top))

    def _comparison(self, name: str, *operands: Value) -> Value:
        kinds = [self.wide] * len(operands)
        return self.operators.op(name, Bool, kinds, [self._number(v) for v in operands])

    def _logic(self, name: str, *operands: Value) -> Value:
        return self.operators.op(name, Bool, [Bool], [self.truth(v) for v in operands])

    def _select(self, condition: Value, a: Value, b: Value) -> Value:
        if a.type != b.type:
            a, b = self._number(a), self._number(b)
        return self.operators.builder.select(self.truth(condition), a, b)

    def _shift(self, name: str, a: Value, by: Value) -> Value:
        """A shift, with the limit that all readings set to its amount."""
        most, least = (literal(self.wide, n) for n in (MOST_SHIFT, -MOST_SHIFT))
        limited = self._number_operator("max", least, self._number_operator("min", by, most))
        return self._number_operator(name, a, limited)
