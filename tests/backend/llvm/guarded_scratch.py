"""Guarded scratch memory: a page that traps follows each block, and memory that was never written
reads as a poison that the test chooses.
"""

import ctypes
from contextlib import contextmanager
from functools import cache
from unittest import mock

import numpy as np

from spaces.backend.compile import compile_cpu
from spaces.backend.llvm import statements
from spaces.backend.llvm.runtime.helpers import runtime_symbols
from spaces.machine_code import compile_module

# A block lies at the end of its pages, as far as its alignment of 64 bytes allows. The bytes
# between its end and the trap also hold the poison, and freeing the block checks them. The page
# before it holds the number of bytes.
_GUARD = """
@poison = internal global i8 0
@damaged = internal global i32 0
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @mprotect(ptr, i64, i32)
declare i32 @munmap(ptr, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define void @guard_begin(i8 %value) {
  store i8 %value, ptr @poison
  store i32 0, ptr @damaged
  ret void
}

define i32 @guard_damaged() {
  %n = load i32, ptr @damaged
  ret i32 %n
}

define ptr @guard_malloc(i64 %bytes) {
  %few = icmp ult i64 %bytes, 1099511627776
  br i1 %few, label %take, label %none
none:
  ret ptr null
take:
  %padded63 = add i64 %bytes, 63
  %padded = and i64 %padded63, -64
  %pages4095 = add i64 %padded, 4095
  %pages = and i64 %pages4095, -4096
  %all = add i64 %pages, 8192
  %base = call ptr @mmap(ptr null, i64 %all, i32 3, i32 34, i32 -1, i64 0)
  store i64 %bytes, ptr %base
  %dead = add i64 %pages, 4096
  %trap = getelementptr i8, ptr %base, i64 %dead
  %s = call i32 @mprotect(ptr %trap, i64 4096, i32 0)
  %slack = sub i64 %dead, %padded
  %block = getelementptr i8, ptr %base, i64 %slack
  %p = load i8, ptr @poison
  call void @llvm.memset.p0.i64(ptr %block, i8 %p, i64 %padded, i1 false)
  ret ptr %block
}

define void @guard_free(ptr %block) {
  %address = ptrtoint ptr %block to i64
  %down = and i64 %address, -4096
  %first = sub i64 %down, 4096
  %base = inttoptr i64 %first to ptr
  %bytes = load i64, ptr %base
  %padded63 = add i64 %bytes, 63
  %padded = and i64 %padded63, -64
  %pages4095 = add i64 %padded, 4095
  %pages = and i64 %pages4095, -4096
  %all = add i64 %pages, 8192
  %p = load i8, ptr @poison
  br label %look
look:
  %i = phi i64 [ %bytes, %0 ], [ %next, %same ]
  %more = icmp ult i64 %i, %padded
  br i1 %more, label %test, label %release
test:
  %place = getelementptr i8, ptr %block, i64 %i
  %found = load i8, ptr %place
  %kept = icmp eq i8 %found, %p
  br i1 %kept, label %same, label %bad
bad:
  %n = atomicrmw add ptr @damaged, i32 1 seq_cst
  br label %same
same:
  %next = add i64 %i, 1
  br label %look
release:
  %r = call i32 @munmap(ptr %base, i64 %all)
  ret void
}
"""


class Rubbish(AssertionError):
    """Compiled code wrote behind a buffer, or its outputs depend on memory that it never wrote."""


@cache
def _code():
    return compile_module(_GUARD)


def _symbols():
    code = _code()
    guarded = {"spaces_malloc": "guard_malloc", "spaces_free": "guard_free"}
    return {**runtime_symbols(), **{name: code.address(own) for name, own in guarded.items()}}


@contextmanager
def poisoned(value):
    """Fills blocks that code allocates inside with this byte, and checks that no code writes behind
    their ends.
    """
    ctypes.CFUNCTYPE(None, ctypes.c_uint8)(_code().address("guard_begin"))(value)
    yield
    damaged = ctypes.CFUNCTYPE(ctypes.c_int32)(_code().address("guard_damaged"))()
    if damaged:
        raise Rubbish("something was written behind the end of a scratch buffer")


def compile_guarded(checked, **options):
    """:func:`compile_cpu`, with every buffer on the guarded heap that may be on the heap."""
    with (
        mock.patch.object(statements, "AUTO_STACK_BYTES", -1),
        mock.patch("spaces.backend.compile.runtime_symbols", _symbols),
    ):
        return compile_cpu(checked, **options)


def run_poisoned(compiled, inputs, **options):
    """The outputs of a pipeline compiled with guards. Checks that they do not depend on memory that
    was never written: it holds zeros, or bytes that make large integers and NaNs.
    """
    with poisoned(0x00):
        clean = compiled.run(inputs, **options)
    with poisoned(0xFF):
        dirty = compiled.run(inputs, **options)
    for name, array in clean.items():
        if not np.array_equal(dirty[name], array, equal_nan=array.dtype.kind == "f"):
            raise Rubbish(f"{name} depends on scratch memory that has not been written")
    return clean
