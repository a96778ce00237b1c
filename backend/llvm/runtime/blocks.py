"""Writes native helpers in LLVM IR: loops and records with named fields over llvmlite's builder.

llvmlite ships no type annotations. ``Any`` for its types and values stays in this file; other files
use `IRType` and `Value`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeAlias

from attrs import frozen
from llvmlite import ir

IRType: TypeAlias = Any
"""A type of llvmlite.ir."""

Value: TypeAlias = Any
"""A value of llvmlite.ir."""

I1: IRType = ir.IntType(1)
I8: IRType = ir.IntType(8)
I32: IRType = ir.IntType(32)
I64: IRType = ir.IntType(64)
POINTER: IRType = ir.PointerType()
VOID: IRType = ir.VoidType()
NULL: Value = ir.Constant(POINTER, None)


@lru_cache(maxsize=4096)
def i32(value: int) -> Value:
    """The 32-bit constant `value`."""
    return ir.Constant(I32, value)


@lru_cache(maxsize=4096)
def i64(value: int) -> Value:
    """The 64-bit constant `value`."""
    return ir.Constant(I64, value)


class RecordLayout:
    """The named fields of a record in memory, laid out as C does."""

    def __init__(self, fields: Mapping[str, IRType]) -> None:
        self.type: IRType = ir.LiteralStructType(fields.values())
        self._types = dict(fields)
        self._places = {name: place for place, name in enumerate(fields)}

    def place(self, name: str) -> int:
        """The number of the field `name` in the structure, from 0."""
        return self._places[name]

    def field_type(self, name: str) -> IRType:
        """The type of the field `name`."""
        return self._types[name]


def function_pointer(result: IRType, *arguments: IRType) -> IRType:
    """The type of a function parameter that the code calls; everywhere else POINTER is enough."""
    return ir.FunctionType(result, arguments).as_pointer()


def bytes_type(size: int) -> IRType:
    """`size` bytes that only the C library reads or writes."""
    return ir.ArrayType(I8, size)


@frozen
class LoopBlocks:
    """The two places that a loop's body can jump to."""

    again: Value
    after: Value


class Body:
    """The body of one function under construction. `builder` emits plain instructions."""

    def __init__(self, function: Value) -> None:
        self.function = function
        self.arguments: Sequence[Value] = function.args
        self.builder: Any = ir.IRBuilder(function.append_basic_block("entry"))

    # Memory

    def local(self, type: IRType, align: int = 0) -> Value:
        """A local variable; `align` is in bytes, and 0 is the type's own alignment."""
        slot = self.builder.alloca(type)
        if align:
            slot.align = align
        return slot

    def at(self, record: Value, layout: RecordLayout, name: str) -> Value:
        """The address of the field `name` of `record`."""
        # A local's pointer has its own type, and llvmlite refuses a second one.
        element = layout.type if record.type.is_opaque else None
        path = [i32(0), i32(layout.place(name))]
        return self.builder.gep(record, path, inbounds=True, source_etype=element)

    def get(self, record: Value, layout: RecordLayout, name: str) -> Value:
        """The value of a field that no other thread changes at the same time."""
        return self.builder.load(self.at(record, layout, name), typ=layout.field_type(name))

    def set(self, record: Value, layout: RecordLayout, name: str, value: Value) -> None:
        """Sets a field that no other thread reads at the same time."""
        self.builder.store(value, self.at(record, layout, name))

    def add(self, record: Value, layout: RecordLayout, name: str, amount: int) -> Value:
        """Adds to a 32-bit field that no other thread uses at the same time; returns the new
        value.
        """
        value = self.builder.add(self.get(record, layout, name), i32(amount))
        self.set(record, layout, name, value)
        return value

    def get_shared(
        self, record: Value, layout: RecordLayout, name: str, ordering: str = "monotonic"
    ) -> Value:
        """The value of a field that other threads may change at the same time."""
        type = layout.field_type(name)
        place = self.at(record, layout, name)
        return self.builder.load_atomic(place, ordering, type.width // 8, typ=type)

    def add_shared(self, record: Value, layout: RecordLayout, name: str, amount: int) -> Value:
        """Adds to a 32-bit field that other threads may use at the same time; returns the new
        value.
        """
        place, step = self.at(record, layout, name), i32(amount)
        return self.builder.add(self.builder.atomic_rmw("add", place, step, "monotonic"), step)

    # Control

    @contextmanager
    def loop(self) -> Iterator[LoopBlocks]:
        """Repeats the code emitted inside for ever; leave it by `go_if` or `builder.branch`."""
        loop = LoopBlocks(
            self.function.append_basic_block("again"), self.function.append_basic_block("after")
        )
        self.builder.branch(loop.again)
        self.builder.position_at_end(loop.again)
        yield loop
        if not self.builder.block.is_terminated:
            self.builder.branch(loop.again)
        self.builder.position_at_end(loop.after)

    def go_if(self, condition: Value, target: Value) -> None:
        """Jumps to the block `target` if `condition` holds, else continues with the next
        instruction.
        """
        rest = self.function.append_basic_block("rest")
        self.builder.cbranch(condition, target, rest)
        self.builder.position_at_end(rest)

    def equal(self, left: Value, right: Value) -> Value:
        """Whether two integers or pointers are the same."""
        return self.builder.icmp_unsigned("==", left, right)

    def differ(self, left: Value, right: Value) -> Value:
        """Whether two integers or pointers are not the same."""
        return self.builder.icmp_unsigned("!=", left, right)


class Program:
    """One IR module under construction. `module` is llvmlite's."""

    def __init__(self, name: str) -> None:
        self.module: Any = ir.Module(name=name)

    def declare(self, name: str, result: IRType, *arguments: IRType) -> Value:
        """Declares a function of the C library or of another module."""
        return ir.Function(self.module, ir.FunctionType(result, arguments), name)

    def define(self, name: str, result: IRType, *arguments: IRType) -> Body:
        """Defines a function that other modules may call by `name`; fill in its body."""
        return Body(self.declare(name, result, *arguments))

    def define_private(self, name: str, result: IRType, *arguments: IRType) -> Body:
        """Defines a function of this module only, which LLVM can inline."""
        body = self.define(name, result, *arguments)
        body.function.linkage = "internal"
        return body

    def variable(self, name: str, type: IRType, align: int) -> Value:
        """Defines a variable of this module. It starts as zeros and lives as long as the code."""
        variable = ir.GlobalVariable(self.module, type, name)
        variable.linkage = "internal"
        variable.initializer = ir.Constant(type, None)
        variable.align = align
        return variable

    def text(self) -> str:
        """The module as LLVM IR text."""
        return str(self.module)
