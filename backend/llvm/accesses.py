"""How the functions of a module test their accesses of memory, by access mode.

Plain code tests nothing. In hardened code each buffer has a record. It lies on the stack of the
function that obtained the memory, and the bodies of parallel loops get its address::

    number of the buffer, first byte, byte behind the last, element at the least coordinates, number
    of known dimensions, then min, extent and stride of each

All are words of 64 bits. Before each access the function compares its addresses with the first and
the last byte of the obtained memory; it does not look at indices. If an address lies outside, the
function returns :data:`OUTSIDE`. If the caller gives room at ``report``, the function reports the
access there: address, number of bytes, kind of access, and a copy of the record.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from attrs import define, field, frozen
from llvmlite import ir

from spaces.backend.access import POISON, AccessKind, Outside, Side
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import BufferParameter, LoopProgram
from spaces.backend.ir.statements import Allocate
from spaces.backend.llvm.memory import AccessEmitter, Kept
from spaces.backend.llvm.runtime.blocks import I1, I8, I32, I64, POINTER, VOID, Value, i32, i64
from spaces.backend.llvm.words import local_bytes, reporting, store_words
from spaces.model.expressions.types import Type

if TYPE_CHECKING:
    from spaces.backend.llvm.module import Module

OUTSIDE = -2
"""The status of a function that ended before an access outside of its memory."""

Leave: TypeAlias = Callable[[Value, Callable[[], Value]], None]
"""Emits code that leaves the function where a condition holds; the callable emits the status."""

_HEAD = 5
"""Words of a record before its dimensions."""

_REPORT = 4
"""Words of a report before the record: status, address, number of bytes, kind of access."""


class Accesses:
    """Plain code: it tests no access.

    Attributes:
        words_passed: how many words the body of a parallel loop gets for each of its buffers.
    """

    words_passed: ClassVar[int] = 1

    def memory(self, builder: Any, module: Module, operators: Any) -> AccessEmitter:
        """The emitter of accesses in the body of a function."""
        return AccessEmitter(builder, module.scopes, operators)

    def begin(self, entry: Any, here: Any) -> None:
        """Notes the function: the end of its first block, and the end of its body."""

    def leave_by(self, report: Value, leave: Leave) -> None:
        """Notes how to leave the function, and where to report an access (null: nowhere)."""

    def given(self, buffer: BufferParameter, first: Value, sizes: Mapping[str, Value]) -> None:
        """Notes a buffer that the caller passes."""

    def obtained(self, node: Allocate, block: Value, nbytes: Value, value: Any) -> None:
        """Notes new memory for the values of a buffer; ``value`` emits the value of a
        coordinate.
        """

    def again(self, node: Allocate, value: Any) -> None:
        """Notes that memory of another buffer now holds the values of this buffer."""

    def passed(self, buffers: Sequence[str]) -> list[Value]:
        """The words that the body of a parallel loop gets besides the addresses of its buffers."""
        return []

    def received(self, buffers: Sequence[str], records: Sequence[Value]) -> None:
        """Notes the words of :meth:`passed` at the start of a parallel loop's body."""


@frozen
class _Held:
    """Obtained memory: its record, first byte and number of bytes."""

    record: Value
    first: Value
    nbytes: Value


@define
class HardenedAccesses(Accesses):
    """Hardened code: it tests every access and poisons fresh memory."""

    words_passed: ClassVar[int] = 2

    module: Module
    _entry: Any = None
    _here: Any = None
    _report: Value = None
    _leave: Leave | None = None
    _held: dict[str, _Held] = field(factory=dict)

    def memory(self, builder: Any, module: Module, operators: Any) -> AccessEmitter:
        return CheckedMemory(builder, module.scopes, operators, self)

    def begin(self, entry: Any, here: Any) -> None:
        self._entry, self._here = entry, here

    def leave_by(self, report: Value, leave: Leave) -> None:
        self._report, self._leave = report, leave

    def given(self, buffer: BufferParameter, first: Value, sizes: Mapping[str, Value]) -> None:
        """Memory of the caller reaches from the element with the least address to the element with
        the largest address. If an extent is 0, it is empty.
        """
        build = self._entry
        parts = ("min", "extent", "stride")
        sides = [
            tuple(sizes[f"{buffer.name}.{part}.{d}"] for part in parts)
            for d in range(buffer.dimensions)
        ]
        least = most = i64(0)
        empty: Value = I1(0)
        for _, extent, stride in sides:
            reach = build.mul(build.sub(extent, i64(1)), stride)
            back = build.icmp_signed("<", reach, i64(0))
            least = build.add(least, build.select(back, reach, i64(0)))
            most = build.add(most, build.select(back, i64(0), reach))
            empty = build.or_(empty, build.icmp_signed("<", extent, i64(1)))
        size, place = i64(buffer.type.bytes), build.ptrtoint(first, I64)
        low = build.add(place, build.mul(least, size))
        end = build.add(place, build.mul(build.add(most, i64(1)), size))
        self._hold(build, buffer.name, place, low, build.select(empty, low, end), sides)

    def obtained(self, node: Allocate, block: Value, nbytes: Value, value: Any) -> None:
        build = self._here
        place = build.ptrtoint(block, I64)
        sides = [(value(d.min), value(d.extent), value(d.stride)) for d in node.dimensions]
        self._hold(build, node.buffer, place, place, build.add(place, nbytes), sides)
        self._poison(block, nbytes)

    def again(self, node: Allocate, value: Any) -> None:
        held, build = self._held[node.within], self._here
        sides = [(value(d.min), value(d.extent), value(d.stride)) for d in node.dimensions]
        end = build.add(held.first, held.nbytes)
        self._hold(build, node.buffer, held.first, held.first, end, sides)
        self._poison(build.inttoptr(held.first, POINTER), held.nbytes)

    def passed(self, buffers: Sequence[str]) -> list[Value]:
        return [self._held[buffer].record for buffer in buffers]

    def received(self, buffers: Sequence[str], records: Sequence[Value]) -> None:
        build = self._entry
        for buffer, record in zip(buffers, records, strict=True):
            first, end = (
                build.load(build.gep(record, [i64(n)], source_etype=I64), typ=I64, align=8)
                for n in (1, 2)
            )
            self._held[buffer] = _Held(record, first, build.sub(end, first))

    def _hold(
        self,
        build: Any,
        buffer: str,
        place: Value,
        low: Value,
        end: Value,
        sides: Sequence[tuple[Value, ...]],
    ) -> None:
        """Write the record of a buffer."""
        number = self.module.numbers[buffer]
        words = [i64(number), low, end, place, i64(len(sides)), *(w for s in sides for w in s)]
        record = local_bytes(self._entry, 8 * len(words))
        store_words(build, record, words)
        self._held[buffer] = _Held(record, low, build.sub(end, low))

    def _poison(self, block: Value, nbytes: Value) -> None:
        fill = self.module.intrinsic("llvm.memset.p0.i64", VOID, POINTER, I8, I64, I1)
        self._here.call(fill, [block, I8(POISON), nbytes, I1(0)])

    def is_outside(self, buffer: str, place: Value, nbytes: Value) -> Value:
        """Whether some of the bytes from an address on are outside of the memory of a buffer."""
        held, build = self._held[buffer], self._here
        offset = build.sub(place, held.first)
        before = build.icmp_signed("<", offset, i64(0))
        behind = build.icmp_signed(">", offset, build.sub(held.nbytes, nbytes))
        return build.or_(before, behind)

    def stop(
        self, outside: Value, access: AccessKind, buffer: str, place: Value, nbytes: Value
    ) -> None:
        """Leaves the function where an access is outside."""
        assert self._leave is not None
        record = self._held[buffer].record
        arguments = [self._report, record, place, nbytes, i64(access)]
        self._leave(outside, lambda: self._here.call(self.module.outside(), arguments))


@frozen
class CheckedMemory(AccessEmitter):
    """Tests each access before it happens."""

    accesses: HardenedAccesses

    def touch(self, access: AccessKind, buffer: str, address: Value, type: Type) -> None:
        place, nbytes = self.builder.ptrtoint(address, I64), i64(type.bytes * type.lanes)
        outside = self.accesses.is_outside(buffer, place, nbytes)
        self.accesses.stop(outside, access, buffer, place, nbytes)

    def touch_masked(
        self, access: AccessKind, buffer: str, address: Value, type: Type, mask: Value
    ) -> None:
        """Tests the bytes from the first lane of the mask to the last one."""
        build, lanes = self.builder, ir.IntType(type.lanes)
        bits = build.bitcast(mask, lanes)
        first = self._wide(build.cttz(bits, I1(0)))
        behind = build.sub(i64(type.lanes), self._wide(build.ctlz(bits, I1(0))))
        size = i64(type.bytes)
        place = build.add(build.ptrtoint(address, I64), build.mul(first, size))
        nbytes = build.mul(build.sub(behind, first), size)
        outside = self.accesses.is_outside(buffer, place, nbytes)
        some = build.icmp_unsigned("!=", bits, lanes(0))
        self.accesses.stop(build.and_(some, outside), access, buffer, place, nbytes)

    def _wide(self, count: Value) -> Value:
        width = count.type.width
        if width == 64:
            return count
        return (self.builder.zext if width < 64 else self.builder.trunc)(count, I64)

    def touch_lanes(
        self,
        access: AccessKind,
        buffer: str,
        address: Callable[[int], Value],
        type: Type,
        kept: Kept | None,
    ) -> None:
        """Tests all lanes at once, and reports the last one that is outside."""
        build, nbytes = self.builder, i64(type.bytes)
        any_outside, worst = I1(0), i64(0)
        for lane in range(type.lanes):
            place = build.ptrtoint(address(lane), I64)
            outside = self.accesses.is_outside(buffer, place, nbytes)
            if kept is not None:
                outside = build.and_(outside, build.extract_element(kept[0], i32(lane)))
            worst = build.select(outside, place, worst)
            any_outside = build.or_(any_outside, outside)
        self.accesses.stop(any_outside, access, buffer, worst, nbytes)


def emit_outside(module: Any, memcpy: Value) -> Value:
    """``i32 outside(ptr report, ptr record, i64 address, i64 bytes, i64 access)``: reports an
    access outside, unless ``report`` is null or holds a report, and returns :data:`OUTSIDE`.
    """
    kind = ir.FunctionType(I32, (POINTER, POINTER, I64, I64, I64))
    function = ir.Function(module, kind, "outside")
    function.linkage = "internal"
    for attribute in ("nounwind", "cold", "noinline"):
        function.attributes.add(attribute)
    report, record, *words = function.args
    build = ir.IRBuilder(function.append_basic_block("entry"))
    with reporting(build, report, OUTSIDE):
        store_words(build, report, words, first=1)
        sides = build.load(build.gep(record, [i64(_HEAD - 1)], source_etype=I64), typ=I64, align=8)
        size = build.mul(build.add(build.mul(sides, i64(3)), i64(_HEAD)), i64(8))
        copy = build.gep(report, [i64(_REPORT)], source_etype=I64)
        build.call(memcpy, [copy, record, size, I1(0)])
    build.ret(i32(OUTSIDE))
    return function


def types_of(program: LoopProgram) -> dict[str, Type]:
    """The element type of each buffer of a program; buffers are numbered in this order."""
    parameters = {b.name: b.type for b in program.buffers}
    scratch = {s.buffer: s.type for s in walk_nodes(program.body) if isinstance(s, Allocate)}
    return {**parameters, **scratch}


def access_words(program: LoopProgram) -> int:
    """The number of words for a report of an access to any buffer of the program."""
    scratch = (s for s in walk_nodes(program.body) if isinstance(s, Allocate))
    dimensions = (*(b.dimensions for b in program.buffers), *(len(s.dimensions) for s in scratch))
    return _REPORT + _HEAD + 3 * max(dimensions, default=0)


def reported_access(program: LoopProgram, report: ctypes.Array[ctypes.c_int64]) -> Outside:
    """The access that a report describes."""
    _, address, nbytes, access, number, first, end, origin, count, *words = report
    types = types_of(program)
    buffer = list(types)[number]
    sides = (Side(*words[3 * d : 3 * d + 3]) for d in range(count))
    return Outside(
        buffer=buffer,
        access=AccessKind(access),
        offset=address - origin,
        nbytes=nbytes,
        first=first - origin,
        last=end - origin,
        element_bytes=types[buffer].bytes,
        sides=tuple(sides),
    )
