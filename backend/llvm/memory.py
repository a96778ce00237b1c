"""Loads and stores of scalars and vectors: dense, strided by shuffles, and lane by lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen
from llvmlite import ir

from backend.llvm.alias import AliasScopes
from backend.llvm.blocks import I32, I64, VOID, IRType, Value, i32, i64
from backend.llvm.operators import Operators, llvm_type, memory_type, suffix
from spaces.model.types import Type

_SHUFFLED_STRIDES = range(2, 5)
"""Strides whose elements are cheaper to pick out of dense vectors than to load one by one."""


def _suffix_in_memory(type: Type) -> str:
    return suffix(Type("uint", 8, type.lanes) if type.is_bool else type)


@frozen
class Memory:
    """Emits accesses to buffers at the place where ``builder`` stands."""

    builder: Any
    scopes: AliasScopes
    operators: Operators

    def address(self, base: Value, index: Value, type: Type) -> Value:
        """The address of an element; ``index`` counts elements, in 64 bits."""
        return self.builder.gep(base, [index], source_etype=memory_type(type.element))

    def load(self, buffer: str, address: Value, type: Type) -> Value:
        """A scalar or a dense vector; booleans become bits."""
        value = self.builder.load(address, typ=memory_type(type), align=type.bytes)
        self.scopes.mark(value, buffer)
        if not type.is_bool:
            return value
        zero = ir.Constant(value.type, None if type.lanes > 1 else 0)
        return self.builder.icmp_unsigned("!=", value, zero)

    def store(self, buffer: str, address: Value, value: Value, type: Type) -> None:
        """Store a scalar or a dense vector."""
        if type.is_bool:
            value = self.builder.zext(value, memory_type(type))
        self.scopes.mark(self.builder.store(value, address, align=type.bytes), buffer)

    def load_masked(
        self, buffer: str, address: Value, type: Type, stride: int, mask: Value
    ) -> Value:
        """Dense elements forwards (``stride`` 1) or backwards (-1), the first lane's at
        ``address``, in the lanes that ``mask`` names; zeros in the others.
        """
        lanes, kind = range(type.lanes), memory_type(type)
        if stride == -1:
            address = self.address(address, i64(1 - type.lanes), type)
            mask = self._pick(mask, None, lanes[::-1])
        name = f"llvm.masked.load.{_suffix_in_memory(type)}.p0"
        zeros = ir.Constant(kind, None)
        align = i32(type.bytes)
        value = self.operators.intrinsic(name, kind, address, align, mask, zeros)
        self.scopes.mark(value, buffer)
        if stride == -1:
            value = self._pick(value, None, lanes[::-1])
        return self.builder.icmp_unsigned("!=", value, zeros) if type.is_bool else value

    def store_masked(
        self, buffer: str, address: Value, value: Value, type: Type, mask: Value
    ) -> None:
        """Store a dense vector in the lanes that ``mask`` names."""
        if type.is_bool:
            value = self.builder.zext(value, memory_type(type))
        name = f"llvm.masked.store.{_suffix_in_memory(type)}.p0"
        align = i32(type.bytes)
        call = self.operators.intrinsic(name, VOID, value, address, align, mask)
        self.scopes.mark(call, buffer)

    def kept_in(
        self, mask: Value, address: Callable[[int], Value], other: Value
    ) -> Callable[[int], Value]:
        """The addresses of the lanes that ``mask`` names, and ``other`` for the rest."""

        def chosen(lane: int) -> Value:
            bit = self.builder.extract_element(mask, i32(lane))
            return self.builder.select(bit, address(lane), other)

        return chosen

    def load_strided(self, buffer: str, address: Value, type: Type, stride: int) -> Value:
        """Elements ``stride`` apart, the first at ``address``. Touches nothing beyond the last."""
        lanes = type.lanes
        if stride == 1:
            return self.load(buffer, address, type)
        if stride == -1:
            first = self.address(address, i64(1 - lanes), type)
            return self._pick(self.load(buffer, first, type), None, range(lanes - 1, -1, -1))
        if stride in _SHUFFLED_STRIDES:
            return self._load_shuffled(buffer, address, type, stride)
        return self.load_lanes(
            buffer, type, lambda lane: self.address(address, i64(lane * stride), type)
        )

    def _load_shuffled(self, buffer: str, address: Value, type: Type, stride: int) -> Value:
        """Pick the lanes out of dense vectors, the last of which ends at the last lane."""
        lanes = type.lanes
        starts = [k * lanes for k in range(stride)]
        starts[-1] = (lanes - 1) * stride + 1 - lanes
        result: Value = None
        for start in starts:
            part = self.load(buffer, self.address(address, i64(start), type), type)
            inside = [start <= lane * stride < start + lanes for lane in range(lanes)]
            chosen = [
                lane * stride - start + lanes if is_in else lane
                for lane, is_in in enumerate(inside)
            ]
            if result is None:
                result = self._pick(part, None, [max(0, c - lanes) for c in chosen])
            else:
                result = self._pick(result, part, chosen)
        return result

    def load_pairs(self, buffer: str, even: Value, odd: Value, type: Type) -> Value:
        """Even and odd lanes from dense memory each."""
        half = type.element.with_lanes(type.lanes // 2)
        parts = [self.load(buffer, address, half) for address in (even, odd)]
        if half.lanes == 1:
            both = ir.Constant(llvm_type(type), ir.Undefined)
            for lane, part in enumerate(parts):
                both = self.builder.insert_element(both, part, i32(lane))
            return both
        lanes = [lane // 2 + lane % 2 * half.lanes for lane in range(type.lanes)]
        return self._pick(parts[0], parts[1], lanes)

    def _pick(self, a: Value, b: Value | None, lanes: Sequence[int]) -> Value:
        mask = ir.Constant(ir.VectorType(I32, len(lanes)), [i32(lane) for lane in lanes])
        return self.builder.shuffle_vector(
            a, ir.Constant(a.type, ir.Undefined) if b is None else b, mask
        )

    def load_lanes(self, buffer: str, type: Type, address: Callable[[int], Value]) -> Value:
        """A vector whose lanes are loaded one by one."""
        result = ir.Constant(llvm_type(type), ir.Undefined)
        for lane in range(type.lanes):
            value = self.load(buffer, address(lane), type.element)
            result = self.builder.insert_element(result, value, i32(lane))
        return result

    def store_lanes(
        self, buffer: str, value: Value, type: Type, address: Callable[[int], Value]
    ) -> None:
        """Store the lanes of a vector one by one, in order."""
        for lane in range(type.lanes):
            part = self.builder.extract_element(value, i32(lane))
            self.store(buffer, address(lane), part, type.element)

    def widen_lane(self, index: Value, lane: int) -> Value:
        """One lane of a vector of 32-bit indices, in 64 bits."""
        return self.builder.sext(self.builder.extract_element(index, i32(lane)), I64)

    def broadcast(self, value: Value, kind: IRType) -> Value:
        """``value`` in every lane of a vector of type ``kind``."""
        undefined = ir.Constant(kind, ir.Undefined)
        single = self.builder.insert_element(undefined, value, i32(0))
        mask = ir.Constant(ir.VectorType(I32, kind.count), [i32(0)] * kind.count)
        return self.builder.shuffle_vector(single, undefined, mask)
