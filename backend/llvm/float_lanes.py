"""Functions of floats written in LLVM IR, for all lanes of a vector at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import frozen
from llvmlite import ir

from spaces.backend.llvm.runtime.blocks import I32, I64, IRType, Value

SINGLE: IRType = ir.FloatType()
DOUBLE: IRType = ir.DoubleType()


def lanes_of(type: IRType) -> int:
    """The number of lanes of ``type``; 1 if it is not a vector."""
    return type.count if isinstance(type, ir.VectorType) else 1


def function_once(
    module: Any, name: str, type: IRType, operands: int, emit: Callable[[Value, Any], None]
) -> Value:
    """The function ``name`` of a module, from ``operands`` values of ``type`` to one value of
    ``type``. At first use, ``emit`` gets the function and a builder at its beginning, and writes
    it.
    """
    known = module.globals.get(name)
    if known is not None:
        return known
    function = ir.Function(module, ir.FunctionType(type, [type] * operands), name)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    emit(function, ir.IRBuilder(function.append_basic_block("entry")))
    return function


@frozen
class FloatLanes:
    """Emits arithmetic on ``lanes`` floats of the type :attr:`real`, and on their bits."""

    real: ClassVar[IRType]

    module: Any
    builder: Any
    lanes: int

    @property
    def integer(self) -> IRType:
        """The type of integers with as many bits as a float."""
        return I32 if self.real == SINGLE else I64

    @property
    def suffix(self) -> str:
        """The suffix of intrinsics on these floats."""
        name = "f32" if self.real == SINGLE else "f64"
        return f"v{self.lanes}{name}" if self.lanes > 1 else name

    def wide(self, element: IRType) -> IRType:
        """The type with one element for each lane."""
        return ir.VectorType(element, self.lanes) if self.lanes > 1 else element

    def number(self, value: float) -> Value:
        """A float, rounded to the type, in every lane."""
        rounded = float(np.float32(value)) if self.real == SINGLE else value
        return self._everywhere(self.real, rounded)

    def whole(self, value: int) -> Value:
        """An integer in every lane."""
        return self._everywhere(self.integer, value)

    def _everywhere(self, element: IRType, value: float | int) -> Value:
        return ir.Constant(self.wide(element), [value] * self.lanes if self.lanes > 1 else value)

    def call(self, name: str, result: IRType, *args: Value) -> Value:
        """Calls a function of the module, an intrinsic, or a function of the C library."""
        kind = ir.FunctionType(result, [a.type for a in args])
        function = self.module.globals.get(name) or ir.Function(self.module, kind, name)
        return self.builder.call(function, args)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """``a * b + c``, rounded once."""
        return self.call(f"llvm.fma.{self.suffix}", a.type, a, b, c)

    def polynomial(self, coefficients: Sequence[float], x: Value) -> Value:
        """The sum of ``coefficients[k] * x**k``."""
        result = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.number(coefficient))
        return result

    def limited(self, x: Value, low: float, high: float) -> Value:
        """The nearest value between two limits; NaN stays NaN."""
        build = self.builder
        least, most = self.number(low), self.number(high)
        x = build.select(build.fcmp_ordered("<", x, least), least, x)
        return build.select(build.fcmp_ordered(">", x, most), most, x)

    def bits(self, value: Value) -> Value:
        """The bits of floats, as integers."""
        return self.builder.bitcast(value, self.wide(self.integer))

    def from_bits(self, bits: Value) -> Value:
        """The floats of these bits."""
        return self.builder.bitcast(bits, self.wide(self.real))
