"""Values of memoized Funcs, kept between runs, as an LLVM module: a list, the latest used first.

- ``i32 spaces_recall(ptr key, i64 words, ptr arrays, ptr sizes, i64 count)``: looks for values of a
  key of so many 64-bit words. If there are some, it copies them to ``count`` arrays of these sizes
  in bytes, and returns 1; else it returns 0.
- ``void spaces_keep(ptr key, i64 words, ptr arrays, ptr sizes, i64 count)``: keeps a copy of the
  arrays. It drops what was not used for the longest time where more than the limit would be kept,
  and keeps nothing if the arrays alone exceed it or there is no memory.
- ``i64 spaces_memo_number(i64 which)``: the bytes kept (0), and how often values were found (1) and
  not found (2).
- ``void spaces_memo_release()``: drops all that is kept.
- ``void spaces_memo_lock()``, ``void spaces_memo_unlock()``: block all of the above, so that a fork
  copies a consistent list.

Any thread may call them. Copies are made under the lock: what one thread copies, no other drops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spaces.backend.llvm.runtime.blocks import (
    I8,
    I32,
    I64,
    NULL,
    POINTER,
    VOID,
    Body,
    RecordLayout,
    Value,
    i32,
    i64,
)
from spaces.backend.llvm.runtime.guarded import MUTEX, GuardedModule

MEMO_BYTES = 64 << 20
"""The most that a process keeps."""

_LEAST_BYTES = 16 << 10
"""An entry counts at least this much: so the list stays short, and searching it quick."""

_GIVEN = (POINTER, I64, POINTER, POINTER, I64)

MEMO: Mapping[str, tuple[Any, ...]] = {"recall": (I32, *_GIVEN), "keep": (VOID, *_GIVEN)}
"""The functions that generated code calls: what each returns and takes."""

_STATE = RecordLayout({"mutex": MUTEX, "first": POINTER, "bytes": I64, "found": I64, "missed": I64})

_ENTRY = RecordLayout(
    {
        "next": POINTER,
        "words": I64,  # of the key, which follows the entry; then come the arrays
        "bytes": I64,  # how much it counts
        "unused": I64,
    }
)
_ENTRY_BYTES = 32


class _Memo(GuardedModule):
    """The module under construction, with its limit and the C library's functions."""

    def __init__(self, limit: int) -> None:
        super().__init__("memo", _STATE)
        self.limit = i64(limit)
        declare = self.program.declare
        self.malloc = declare("malloc", POINTER, I64)
        self.copy = declare("memcpy", POINTER, POINTER, POINTER, I64)
        self.compare = declare("memcmp", I32, POINTER, POINTER, I64)

    def move(self, body: Body, to: Value, source: Value, size: Value) -> None:
        """Copies that many bytes from a source to another place."""
        body.builder.call(self.copy, [to, source, size])

    def push(self, body: Body, entry: Value) -> None:
        """Puts an entry first; the mutex is held."""
        body.set(entry, _ENTRY, "next", self.get(body, "first"))
        self.set(body, "first", entry)


def _beyond(body: Body, base: Value, offset: Value) -> Value:
    """The address ``offset`` bytes after ``base``."""
    return body.builder.gep(base, [offset], source_etype=I8)


def _key_of(body: Body, entry: Value) -> Value:
    return _beyond(body, entry, i64(_ENTRY_BYTES))


def _key_bytes(body: Body, words: Value) -> Value:
    return body.builder.mul(words, i64(8))


def _each_array(body: Body, entry: Value, copy: Callable[[Value, Value, Value], object]) -> None:
    """Calls ``copy`` for each array, with its place in an entry, its own address and its bytes."""
    _, words, arrays, sizes, count = body.arguments
    build = body.builder
    kept_slot, number_slot = body.local(POINTER), body.local(I64)
    build.store(_beyond(body, _key_of(body, entry), _key_bytes(body, words)), kept_slot)
    build.store(i64(0), number_slot)
    with body.loop() as loop:
        number = build.load(number_slot, typ=I64)
        body.go_if(body.equal(number, count), loop.after)
        array, size = (
            build.load(build.gep(base, [number], source_etype=I64), typ=type)
            for base, type in ((arrays, POINTER), (sizes, I64))
        )
        kept = build.load(kept_slot, typ=POINTER)
        copy(kept, array, size)
        build.store(_beyond(body, kept, size), kept_slot)
        build.store(build.add(number, i64(1)), number_slot)


def _emit_recall(memo: _Memo) -> None:
    body = memo.program.define("spaces_recall", *MEMO["recall"])
    key, words, *_ = body.arguments
    build = body.builder
    link_slot = body.local(POINTER)  # where the address of the entry stands
    memo.lock(body)
    build.store(memo.at(body, "first"), link_slot)
    with body.loop() as loop:
        link = build.load(link_slot, typ=POINTER)
        entry = build.load(link, typ=POINTER)
        body.go_if(body.equal(entry, NULL), loop.after)
        build.store(body.at(entry, _ENTRY, "next"), link_slot)
        body.go_if(body.differ(body.get(entry, _ENTRY, "words"), words), loop.again)
        same = build.call(memo.compare, [_key_of(body, entry), key, _key_bytes(body, words)])
        body.go_if(body.differ(same, i32(0)), loop.again)
        build.store(body.get(entry, _ENTRY, "next"), link)
        memo.push(body, entry)
        memo.add(body, "found", i64(1))
        _each_array(body, entry, lambda kept, array, size: memo.move(body, array, kept, size))
        memo.unlock(body)
        build.ret(i32(1))
    memo.add(body, "missed", i64(1))
    memo.unlock(body)
    build.ret(i32(0))


def _emit_keep(memo: _Memo, drop_last: Value) -> None:
    body = memo.program.define("spaces_keep", *MEMO["keep"])
    key, words, _, sizes, count = body.arguments
    build = body.builder
    total_slot, number_slot = body.local(I64), body.local(I64)
    build.store(build.add(i64(_ENTRY_BYTES), _key_bytes(body, words)), total_slot)
    build.store(i64(0), number_slot)
    with body.loop() as loop:
        number = build.load(number_slot, typ=I64)
        body.go_if(body.equal(number, count), loop.after)
        size = build.load(build.gep(sizes, [number], source_etype=I64), typ=I64)
        with build.if_then(build.icmp_unsigned(">", size, memo.limit)):
            build.ret_void()
        build.store(build.add(build.load(total_slot, typ=I64), size), total_slot)
        build.store(build.add(number, i64(1)), number_slot)
    total = build.load(total_slot, typ=I64)
    counted = build.select(
        build.icmp_unsigned("<", total, i64(_LEAST_BYTES)), i64(_LEAST_BYTES), total
    )
    with build.if_then(build.icmp_unsigned(">", counted, memo.limit)):
        build.ret_void()
    entry = build.call(memo.malloc, [total])
    with build.if_then(body.equal(entry, NULL)):
        build.ret_void()
    body.set(entry, _ENTRY, "words", words)
    body.set(entry, _ENTRY, "bytes", counted)
    build.call(memo.copy, [_key_of(body, entry), key, _key_bytes(body, words)])
    _each_array(body, entry, lambda kept, array, size: memo.move(body, kept, array, size))
    memo.lock(body)
    memo.push(body, entry)
    memo.add(body, "bytes", counted)
    with body.loop() as loop:
        kept = memo.get(body, "bytes")
        body.go_if(build.icmp_unsigned("<=", kept, memo.limit), loop.after)
        build.call(drop_last, [])
    memo.unlock(body)
    build.ret_void()


def _emit_drop_last(memo: _Memo) -> Value:
    """``void drop_last()``: frees the entry that was not used for the longest time; the mutex is
    held, and there is an entry.
    """
    body = memo.program.define_private("drop_last", VOID)
    build = body.builder
    link_slot = body.local(POINTER)
    build.store(memo.at(body, "first"), link_slot)
    with body.loop() as loop:
        link = build.load(link_slot, typ=POINTER)
        entry = build.load(link, typ=POINTER)
        build.store(body.at(entry, _ENTRY, "next"), link_slot)
        body.go_if(body.differ(body.get(entry, _ENTRY, "next"), NULL), loop.again)
        build.store(NULL, link)
        memo.add(body, "bytes", build.neg(body.get(entry, _ENTRY, "bytes")))
        build.call(memo.free, [entry])
        build.ret_void()
    build.unreachable()
    return body.function


def _emit_release(memo: _Memo, drop_last: Value) -> None:
    body = memo.program.define("spaces_memo_release", VOID)
    memo.lock(body)
    with body.loop() as loop:
        first = memo.get(body, "first")
        body.go_if(body.equal(first, NULL), loop.after)
        body.builder.call(drop_last, [])
    memo.unlock(body)
    body.builder.ret_void()


def _emit_number(memo: _Memo) -> None:
    body = memo.program.define("spaces_memo_number", I64, I64)
    (which,) = body.arguments
    memo.lock(body)
    kept, found, missed = (memo.get(body, n) for n in ("bytes", "found", "missed"))
    memo.unlock(body)
    counted = body.builder.select(body.equal(which, i64(1)), found, missed)
    body.builder.ret(body.builder.select(body.equal(which, i64(0)), kept, counted))


def memo_module(limit: int = MEMO_BYTES) -> str:
    """The functions as LLVM IR text.

    Args:
        limit: the most bytes that are kept.
    """
    memo = _Memo(limit)
    drop_last = _emit_drop_last(memo)
    _emit_recall(memo)
    _emit_keep(memo, drop_last)
    _emit_release(memo, drop_last)
    _emit_number(memo)
    return memo.text()
