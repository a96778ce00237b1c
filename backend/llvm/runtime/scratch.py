"""Scratch memory for generated code, as an LLVM module: it keeps freed blocks and hands them out
again.

A pipeline allocates the same tile in every iteration of a parallel loop, and the same images in
every run. The C library gives large blocks back to the system. Then the first touch of each new
page costs a fault: a new megabyte takes forty times as long as an old one.

- ``ptr spaces_malloc(i64 bytes)``: BLOCK_ALIGNMENT-aligned memory, not cleared; null if there is
  none. Any size is fine, also 0.
- ``void spaces_free(ptr)``: gives a block back, from any thread; null is fine.
- ``i64 spaces_scratch_bytes()``: bytes kept for later, at most the limit of the module.
- ``void spaces_scratch_release()``: gives the kept blocks back to the C library.
- ``void spaces_scratch_lock()``, ``void spaces_scratch_unlock()``: block all of the above, so that
  a fork copies consistent lists.

Blocks have size classes, four between a power of two and the next, so at most a quarter is wasted.
The BLOCK_ALIGNMENT bytes before each block hold its header.
"""

from __future__ import annotations

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
    i32,
    i64,
)
from spaces.backend.llvm.runtime.guarded import MUTEX, GuardedModule

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

_STATE = RecordLayout(
    {
        "mutex": MUTEX,
        "kept_bytes": I64,
        "stagger": I64,  # how many staggered blocks were made
        "heads": ir.ArrayType(POINTER, _CLASSES),  # lists of kept headers
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


class _Scratch(GuardedModule):
    """The module under construction, with its limit and the C library's functions."""

    def __init__(self, limit: int) -> None:
        super().__init__("scratch", _STATE)
        self.limit = i64(limit)
        self.aligned_alloc = self.program.declare("posix_memalign", I32, POINTER, I64, I64)
        self.advise = self.program.declare("madvise", I32, POINTER, I64, I32)

    def head(self, body: Body, place: Value) -> Value:
        """The address of the list of the class `place`."""
        heads = self.at(body, "heads")
        return body.builder.gep(heads, [i64(0), place], inbounds=True)


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
    turn = build.atomic_rmw("add", scratch.at(body, "stagger"), i64(1), "monotonic")
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
    head = scratch.head(body, place)
    scratch.lock(body)
    kept = build.load(head, typ=POINTER)
    build.store(kept, header_slot)
    with build.if_then(body.differ(kept, NULL)):
        build.store(body.get(kept, _HEADER, "next"), head)
        scratch.add(body, "kept_bytes", build.neg(size))
    scratch.unlock(body)
    for remedy in (None, release):
        with build.if_then(body.equal(build.load(header_slot, typ=POINTER), NULL)):
            if remedy is not None:  # no memory left: the kept blocks may be enough
                build.call(remedy, [])
            build.store(build.call(fresh, [place, size]), header_slot)
    header = build.load(header_slot, typ=POINTER)
    block = build.gep(header, [i64(BLOCK_ALIGNMENT)], source_etype=ir.IntType(8))
    build.ret(build.select(body.equal(header, NULL), NULL, block))


def _emit_free(scratch: _Scratch, release: Value) -> None:
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
    head = scratch.head(body, body.get(header, _HEADER, "class"))
    scratch.lock(body)
    total = build.add(scratch.get(body, "kept_bytes"), size)
    with build.if_then(build.icmp_unsigned(">", total, scratch.limit), likely=False):
        # Frees old sizes, or blocks of a pipeline that no longer runs would keep out new ones.
        build.call(release, [])
    body.set(header, _HEADER, "next", build.load(head, typ=POINTER))
    build.store(header, head)
    scratch.add(body, "kept_bytes", size)
    scratch.unlock(body)
    build.ret_void()


def _emit_release_held(scratch: _Scratch) -> Value:
    """``void release_held()``: empty every list; the mutex is held."""
    body = scratch.program.define_private("release_held", VOID)
    build = body.builder
    place_slot = body.local(I64)
    build.store(i64(0), place_slot)
    with body.loop() as classes:
        place = build.load(place_slot, typ=I64)
        body.go_if(body.equal(place, i64(_CLASSES)), classes.after)
        build.store(build.add(place, i64(1)), place_slot)
        head = scratch.head(body, place)
        with body.loop() as blocks:
            header = build.load(head, typ=POINTER)
            body.go_if(body.equal(header, NULL), blocks.after)
            build.store(body.get(header, _HEADER, "next"), head)
            build.call(scratch.free, [body.get(header, _HEADER, "base")])
    scratch.set(body, "kept_bytes", i64(0))
    build.ret_void()
    return body.function


def _emit_release(scratch: _Scratch, release_held: Value) -> Value:
    body = scratch.program.define("spaces_scratch_release", VOID)
    scratch.lock(body)
    body.builder.call(release_held, [])
    scratch.unlock(body)
    body.builder.ret_void()
    return body.function


def _emit_bytes(scratch: _Scratch) -> None:
    body = scratch.program.define("spaces_scratch_bytes", I64)
    scratch.lock(body)
    kept = scratch.get(body, "kept_bytes")
    scratch.unlock(body)
    body.builder.ret(kept)


def scratch_module(limit: int = KEPT_BYTES) -> str:
    """The scratch memory's functions as LLVM IR text.

    Args:
        limit: in bytes: if the kept blocks would exceed it, all of them go back to the C library.
    """
    scratch = _Scratch(limit)
    release_held = _emit_release_held(scratch)
    release = _emit_release(scratch, release_held)
    _emit_malloc(scratch, release)
    _emit_free(scratch, release_held)
    _emit_bytes(scratch)
    return scratch.text()
