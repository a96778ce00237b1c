"""Numbers of threads, in the order in which they first ask: 1, 2, 3.

Addresses of threads do not spread evenly over a few places, and often recur from run to run.
"""

from __future__ import annotations

from spaces.backend.llvm.runtime.blocks import (
    I32,
    I64,
    NULL,
    POINTER,
    VOID,
    Program,
    RecordLayout,
    Value,
    function_pointer,
    i32,
    i64,
)

_NUMBERS = RecordLayout(
    {
        "once": I32,  # zero is PTHREAD_ONCE_INIT
        "key": I32,
        "has_key": I32,
        "last": I64,
    }
)


def emit_thread_number(program: Program) -> Value:
    """``i64 thread_number()``: the number of the calling thread, the same at each call; 0 for all
    threads if the process has no key left for values of threads.
    """
    numbers = program.variable("thread_numbers", _NUMBERS.type, 8)
    once = program.declare("pthread_once", I32, POINTER, function_pointer(VOID))
    known = program.declare("pthread_getspecific", POINTER, I32)
    keep = program.declare("pthread_setspecific", I32, I32, POINTER)
    create = _emit_create_key(program, numbers)

    body = program.define_private("thread_number", I64)
    build = body.builder
    build.call(once, [body.at(numbers, _NUMBERS, "once"), create])
    with build.if_then(body.equal(body.get(numbers, _NUMBERS, "has_key"), i32(0)), likely=False):
        build.ret(i64(0))
    key = body.get(numbers, _NUMBERS, "key")
    number = build.ptrtoint(build.call(known, [key]), I64)
    with build.if_then(body.equal(number, i64(0)), likely=False):
        place = body.at(numbers, _NUMBERS, "last")
        new = build.add(build.atomic_rmw("add", place, i64(1), "monotonic"), i64(1))
        build.call(keep, [key, build.inttoptr(new, POINTER)])
        build.ret(new)
    build.ret(number)
    return body.function


def _emit_create_key(program: Program, numbers: Value) -> Value:
    """``void create_key()``: asks the C library for the key of the numbers."""
    key_create = program.declare("pthread_key_create", I32, POINTER, POINTER)
    body = program.define_private("create_key", VOID)
    build = body.builder
    failed = build.call(key_create, [body.at(numbers, _NUMBERS, "key"), NULL])
    has_key = build.zext(body.equal(failed, i32(0)), I32)
    body.set(numbers, _NUMBERS, "has_key", has_key)
    build.ret_void()
    return body.function
