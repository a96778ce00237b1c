"""Loads and stores of scalars and vectors: dense, strided by shuffles, and lane by lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from attrs import frozen
from llvmlite import ir

from spaces.backend.access import AccessKind
from spaces.backend.llvm.alias import AliasScopes
from spaces.backend.llvm.operators import Operators, llvm_type, memory_type, suffix
from spaces.backend.llvm.runtime.blocks import I32, I64, VOID, IRType, Value, i32, i64
from spaces.model.expressions.types import Type

_SHORTEST_BYTES = 16
"""The bytes of the shortest vector registers of hosts."""


def _suffix_in_memory(type: Type) -> str:
    return suffix(Type("uint", 8, type.lanes) if type.is_bool else type)


@lru_cache(maxsize=1024)
def _lanes(picks: tuple[int, ...]) -> Value:
    """The operand of a shuffle that names the picked lanes."""
    return ir.Constant(ir.VectorType(I32, len(picks)), [i32(lane) for lane in picks])


_IN_ONE_STEP = {
    **{("add", code): "add" for code in ("int", "uint")},
    ("add", "float"): "fadd",
    **{(f"bit_{name}", code): name for name in ("and", "or", "xor") for code in ("int", "uint")},
    **{(name, "int"): name for name in ("min", "max")},
    **{(name, "uint"): f"u{name}" for name in ("min", "max")},
}
"""For each kind of type, the operators that ``atomicrmw`` computes with Halide's meaning."""


Kept: TypeAlias = tuple[Value, Value]
"""A mask of lanes, and the address that all other lanes use."""


@frozen
class AccessEmitter:
    """Emits accesses to buffers at the position of ``builder``.

    Before each access it calls :meth:`touch`, :meth:`touch_masked` or :meth:`touch_lanes`. In this
    class these do nothing.
    """

    builder: Any
    scopes: AliasScopes
    operators: Operators

    def touch(self, access: AccessKind, buffer: str, address: Value, type: Type) -> None:
        """Called before an access of a scalar or a dense vector."""

    def touch_masked(
        self, access: AccessKind, buffer: str, address: Value, type: Type, mask: Value
    ) -> None:
        """Called before an access of the lanes of a dense vector in ``mask``."""

    def touch_lanes(
        self,
        access: AccessKind,
        buffer: str,
        address: Callable[[int], Value],
        type: Type,
        kept: Kept | None,
    ) -> None:
        """Called before accesses of the lanes of a vector one by one."""

    def address(self, base: Value, index: Value, type: Type) -> Value:
        """The address of an element; ``index`` counts elements, in 64 bits."""
        return self.builder.gep(base, [index], source_etype=memory_type(type.element))

    def load(self, buffer: str, address: Value, type: Type) -> Value:
        """Loads a scalar or a dense vector; booleans become bits."""
        self.touch(AccessKind.READ, buffer, address, type)
        return self._load(buffer, address, type)

    def _load(self, buffer: str, address: Value, type: Type) -> Value:
        value = self.builder.load(address, typ=memory_type(type), align=type.bytes)
        self.scopes.mark(value, buffer)
        if not type.is_bool:
            return value
        zero = ir.Constant(value.type, None if type.lanes > 1 else 0)
        return self.builder.icmp_unsigned("!=", value, zero)

    def store(self, buffer: str, address: Value, value: Value, type: Type) -> None:
        """Stores a scalar or a dense vector."""
        self.touch(AccessKind.WRITE, buffer, address, type)
        self._store(buffer, address, value, type)

    def _store(self, buffer: str, address: Value, value: Value, type: Type) -> None:
        if type.is_bool:
            value = self.builder.zext(value, memory_type(type))
        self.scopes.mark(self.builder.store(value, address, align=type.bytes), buffer)

    def update(self, buffer: str, address: Value, operator: str, value: Value, type: Type) -> None:
        """Combines one element with ``value`` in an atomic step. If the processor has no such
        instruction, a loop replaces the element by the result and repeats while another thread
        changes the element in between.
        """
        self.touch(AccessKind.WRITE, buffer, address, type)
        instruction = _IN_ONE_STEP.get((operator, type.code))
        if type.is_bool:
            value = self.builder.zext(value, memory_type(type))
            instruction = operator.removeprefix("bit_")
        if instruction is not None:
            self.builder.atomic_rmw(instruction, address, value, "monotonic")
            return
        build, bits = self.builder, ir.IntType(8 * type.bytes)
        before, again = build.block, build.append_basic_block("again")
        first = build.load_atomic(address, "monotonic", type.bytes, typ=bits)
        build.branch(again)
        build.position_at_end(again)
        held = build.phi(bits, "held")
        held.add_incoming(first, before)
        kind = llvm_type(type)
        now = build.bitcast(held, kind) if type.is_float else held
        result = self.operators.op(operator, type, (type, type), (now, value))
        new = build.bitcast(result, bits) if type.is_float else result
        pair = build.cmpxchg(address, held, new, "monotonic", "monotonic")
        held.add_incoming(build.extract_value(pair, 0), build.block)
        done = build.append_basic_block("exchanged")
        build.cbranch(build.extract_value(pair, 1), done, again)
        build.position_at_end(done)

    def load_masked(
        self, buffer: str, address: Value, type: Type, stride: int, mask: Value
    ) -> Value:
        """Loads dense elements forwards (``stride`` 1) or backwards (-1) in the lanes of ``mask``;
        the other lanes are zero. ``address`` is the address of the first lane.
        """
        lanes, kind = range(type.lanes), memory_type(type)
        if stride == -1:
            address = self.address(address, i64(1 - type.lanes), type)
            mask = self._pick(mask, None, lanes[::-1])
        self.touch_masked(AccessKind.READ, buffer, address, type, mask)
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
        """Stores a dense vector in the lanes of ``mask``."""
        self.touch_masked(AccessKind.WRITE, buffer, address, type, mask)
        if type.is_bool:
            value = self.builder.zext(value, memory_type(type))
        full = _SHORTEST_BYTES // type.bytes
        if type.lanes < full:
            # LLVM treats a shorter vector as one of wider elements, and may then store these whole.
            lanes, missing = range(type.lanes), full - type.lanes
            none = ir.Constant(mask.type, None)
            mask = self._pick(mask, none, [*lanes, *[type.lanes] * missing])
            value = self._pick(value, None, [*lanes, *[0] * missing])
            type = type.element.with_lanes(full)
        name = f"llvm.masked.store.{_suffix_in_memory(type)}.p0"
        align = i32(type.bytes)
        call = self.operators.intrinsic(name, VOID, value, address, align, mask)
        self.scopes.mark(call, buffer)

    def _kept_in(
        self, address: Callable[[int], Value], kept: Kept | None
    ) -> Callable[[int], Value]:
        """The address of each kept lane, and the spare address for each other lane."""
        if kept is None:
            return address
        mask, other = kept

        def chosen(lane: int) -> Value:
            bit = self.builder.extract_element(mask, i32(lane))
            return self.builder.select(bit, address(lane), other)

        return chosen

    def load_strided(self, buffer: str, address: Value, type: Type, stride: int) -> Value:
        """Loads elements ``stride`` apart, the first at ``address``. Touches nothing behind the
        last one.
        """
        lanes = type.lanes
        if stride == 1:
            return self.load(buffer, address, type)
        if stride == -1:
            first = self.address(address, i64(1 - lanes), type)
            return self._pick(self.load(buffer, first, type), None, range(lanes - 1, -1, -1))
        return self.load_lanes(
            buffer, type, lambda lane: self.address(address, i64(lane * stride), type)
        )

    def shuffle(self, parts: Sequence[Value], picks: Sequence[int]) -> Value:
        """The picked lanes of the concatenation of vectors, by shuffles of two vectors each, as
        processors have them.
        """
        count = parts[0].type.count
        if len(parts) == 1:
            return self._pick(parts[0], None, picks)
        places = [(pick // count, pick % count) for pick in picks]
        if len(parts) == 2:
            return self._pick(parts[0], parts[1], picks)
        result = self.shuffle(parts[:2], [lane + (part == 1) * count for part, lane in places])
        for number, value in enumerate(parts[2:], start=2):
            wide = self._pick(value, None, [lane for _, lane in places])
            chosen = [lane + (part == number) * len(picks) for lane, (part, _) in enumerate(places)]
            result = self._pick(result, wide, chosen)
        return result

    def _pick(self, a: Value, b: Value | None, lanes: Sequence[int]) -> Value:
        other = ir.Constant(a.type, ir.Undefined) if b is None else b
        return self.builder.shuffle_vector(a, other, _lanes(tuple(lanes)))

    def load_lanes(
        self, buffer: str, type: Type, address: Callable[[int], Value], kept: Kept | None = None
    ) -> Value:
        """Loads the lanes of a vector one by one; lanes that are not kept load from the spare
        address.
        """
        self.touch_lanes(AccessKind.READ, buffer, address, type, kept)
        place = self._kept_in(address, kept)
        result = ir.Constant(llvm_type(type), ir.Undefined)
        for lane in range(type.lanes):
            value = self._load(buffer, place(lane), type.element)
            result = self.builder.insert_element(result, value, i32(lane))
        return result

    def store_lanes(
        self,
        buffer: str,
        value: Value,
        type: Type,
        address: Callable[[int], Value],
        kept: Kept | None = None,
    ) -> None:
        """Stores the lanes of a vector one by one, in order; lanes that are not kept store to the
        spare address.
        """
        self.touch_lanes(AccessKind.WRITE, buffer, address, type, kept)
        place = self._kept_in(address, kept)
        for lane in range(type.lanes):
            part = self.builder.extract_element(value, i32(lane))
            self._store(buffer, place(lane), part, type.element)

    def widen_lane(self, index: Value, lane: int) -> Value:
        """One lane of a vector of 32-bit indices, in 64 bits."""
        return self.builder.sext(self.builder.extract_element(index, i32(lane)), I64)

    def broadcast(self, value: Value, kind: IRType) -> Value:
        """``value`` in every lane of a vector of type ``kind``."""
        undefined = ir.Constant(kind, ir.Undefined)
        single = self.builder.insert_element(undefined, value, i32(0))
        mask = _lanes((0,) * kind.count)
        return self.builder.shuffle_vector(single, undefined, mask)
