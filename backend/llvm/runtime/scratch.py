"""Scratch memory for generated code, as an LLVM module: it keeps freed blocks and hands them out
again.

A pipeline allocates the same tile in every iteration of a parallel loop, and the same images in
every run. The C library gives large blocks back to the system. Then the first touch of each new
page costs a fault: a new megabyte takes forty times as long as an old one.

- ``ptr spaces_malloc(i64 bytes)``: BLOCK_ALIGNMENT-aligned memory, not cleared; null if there is
  none. Any size is fine, also 0.
- ``void spaces_free(ptr)``: gives a block back, from any thread; null is fine.
- ``i64 spaces_scratch_bytes()``: bytes kept for later, at most the limit of the module and a
  quarter more.
- ``void spaces_scratch_release()``: gives the kept blocks back to the C library.
- ``void spaces_scratch_lock()``, ``void spaces_scratch_unlock()``: block all of the above, so that
  a fork copies consistent lists.

Blocks have size classes, four between a power of two and the next, so at most a quarter is wasted.
The BLOCK_ALIGNMENT bytes before each block hold its header.

Large blocks are kept together. Smaller ones are kept by thread; only a thread that is one of more
than 32 shares a store. The caches of a core hold what its thread wrote into them, and threads that
compute one row after the other do not wait for each other at each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from spaces.backend.llvm.runtime.blocks import (
    I32,
    I64,
    NULL,
    POINTER,
    VOID,
    Body,
    Program,
    RecordLayout,
    Value,
    bytes_type,
    i32,
    i64,
)
from spaces.backend.llvm.runtime.guarded import MUTEX, Mutexes
from spaces.backend.llvm.runtime.thread_numbers import emit_thread_number

BLOCK_ALIGNMENT = 64
"""In bytes: a cache line, and the widest vector."""

KEPT_BYTES = 512 << 20
"""The limit of a module that does not know the machine that it will run on."""

_SMALLEST_LOG2 = 8
_LARGEST_LOG2 = 46  # more than the address space: such a request is an overflow
_CLASSES = 4 * (_LARGEST_LOG2 - _SMALLEST_LOG2) + 1

_HUGE_BYTES = 4 << 20
"""Blocks of this size and more ask for pages of 2 MiB: one fault in place of 512, and few TLB
misses.
"""

_HUGE_PAGE_BYTES = 2 << 20
_MADV_HUGEPAGE = 14  # asm-generic/mman-common.h

_STAGGERED_BYTES = 32 << 10
"""Blocks of this size and more start in turn at 16 different offsets in a page. A loop over eight
blocks in step is a fifth slower if their addresses agree in the last 12 bits.
"""

_STAGGERS = 16
_STAGGER_BYTES = 4096 // _STAGGERS

_OWN_BYTES = 1 << 20
"""Blocks up to this size are kept by thread: those that may be in the caches of one core."""

_OWN_STORES = 32
"""Threads share stores if they are more. They take the stores in turn."""

_OWN_SHARE = 4 * _OWN_STORES
"""Each of these stores keeps at most this part of the limit."""

_STORE = RecordLayout(
    {
        "mutex": MUTEX,
        "kept_bytes": I64,
        "heads": ir.ArrayType(POINTER, _CLASSES),  # lists of kept headers
        "rest": bytes_type(-(72 + 8 * _CLASSES) % 64),  # no two stores share a cache line
    }
)

_HEADER = RecordLayout(
    {
        "next": POINTER,
        "base": POINTER,  # the memory from the C library
        "bytes": I64,  # size of the class
        "class": I64,
    }
)


class _Scratch:
    """The module under construction, with its limit and the C library's functions."""

    def __init__(self, limit: int) -> None:
        self.program = program = Program("scratch")
        self.limit = i64(limit)
        self.own_limit = i64(max(limit // _OWN_SHARE, _OWN_BYTES))
        self._store_at = _emit_store_at(program)
        self.stagger = program.variable("stagger", I64, 8)  # how many staggered blocks were made
        self.aligned_alloc = program.declare("posix_memalign", I32, POINTER, I64, I64)
        self.advise = program.declare("madvise", I32, POINTER, I64, I32)
        self.free = program.declare("free", VOID, POINTER)
        self._thread_number = emit_thread_number(program)
        self._mutexes = Mutexes(program)

    def store_of(self, body: Body, size: Value) -> Value:
        """The address of the store of blocks of a size: that of the thread, or the first one."""
        build = body.builder
        own = build.urem(build.call(self._thread_number, []), i64(_OWN_STORES))
        place = build.select(self.is_own(body, size), build.add(own, i64(1)), i64(0))
        return self._store(body, place)

    def is_own(self, body: Body, size: Value) -> Value:
        """Whether blocks of a size are kept by thread."""
        return body.builder.icmp_unsigned("<=", size, i64(_OWN_BYTES))

    def lock(self, body: Body, store: Value) -> None:
        """Locks a store."""
        self._mutexes.lock(body, body.at(store, _STORE, "mutex"))

    def unlock(self, body: Body, store: Value) -> None:
        """Unlocks a store."""
        self._mutexes.unlock(body, body.at(store, _STORE, "mutex"))

    def head(self, body: Body, store: Value, place: Value) -> Value:
        """The address of the list of the class `place`."""
        heads = body.at(store, _STORE, "heads")
        return body.builder.gep(heads, [place], inbounds=True, source_etype=POINTER)

    @contextmanager
    def each_store(self, body: Body) -> Iterator[Value]:
        """Repeats the code emitted inside for each store."""
        build = body.builder
        slot = body.local(I64)
        build.store(i64(0), slot)
        with body.loop() as stores:
            place = build.load(slot, typ=I64)
            body.go_if(body.equal(place, i64(1 + _OWN_STORES)), stores.after)
            build.store(build.add(place, i64(1)), slot)
            yield self._store(body, place)

    def _store(self, body: Body, place: Value) -> Value:
        return body.builder.call(self._store_at, [place])


def _emit_store_at(program: Program) -> Value:
    """``ptr store_at(i64 place)``: the address of a store; 0 is that of large blocks."""
    stores = program.variable("stores", ir.ArrayType(_STORE.type, 1 + _OWN_STORES), 64)
    body = program.define_private("store_at", POINTER, I64)
    body.builder.ret(body.builder.gep(stores, [i64(0), *body.arguments], inbounds=True))
    return body.function


def _add_kept(body: Body, store: Value, amount: Value) -> None:
    """Adds to the kept bytes of a store; its mutex is held."""
    known = body.get(store, _STORE, "kept_bytes")
    body.set(store, _STORE, "kept_bytes", body.builder.add(known, amount))


def _emit_class_of(program: Program) -> Value:
    """``i64 class_of(i64 bytes, ptr class_bytes)``: the class of a block, and its size."""
    body = program.define_private("class_of", I64, I64, POINTER)
    wanted, size = body.arguments
    build = body.builder
    smallest = i64(1 << _SMALLEST_LOG2)
    least = build.select(build.icmp_unsigned("<", wanted, smallest), smallest, wanted)
    last = build.sub(least, i64(1))
    # The three leading bits of `last` give the class: the first gives the power of two, the other
    # two the quarter.
    log2 = build.sub(i64(63), build.ctlz(last, ir.Constant(ir.IntType(1), 0)))
    shift = build.sub(log2, i64(2))
    leading = build.lshr(last, shift)
    build.store(build.shl(build.add(leading, i64(1)), shift), size)
    octave = build.mul(build.sub(log2, i64(_SMALLEST_LOG2)), i64(4))
    build.ret(build.add(octave, build.sub(leading, i64(3))))
    return body.function


def _emit_fresh(scratch: _Scratch) -> Value:
    """``ptr fresh(i64 class, i64 bytes)``: a new header with its block, or null."""
    body = scratch.program.define_private("fresh", POINTER, I64, I64)
    place, size = body.arguments
    build = body.builder
    base_slot = body.local(POINTER)
    huge = build.icmp_unsigned(">=", size, i64(_HUGE_BYTES))
    alignment = build.select(huge, i64(_HUGE_PAGE_BYTES), i64(BLOCK_ALIGNMENT))
    failed = build.call(scratch.aligned_alloc, [base_slot, alignment, size])
    with build.if_then(body.differ(failed, i32(0)), likely=False):
        build.ret(NULL)
    base = build.load(base_slot, typ=POINTER)
    with build.if_then(huge):
        # This is only a hint: it may fail, and then the pages are small.
        build.call(scratch.advise, [base, size, i32(_MADV_HUGEPAGE)])
    turn = build.atomic_rmw("add", scratch.stagger, i64(1), "monotonic")
    stagger = build.mul(build.and_(turn, i64(_STAGGERS - 1)), i64(_STAGGER_BYTES))
    staggered = build.icmp_unsigned(">=", size, i64(_STAGGERED_BYTES))
    offset = build.select(staggered, stagger, i64(0))
    header = build.gep(base, [offset], inbounds=True, source_etype=ir.IntType(8))
    body.set(header, _HEADER, "base", base)
    body.set(header, _HEADER, "bytes", size)
    body.set(header, _HEADER, "class", place)
    build.ret(header)
    return body.function


def _emit_malloc(scratch: _Scratch, release: Value) -> None:
    class_of = _emit_class_of(scratch.program)
    fresh = _emit_fresh(scratch)
    body = scratch.program.define("spaces_malloc", POINTER, I64)
    (wanted,) = body.arguments
    build = body.builder
    with build.if_then(
        build.icmp_unsigned(">=", wanted, i64(1 << (_LARGEST_LOG2 - 1))), likely=False
    ):
        build.ret(NULL)
    large = build.icmp_unsigned(
        ">=", wanted, i64(_STAGGERED_BYTES - BLOCK_ALIGNMENT - _STAGGERS * _STAGGER_BYTES)
    )
    room = build.select(large, i64((_STAGGERS - 1) * _STAGGER_BYTES), i64(0))
    size_slot = body.local(I64)
    needed = build.add(build.add(wanted, i64(BLOCK_ALIGNMENT)), room)
    place = build.call(class_of, [needed, size_slot])
    size = build.load(size_slot, typ=I64)
    header_slot = body.local(POINTER)
    store = scratch.store_of(body, size)
    head = scratch.head(body, store, place)
    scratch.lock(body, store)
    kept = build.load(head, typ=POINTER)
    build.store(kept, header_slot)
    with build.if_then(body.differ(kept, NULL)):
        build.store(body.get(kept, _HEADER, "next"), head)
        _add_kept(body, store, build.neg(size))
    scratch.unlock(body, store)
    for remedy in (None, release):
        with build.if_then(body.equal(build.load(header_slot, typ=POINTER), NULL)):
            if remedy is not None:  # no memory left: the kept blocks may be enough
                build.call(remedy, [])
            build.store(build.call(fresh, [place, size]), header_slot)
    header = build.load(header_slot, typ=POINTER)
    block = build.gep(header, [i64(BLOCK_ALIGNMENT)], source_etype=ir.IntType(8))
    build.ret(build.select(body.equal(header, NULL), NULL, block))


def _emit_free(scratch: _Scratch, empty: Value) -> None:
    body = scratch.program.define("spaces_free", VOID, POINTER)
    (block,) = body.arguments
    build = body.builder
    with build.if_then(body.equal(block, NULL)):
        build.ret_void()
    header = build.gep(block, [i64(-BLOCK_ALIGNMENT)], source_etype=ir.IntType(8))
    size = body.get(header, _HEADER, "bytes")
    with build.if_then(build.icmp_unsigned(">", size, scratch.limit), likely=False):
        build.call(scratch.free, [body.get(header, _HEADER, "base")])
        build.ret_void()
    store = scratch.store_of(body, size)
    limit = build.select(scratch.is_own(body, size), scratch.own_limit, scratch.limit)
    head = scratch.head(body, store, body.get(header, _HEADER, "class"))
    scratch.lock(body, store)
    total = build.add(body.get(store, _STORE, "kept_bytes"), size)
    with build.if_then(build.icmp_unsigned(">", total, limit), likely=False):
        # Frees old sizes, or blocks of a pipeline that no longer runs would keep out new ones.
        build.call(empty, [store])
    body.set(header, _HEADER, "next", build.load(head, typ=POINTER))
    build.store(header, head)
    _add_kept(body, store, size)
    scratch.unlock(body, store)
    build.ret_void()


def _emit_empty(scratch: _Scratch) -> Value:
    """``void empty(ptr store)``: free all blocks of a store; its mutex is held."""
    body = scratch.program.define_private("empty", VOID, POINTER)
    (store,) = body.arguments
    build = body.builder
    place_slot = body.local(I64)
    build.store(i64(0), place_slot)
    with body.loop() as classes:
        place = build.load(place_slot, typ=I64)
        body.go_if(body.equal(place, i64(_CLASSES)), classes.after)
        build.store(build.add(place, i64(1)), place_slot)
        head = scratch.head(body, store, place)
        with body.loop() as blocks:
            header = build.load(head, typ=POINTER)
            body.go_if(body.equal(header, NULL), blocks.after)
            build.store(body.get(header, _HEADER, "next"), head)
            build.call(scratch.free, [body.get(header, _HEADER, "base")])
    body.set(store, _STORE, "kept_bytes", i64(0))
    build.ret_void()
    return body.function


def _emit_release(scratch: _Scratch, empty: Value) -> Value:
    body = scratch.program.define("spaces_scratch_release", VOID)
    with scratch.each_store(body) as store:
        scratch.lock(body, store)
        body.builder.call(empty, [store])
        scratch.unlock(body, store)
    body.builder.ret_void()
    return body.function


def _emit_bytes(scratch: _Scratch) -> None:
    body = scratch.program.define("spaces_scratch_bytes", I64)
    build = body.builder
    sum_slot = body.local(I64)
    build.store(i64(0), sum_slot)
    with scratch.each_store(body) as store:
        scratch.lock(body, store)
        kept = body.get(store, _STORE, "kept_bytes")
        scratch.unlock(body, store)
        build.store(build.add(build.load(sum_slot, typ=I64), kept), sum_slot)
    build.ret(build.load(sum_slot, typ=I64))


def _emit_locks(scratch: _Scratch) -> None:
    """All stores are locked in one order; everything else holds at most one."""
    for step, change in (("lock", scratch.lock), ("unlock", scratch.unlock)):
        body = scratch.program.define(f"spaces_scratch_{step}", VOID)
        with scratch.each_store(body) as store:
            change(body, store)
        body.builder.ret_void()


def scratch_module(limit: int = KEPT_BYTES) -> str:
    """The scratch memory's functions as LLVM IR text.

    Args:
        limit: in bytes: if the large blocks that are kept would exceed it, all of them go back to
            the C library. So do those of a thread, at a part of it.
    """
    scratch = _Scratch(limit)
    empty = _emit_empty(scratch)
    release = _emit_release(scratch, empty)
    _emit_malloc(scratch, release)
    _emit_free(scratch, empty)
    _emit_bytes(scratch)
    _emit_locks(scratch)
    return scratch.program.text()
