"""Conditions on the sizes and parameters of a call, as LLVM instructions on integers that are wide
enough for every number in them.

:data:`~spaces.model.formulas.algebra.INTEGERS` says what such a condition means: numbers of int32
are mathematical integers, and other numbers wrap in their type. Most numbers fit 64 bits. LLVM's
integers have any width, so each longer number gets as many bits as its operator and operands say;
no answer wraps.

A product of two wide integers is hundreds of instructions, and a quotient is more. So these are
calls of functions, one for each operator and width; and conditions share the numbers that are in
several of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from attrs import define, field, frozen
from llvmlite import ir

from spaces.backend.llvm.float_lanes import function_once
from spaces.backend.llvm.operators import Operators, constant_of, literal, llvm_type
from spaces.backend.llvm.runtime.blocks import I1, Value
from spaces.model.expressions.expr import Expr, Variable, walk
from spaces.model.expressions.operators import COMPARISONS, LOGIC
from spaces.model.expressions.types import Bool, Int32, Type
from spaces.model.formulas.algebra import INTEGERS, MOST_SHIFT, SHIFTS, Reading, read_all
from spaces.model.formulas.widths import MAGNITUDES, magnitude_of, magnitude_of_type

_WORD = 64
"""The bits of a size, a stride or an int32 parameter in machine code."""

_IN_PLACE = 128
"""The bits of the widest products that are not calls."""

_LEAST_DIVIDED = 256
"""The bits of the narrowest wider integers that are divided. A function of a library divides
integers of 128 bits, and not every process has it; LLVM divides longer integers by its own
instructions.
"""

_DIVISIONS = ("div", "mod")


@frozen
class _Number:
    """A number in machine code, and a limit of its absolute value. A condition is a single bit."""

    value: Value
    magnitude: int


@define
class ExactConditions:
    """Emits conditions without floats, calls and vectors at the position of ``operators``, on
    variables whose values do not change.
    """

    operators: Operators
    variables: Mapping[str, Value]
    _values: dict[str, _Number] = field(init=False, factory=dict)
    _done: dict[Expr, _Number] = field(init=False, factory=dict)

    def emit(self, condition: Expr) -> Value:
        """A condition as a single bit."""
        for node in walk(condition, known=self._done):
            if isinstance(node, Variable) and node.name not in self._values:
                self._values[node.name] = self._variable(node)
        (found,) = read_all((condition,), self._values, self._reading, self._done)
        return self._truth(found)

    @cached_property
    def _reading(self) -> Reading[_Number]:
        """The reading that emits a formula."""
        whole = INTEGERS.operators.keys() - set(LOGIC)
        operators: dict[str, Callable[..., _Number]] = {
            name: partial(self._number_operator, name) for name in whole
        }
        operators |= {name: partial(self._comparison, name) for name in COMPARISONS}
        operators |= {name: partial(self._logic, name) for name in LOGIC}
        operators |= {name: partial(self._shift, name) for name in SHIFTS}
        operators["select"] = self._select
        return Reading(_literal, self._wrapped, operators)

    def _variable(self, variable: Variable) -> _Number:
        """The value of a variable; one of int32 has 64 bits."""
        value, magnitude = self.variables[variable.name], magnitude_of(variable)
        if variable.type.is_bool:
            return _Number(value, 1)
        held = Type("int", _WORD) if variable.type == Int32 else variable.type
        return _Number(self.operators.convert(held, _holding(magnitude), value), magnitude)

    def _truth(self, number: _Number) -> Value:
        """Whether a value is not zero."""
        value = number.value
        if value.type == I1:
            return value
        zero = ir.Constant(value.type, 0)
        return self.operators.builder.icmp_signed("!=", value, zero)

    def _in(self, type: Type, number: _Number) -> Value:
        """A number with the bits of a type. Its upper bits are lost if the type has fewer."""
        value = number.value
        if value.type == I1:
            return self.operators.convert(Bool, type, value)
        known = constant_of(value)
        if known is not None:
            return literal(type, type.wrap(known))
        return self.operators.convert(Type("int", value.type.width), type, value)

    def _kept(self, value: Value, type: Type, magnitude: int) -> _Number:
        """A number of a type, with as few bits as it needs."""
        narrow = _holding(magnitude)
        if narrow.bits >= type.bits:
            return _Number(value, magnitude)
        return _Number(self.operators.convert(type, narrow, value), magnitude)

    def _wrapped(self, type: Type, number: _Number) -> _Number:
        """A number wrapped to a type of the language."""
        narrow, magnitude = self._in(type, number), magnitude_of_type(type)
        if type.is_bool:
            return _Number(narrow, magnitude)
        return _Number(self.operators.convert(type, _holding(magnitude), narrow), magnitude)

    def _number_operator(self, name: str, *operands: _Number) -> _Number:
        magnitude = MAGNITUDES[name](*(one.magnitude for one in operands))
        wide = _holding(magnitude, *(one.magnitude for one in operands))
        if name in _DIVISIONS and wide.bits > _WORD:
            wide = Type("int", max(wide.bits, _LEAST_DIVIDED))
        args = [self._in(wide, one) for one in operands]
        if wide.bits > _IN_PLACE and _is_long(name, args):
            value = self.operators.builder.call(self._function(name, wide), args)
        else:
            value = self.operators.op(name, wide, [wide] * len(args), args)
        return self._kept(value, wide, magnitude)

    def _function(self, name: str, wide: Type) -> Value:
        """The function of an operator on two integers of a type."""
        module = self.operators.module

        def emit(function: Value, builder: Any) -> None:
            function.attributes.add("noinline")
            inside, (a, b) = Operators(module, builder), function.args
            a = _hidden(builder, a) if name in _DIVISIONS else a
            builder.ret(inside.op(name, wide, (wide, wide), (a, b)))

        return function_once(module, f"spaces.{name}.i{wide.bits}", llvm_type(wide), 2, emit)

    def _comparison(self, name: str, *operands: _Number) -> _Number:
        wide = _holding(*(one.magnitude for one in operands))
        args = [self._in(wide, one) for one in operands]
        return _Number(self.operators.op(name, Bool, [wide] * len(args), args), 1)

    def _logic(self, name: str, *operands: _Number) -> _Number:
        parts = [self._truth(one) for one in operands]
        return _Number(self.operators.op(name, Bool, [Bool], parts), 1)

    def _select(self, condition: _Number, a: _Number, b: _Number) -> _Number:
        chosen = self._truth(condition)
        magnitude = max(a.magnitude, b.magnitude)
        if a.value.type == b.value.type == I1:
            return _Number(self.operators.builder.select(chosen, a.value, b.value), magnitude)
        wide = _holding(magnitude)
        arms = self._in(wide, a), self._in(wide, b)
        return _Number(self.operators.builder.select(chosen, *arms), magnitude)

    def _shift(self, name: str, a: _Number, by: _Number) -> _Number:
        """A shift, with the limit that all readings set to its amount. The reading wraps it to its
        type, which has no more bits than the narrowest integers here.
        """
        least, most = (_literal(n) for n in (-MOST_SHIFT, MOST_SHIFT))
        limited = self._number_operator("max", least, self._number_operator("min", by, most))
        return self._number_operator(name, a, limited)


def _holding(*magnitudes: int) -> Type:
    """The narrowest integers here that hold all numbers of these absolute values. LLVM computes
    with powers of two of bits anyway.
    """
    needed = max(magnitudes).bit_length() + 1  # and the sign
    return Type("int", max(_WORD, 1 << (needed - 1).bit_length()))


def _literal(value: int) -> _Number:
    return _Number(literal(_holding(abs(value)), value), abs(value))


def _is_long(name: str, operands: Sequence[Value]) -> bool:
    """Whether an operator on wide integers is many instructions. By a power of two it is few."""
    if name not in ("mul", *_DIVISIONS):
        return False
    numbers = map(constant_of, operands[1:] if name in _DIVISIONS else operands)
    return not any(n is not None and n > 0 and n & (n - 1) == 0 for n in numbers)


def _hidden(build: Any, value: Value) -> Value:
    """The value; LLVM knows none of its bits. It would divide numbers that fit 128 bits by a
    function of a library.
    """
    word = ir.IntType(_WORD)
    kind = ir.FunctionType(word, [word])
    zero = build.asm(kind, "", "=r,0", [ir.Constant(word, 0)], False)
    top = ir.Constant(value.type, value.type.width - _WORD)
    return build.xor(value, build.shl(build.zext(zero, value.type), top))
