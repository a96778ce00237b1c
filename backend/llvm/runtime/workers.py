"""The thread pool as an LLVM module: parallel loops for generated code, and the life of a worker.

- ``i32 spaces_par_for(pool, fn, i32 min, i32 extent, closure)`` calls
  ``i32 fn(closure, i32 index)`` once for each index in [min, min + extent), in any order and on
  several threads, the calling one included. It returns 0 if all calls return 0, else the status of
  the first call that does not. After a failure, threads make no new claims; they finish earlier
  claims up to a failure there. With a null ``pool`` the caller makes all calls. ``fn`` itself may
  call it, and several threads may call it at once.
- ``ptr spaces_worker(pool)`` works for the pool until it stops, then returns null.
- ``void spaces_pool_init(pool, i32 threads, i64 key)`` prepares POOL_BYTES zero bytes, aligned to
  LINE_BYTES; ``threads`` counts one caller and the workers, and ``key`` is a pthread key that only
  the pool may use.
- ``void spaces_pool_stop(pool)`` ends the workers. Parallel loops still work, on their callers
  alone.
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
    Value,
    i32,
    i64,
)
from spaces.backend.llvm.runtime.jobs import (
    JOB,
    LINE_BYTES,
    POOL,
    Library,
    call_library,
    emit_enlist,
    emit_finish,
    emit_help,
    emit_run_range,
    emit_share,
    emit_spin,
)

_CLAIMS = 64
"""The number of claims that a thread makes in a long loop with even work. Then the last thread ends
less than 2% of the loop late, and a claim costs one contended cache line.
"""


def _emit_worker(program: Program, library: Library, help: Value, spin: Value) -> None:
    body = program.define("spaces_worker", POINTER, POINTER)
    (pool,) = body.arguments
    build = body.builder
    call_library(body, library.lock, pool, "mutex")
    with body.loop() as life:
        body.go_if(body.differ(body.get_shared(pool, POOL, "stopping"), i32(0)), life.after)
        body.go_if(build.call(help, [pool, NULL]), life.again)
        news = body.get_shared(pool, POOL, "news")
        call_library(body, library.unlock, pool, "mutex")
        build.call(spin, [pool, news, NULL])
        call_library(body, library.lock, pool, "mutex")
        # It changes only under the mutex, so a worker misses no change between this read and its
        # sleep.
        body.go_if(body.differ(body.get_shared(pool, POOL, "news"), news), life.again)
        body.add(pool, POOL, "sleepers", 1)
        call_library(body, library.wait, pool, "work", "mutex")
        body.add(pool, POOL, "sleepers", -1)
    call_library(body, library.unlock, pool, "mutex")
    build.ret(NULL)


def _fill_job(body: Body, library: Library, job: Value, extent: Value) -> None:
    pool, fn, low, _, closure = body.arguments
    build = body.builder
    parts = build.mul(build.zext(body.get(pool, POOL, "threads"), I64), i64(_CLAIMS))
    chunk = build.udiv(extent, parts)
    chunk = build.select(body.equal(chunk, i64(0)), i64(1), chunk)
    parent = build.call(library.get_job, [body.get(pool, POOL, "key")])
    values = {
        "fn": fn,
        "closure": closure,
        "parent": parent,
        "older": NULL,
        "extent": extent,
        "chunk": chunk,
        "min": low,
        "helpers": i32(0),
        "next": i64(0),
        "status": i32(0),
    }
    for name, value in values.items():
        body.set(job, JOB, name, value)


def _emit_par_for(
    program: Program, library: Library, help: Value, share: Value, run: Value, spin: Value
) -> None:
    enlist = emit_enlist(program, library)
    finish = emit_finish(program, library, help, spin)
    body = program.define("spaces_par_for", I32, POINTER, POINTER, I32, I32, POINTER)
    pool, fn, low, count, closure = body.arguments
    build = body.builder
    job = body.local(JOB.type, align=LINE_BYTES)
    extent = build.sext(count, I64)
    serial = body.function.append_basic_block("serial")
    body.go_if(body.equal(pool, NULL), serial)
    body.go_if(body.equal(body.get(pool, POOL, "threads"), i32(1)), serial)
    body.go_if(build.icmp_signed("<=", extent, i64(1)), serial)
    with build.goto_block(serial):
        build.ret(build.call(run, [fn, closure, low, i64(0), extent]))
    _fill_job(body, library, job, extent)
    build.call(enlist, [pool, job])
    build.call(share, [pool, job, ir.Constant(ir.IntType(1), 1)])
    build.call(finish, [pool, job])
    build.ret(body.get_shared(job, JOB, "status"))


def _emit_init(program: Program, library: Library) -> None:
    body = program.define("spaces_pool_init", VOID, POINTER, I32, I64)
    pool, threads, key = body.arguments
    build = body.builder
    build.call(library.mutex_init, [body.at(pool, POOL, "mutex"), NULL])
    build.call(library.cond_init, [body.at(pool, POOL, "work"), NULL])
    build.call(library.cond_init, [body.at(pool, POOL, "done"), NULL])
    body.set(pool, POOL, "jobs", NULL)
    for name in ("sleepers", "waiters", "news", "stopping"):
        body.set(pool, POOL, name, i32(0))
    body.set(pool, POOL, "threads", threads)
    body.set(pool, POOL, "key", key)
    build.ret_void()


def _emit_stop(program: Program, library: Library) -> None:
    body = program.define("spaces_pool_stop", VOID, POINTER)
    (pool,) = body.arguments
    call_library(body, library.lock, pool, "mutex")
    body.add_shared(pool, POOL, "stopping", 1)
    body.add_shared(pool, POOL, "news", 1)
    call_library(body, library.wake_all, pool, "work")
    call_library(body, library.unlock, pool, "mutex")
    body.builder.ret_void()


def pool_module(architecture: str) -> str:
    """The pool's functions as LLVM IR text.

    Args:
        architecture: the first part of the target triple. It chooses the instruction that tells the
            processor of a short wait; an unknown architecture gets no such instruction.
    """
    program = Program("pool")
    library = Library(program)
    run = emit_run_range(program)
    share = emit_share(program, library, run)
    help = emit_help(program, library, share)
    spin = emit_spin(program, architecture)
    _emit_worker(program, library, help, spin)
    _emit_par_for(program, library, help, share, run, spin)
    _emit_init(program, library)
    _emit_stop(program, library)
    return program.text()
