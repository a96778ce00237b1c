"""Parallel loops as native code: the jobs of a pool and the work on them, as LLVM IR.

A parallel loop is a `JOB` on its caller's stack. The `POOL` lists it while its caller works on it.
Each thread that works on a job claims a few iterations at a time by an atomic add, so no thread
holds a lock between the first and the last claim. The mutex guards the list of jobs, the number of
threads on each job, and the number of sleeping threads.

No thread waits for ever: a caller first works on its own job until no iteration is left to claim.
Then it waits only for iterations that other threads claimed. While it waits, it helps with jobs
that those iterations started (its descendants), never with other jobs. So a waiting thread waits
for strictly deeper loops, and the deepest loops run.
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
    bytes_type,
    function_pointer,
    i32,
    i64,
)

LINE_BYTES = 64
"""The alignment that keeps fields that many threads write off the cache lines that many threads
read.
"""

# The C library's objects are at most 64 bytes on Linux (40 to 48 for a mutex, 48 for a condition).
_OPAQUE = bytes_type(64)

POOL = RecordLayout(
    {
        "mutex": _OPAQUE,
        "work": _OPAQUE,  # condition: workers sleep until there is a new job, or the end
        "done": _OPAQUE,  # condition: callers sleep until their job is done, or a new one helps it
        "jobs": POINTER,  # newest first
        "sleepers": I32,  # workers waiting for `work`
        "waiters": I32,  # callers waiting for `done`
        "threads": I32,  # workers and one caller
        "key": I64,  # pthread key: the innermost job whose iteration this thread runs
        "padding": bytes_type(LINE_BYTES - 32),
        # Read without the mutex:
        "news": I32,  # changes when a job arrives and when the pool stops
        "stopping": I32,  # 1: workers end
        "tail": bytes_type(LINE_BYTES - 8),
    }
)
POOL_BYTES = 5 * LINE_BYTES
"""Size of a `Pool`."""

JOB = RecordLayout(
    {
        "fn": POINTER,
        "closure": POINTER,
        "parent": POINTER,  # the job whose iteration started this one, or null
        "older": POINTER,  # next in the pool's list
        "extent": I64,
        "chunk": I64,  # iterations a claim
        "min": I32,
        "helpers": I32,  # other threads on it; written under the mutex, spinners read without it
        "padding": bytes_type(LINE_BYTES - 56),
        # Changed by each thread that works on it:
        "next": I64,  # first unclaimed iteration, from 0; at or above extent when none is left
        "status": I32,  # status of the first iteration that failed, else 0
    }
)

_ITERATION = function_pointer(I32, POINTER, I32)

_SPINS = 1000
"""Pauses (about 10 to 40 us) before sleeping: back-to-back loops find their workers awake."""

_PAUSE: dict[str, tuple[str, tuple[Value, ...]]] = {
    "x86_64": ("llvm.x86.sse2.pause", ()),
    "aarch64": ("llvm.aarch64.hint", (i32(1),)),  # yield
}
"""The intrinsic that tells a processor that a thread spins, with its arguments."""


class Library:
    """The functions of the C library that a pool needs."""

    def __init__(self, program: Program) -> None:
        declare = program.declare
        self.lock = declare("pthread_mutex_lock", I32, POINTER)
        self.unlock = declare("pthread_mutex_unlock", I32, POINTER)
        self.wait = declare("pthread_cond_wait", I32, POINTER, POINTER)
        self.wake_one = declare("pthread_cond_signal", I32, POINTER)
        self.wake_all = declare("pthread_cond_broadcast", I32, POINTER)
        self.mutex_init = declare("pthread_mutex_init", I32, POINTER, POINTER)
        self.cond_init = declare("pthread_cond_init", I32, POINTER, POINTER)
        # pthread_key_t is narrower than 64 bits; the upper half of the argument is ignored.
        self.get_job = declare("pthread_getspecific", POINTER, I64)
        self.set_job = declare("pthread_setspecific", I32, I64, POINTER)


def call_library(body: Body, function: Value, pool: Value, *fields: str) -> None:
    """Call `function` with the addresses of `fields` of the pool."""
    body.builder.call(function, [body.at(pool, POOL, field) for field in fields])


def emit_run_range(program: Program) -> Value:
    """``i32 run_range(fn, closure, i32 min, i64 first, i64 last)``: in order, until one fails."""
    body = program.define_private("run_range", I32, _ITERATION, POINTER, I32, I64, I64)
    fn, closure, low, first, last = body.arguments
    build = body.builder
    done = body.function.append_basic_block("done")
    failed = body.function.append_basic_block("failed")
    index = body.local(I64)
    build.store(first, index)
    with body.loop():
        now = build.load(index, typ=I64)
        body.go_if(build.icmp_signed(">=", now, last), done)
        position = build.add(low, build.trunc(now, I32))
        status = build.call(fn, [closure, position])
        build.store(build.add(now, i64(1)), index)
        body.go_if(body.differ(status, i32(0)), failed)
    build.unreachable()
    build.position_at_end(done)
    build.ret(i32(0))
    build.position_at_end(failed)
    build.ret(status)
    return body.function


def emit_share(program: Program, library: Library, run_range: Value) -> Value:
    """``void share(pool, job, i1 own)``: work on `job` until nothing is left to claim.

    A caller must finish its `own` job; helpers leave at the next claim when the pool stops.
    """
    body = program.define_private("share", VOID, POINTER, POINTER, ir.IntType(1))
    pool, job, own = body.arguments
    build = body.builder
    key = body.get(pool, POOL, "key")
    outer = build.call(library.get_job, [key])
    build.call(library.set_job, [key, job])
    fn, closure, low, extent, chunk = (
        body.get(job, JOB, name) for name in ("fn", "closure", "min", "extent", "chunk")
    )
    place = body.at(job, JOB, "next")
    with body.loop() as claims:
        body.go_if(body.differ(body.get_shared(job, JOB, "status"), i32(0)), claims.after)
        stopping = body.differ(body.get_shared(pool, POOL, "stopping"), i32(0))
        body.go_if(build.and_(stopping, build.not_(own)), claims.after)
        first = build.atomic_rmw("add", place, chunk, "monotonic")
        body.go_if(build.icmp_signed(">=", first, extent), claims.after)
        last = build.add(first, chunk)
        last = build.select(build.icmp_signed("<", last, extent), last, extent)
        status = build.call(run_range, [fn, closure, low, first, last])
        with build.if_then(body.differ(status, i32(0))):
            build.cmpxchg(body.at(job, JOB, "status"), i32(0), status, "monotonic", "monotonic")
    build.call(library.set_job, [key, outer])
    build.ret_void()
    return body.function


def _emit_descends(program: Program) -> Value:
    """``i1 descends(job, ancestor)``: whether an iteration of `ancestor` started `job`.

    Parents are alive: each waits for the iteration that started its child. Any job descends from
    null.
    """
    body = program.define_private("descends", ir.IntType(1), POINTER, POINTER)
    job, ancestor = body.arguments
    build = body.builder
    current = body.local(POINTER)
    build.store(job, current)
    with body.loop() as climb:
        parent = body.get(build.load(current, typ=POINTER), JOB, "parent")
        build.store(parent, current)
        body.go_if(body.equal(parent, NULL), climb.after)
        body.go_if(body.equal(parent, ancestor), climb.after)
    build.ret(body.equal(build.load(current, typ=POINTER), ancestor))
    return body.function


def emit_help(program: Program, library: Library, share: Value) -> Value:
    """``i1 help(pool, ancestor)``: work on one listed job that descends from `ancestor`.

    The caller holds the mutex before and after; false if there is no such job.
    """
    descends = _emit_descends(program)
    body = program.define_private("help", ir.IntType(1), POINTER, POINTER)
    pool, ancestor = body.arguments
    build = body.builder
    nothing = body.function.append_basic_block("nothing")
    following = body.function.append_basic_block("following")
    current = body.local(POINTER)
    build.store(body.get(pool, POOL, "jobs"), current)
    with body.loop() as search:
        job = build.load(current, typ=POINTER)
        body.go_if(body.equal(job, NULL), nothing)
        left = build.icmp_signed(
            "<", body.get_shared(job, JOB, "next"), body.get(job, JOB, "extent")
        )
        sound = body.equal(body.get_shared(job, JOB, "status"), i32(0))
        body.go_if(build.not_(build.and_(left, sound)), following)
        body.go_if(build.call(descends, [job, ancestor]), search.after)
        build.branch(following)
        build.position_at_end(following)
        build.store(body.get(job, JOB, "older"), current)
    body.add_shared(job, JOB, "helpers", 1)
    call_library(body, library.unlock, pool, "mutex")
    build.call(share, [pool, job, ir.Constant(ir.IntType(1), 0)])
    call_library(body, library.lock, pool, "mutex")
    last = body.equal(body.add_shared(job, JOB, "helpers", -1), i32(0))
    awaited = body.differ(body.get(pool, POOL, "waiters"), i32(0))
    with build.if_then(build.and_(last, awaited)):
        call_library(body, library.wake_all, pool, "done")
    build.ret(ir.Constant(ir.IntType(1), 1))
    build.position_at_end(nothing)
    build.ret(ir.Constant(ir.IntType(1), 0))
    return body.function


def emit_spin(program: Program, architecture: str) -> Value:
    """``void spin(pool, i32 news, job)``: wait a moment for `news` to change or `job` to be done.

    The caller does not hold the mutex, so what it reads is only a hint. `job` may be null.
    """
    name, arguments = _PAUSE.get(architecture, ("", ()))
    pause = program.declare(name, VOID, *(one.type for one in arguments)) if name else None
    body = program.define_private("spin", VOID, POINTER, I32, POINTER)
    pool, news, job = body.arguments
    build = body.builder
    count = body.local(I32)
    build.store(i32(0), count)
    with body.loop() as spins:
        spent = build.load(count, typ=I32)
        body.go_if(body.equal(spent, i32(_SPINS)), spins.after)
        build.store(build.add(spent, i32(1)), count)
        body.go_if(body.differ(body.get_shared(pool, POOL, "news"), news), spins.after)
        with build.if_then(body.differ(job, NULL)):
            body.go_if(body.equal(body.get_shared(job, JOB, "helpers"), i32(0)), spins.after)
        if pause is not None:
            build.call(pause, arguments)
    build.ret_void()
    return body.function


def emit_enlist(program: Program, library: Library) -> Value:
    """``void enlist(pool, job)``: list `job` and wake as many workers as it can use."""
    body = program.define_private("enlist", VOID, POINTER, POINTER)
    pool, job = body.arguments
    build = body.builder
    call_library(body, library.lock, pool, "mutex")
    body.set(job, JOB, "older", body.get(pool, POOL, "jobs"))
    body.set(pool, POOL, "jobs", job)
    body.add_shared(pool, POOL, "news", 1)
    with build.if_then(body.differ(body.get(pool, POOL, "waiters"), i32(0))):
        call_library(body, library.wake_all, pool, "done")
    sleepers = body.get(pool, POOL, "sleepers")
    others = build.sub(body.get(job, JOB, "extent"), i64(1))
    enough = build.icmp_signed(">=", others, build.zext(sleepers, I64))
    with build.if_else(enough) as (all_of_them, some):
        with all_of_them, build.if_then(body.differ(sleepers, i32(0))):
            call_library(body, library.wake_all, pool, "work")
        with some:
            left = body.local(I64)
            build.store(others, left)
            with body.loop() as wakes:
                count = build.load(left, typ=I64)
                body.go_if(body.equal(count, i64(0)), wakes.after)
                call_library(body, library.wake_one, pool, "work")
                build.store(build.sub(count, i64(1)), left)
    call_library(body, library.unlock, pool, "mutex")
    build.ret_void()
    return body.function


def emit_finish(program: Program, library: Library, help: Value, spin: Value) -> Value:
    """``void finish(pool, job)``: removes `job` from the list and waits until no thread works on
    it.
    """
    body = program.define_private("finish", VOID, POINTER, POINTER)
    pool, job = body.arguments
    build = body.builder
    call_library(body, library.lock, pool, "mutex")
    link = body.local(POINTER)  # the address of the pointer to the listed job
    build.store(body.at(pool, POOL, "jobs"), link)
    with body.loop() as search:
        place = build.load(link, typ=POINTER)
        listed = build.load(place, typ=POINTER)
        # After a fork in between, the child's list is empty.
        body.go_if(body.equal(listed, NULL), search.after)
        build.store(body.at(listed, JOB, "older"), link)
        with build.if_then(body.equal(listed, job)):
            build.store(body.get(job, JOB, "older"), place)
            build.branch(search.after)
    with body.loop() as waits:
        body.go_if(body.equal(body.get_shared(job, JOB, "helpers"), i32(0)), waits.after)
        body.go_if(build.call(help, [pool, job]), waits.again)
        news = body.get_shared(pool, POOL, "news")
        call_library(body, library.unlock, pool, "mutex")
        build.call(spin, [pool, news, job])
        call_library(body, library.lock, pool, "mutex")
        body.go_if(body.equal(body.get_shared(job, JOB, "helpers"), i32(0)), waits.after)
        body.go_if(body.differ(body.get_shared(pool, POOL, "news"), news), waits.again)
        body.add(pool, POOL, "waiters", 1)
        call_library(body, library.wait, pool, "done", "mutex")
        body.add(pool, POOL, "waiters", -1)
    call_library(body, library.unlock, pool, "mutex")
    build.ret_void()
    return body.function
