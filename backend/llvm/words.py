"""Memory between functions of a module and their callers: words of arguments, and locals."""

from __future__ import annotations

from typing import Any

from attrs import define
from llvmlite import ir

from backend.llvm.blocks import I8, I64, POINTER, Value, i64
from backend.llvm.operators import llvm_type
from spaces.model.expressions.types import Int32, Type

_ALIGNMENT = 64
"""Of locals, in bytes: a cache line and the widest vector."""


def local_bytes(builder: Any, size: int) -> Value:
    """The address of ``size`` bytes that live as long as the call of the function."""
    block = builder.alloca(ir.ArrayType(I8, size))
    block.align = _ALIGNMENT
    block.type = POINTER  # the builder's pointers to locals know what they point to; ours never do
    return block


@define
class Words:
    """Reads 64-bit words one after the other."""

    builder: Any
    base: Value
    _next: int = 0

    def _word(self, type: Any) -> Value:
        address = self.builder.gep(self.base, [i64(self._next)], source_etype=I64)
        self._next += 1
        return self.builder.load(address, typ=type, align=8)

    def pointer(self) -> Value:
        """The next word as an address."""
        return self._word(POINTER)

    def scalar(self, type: Type) -> Value:
        """The next word as a value: int32 stays 64 bits wide, as coordinates do."""
        if type == Int32:
            return self._word(I64)
        if type.is_float:
            return self._word(llvm_type(type))
        word = self._word(I64)
        return word if type.bits == 64 else self.builder.trunc(word, llvm_type(type))
