"""Memory that functions of a module share with their callers: words of arguments, and locals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import define
from llvmlite import ir

from spaces.backend.llvm.operators import llvm_type
from spaces.backend.llvm.runtime.blocks import I8, I64, NULL, POINTER, Value, i64
from spaces.model.expressions.types import Int32, Type

_ALIGNMENT = 64
"""The alignment of locals in bytes: a cache line and the widest vector."""


def local_bytes(builder: Any, size: int) -> Value:
    """The address of ``size`` bytes that live as long as the call of the function."""
    block = builder.alloca(ir.ArrayType(I8, size))
    block.align = _ALIGNMENT
    block.type = POINTER  # a typed pointer would not fit the untyped ones elsewhere
    return block


def store_words(builder: Any, base: Value, words: Sequence[Value], first: int = 0) -> None:
    """Stores each value in one 64-bit word; the first value goes to word ``first`` of ``base``."""
    for number, word in enumerate(words, start=first):
        address = builder.gep(base, [i64(number)], source_etype=I64)
        builder.store(word, address, align=8)


def load_words(builder: Any, base: Value, kinds: Sequence[Any]) -> list[Value]:
    """The values that :func:`store_words` stored from the first word of ``base``, by their
    types.
    """
    return [
        builder.load(builder.gep(base, [i64(number)], source_etype=I64), typ=kind, align=8)
        for number, kind in enumerate(kinds)
    ]


@contextmanager
def reporting(builder: Any, report: Value, status: int) -> Iterator[None]:
    """Code emitted inside runs only if ``report`` is not null and no other thread has reported
    there. Before it runs, ``status`` is in the first word.
    """
    with builder.if_then(builder.icmp_unsigned("!=", report, NULL)):
        pair = builder.cmpxchg(report, i64(0), i64(status), "monotonic", "monotonic")
        with builder.if_then(builder.extract_value(pair, 1)):
            yield


@define
class Words:
    """Reads 64-bit words in order."""

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
        """The next word as a value; an int32 keeps 64 bits, as coordinates do."""
        if type == Int32:
            return self._word(I64)
        if type.is_float:
            return self._word(llvm_type(type))
        word = self._word(I64)
        return word if type.bits == 64 else self.builder.trunc(word, llvm_type(type))
