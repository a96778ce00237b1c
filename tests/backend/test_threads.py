import ctypes
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.llvm.engine import compile_module
from backend.llvm.runtime import runtime_symbols
from backend.llvm.threads import ThreadPool, default_pool

# Loop bodies as native code. A closure is {pool, counts, extent, outer index}.
BODIES = """
%closure = type { ptr, ptr, i32, i32 }
declare i32 @spaces_par_for(ptr, ptr, i32, i32, ptr)

; counts[i] += 1
define i32 @count(ptr %c, i32 %i) {
  %place = getelementptr %closure, ptr %c, i32 0, i32 1
  %counts = load ptr, ptr %place
  %slot = getelementptr i32, ptr %counts, i32 %i
  atomicrmw add ptr %slot, i32 1 monotonic
  ret i32 0
}

; counts[i] += 1, and then fail with the status i when i is at least the extent
define i32 @fail_from(ptr %c, i32 %i) {
  call i32 @count(ptr %c, i32 %i)
  %place = getelementptr %closure, ptr %c, i32 0, i32 2
  %limit = load i32, ptr %place
  %bad = icmp sge i32 %i, %limit
  %status = select i1 %bad, i32 %i, i32 0
  ret i32 %status
}

; counts[outer * extent + i] += 1
define i32 @count_inner(ptr %c, i32 %i) {
  %e = getelementptr %closure, ptr %c, i32 0, i32 2
  %extent = load i32, ptr %e
  %o = getelementptr %closure, ptr %c, i32 0, i32 3
  %outer = load i32, ptr %o
  %base = mul i32 %outer, %extent
  %at = add i32 %base, %i
  %status = call i32 @count(ptr %c, i32 %at)
  ret i32 %status
}

define i32 @nested(ptr %c, i32 %i) {
  %inner = alloca %closure
  %all = load %closure, ptr %c
  %mine = insertvalue %closure %all, i32 %i, 3
  store %closure %mine, ptr %inner
  %pool = extractvalue %closure %all, 0
  %extent = extractvalue %closure %all, 2
  %status = call i32 @spaces_par_for(ptr %pool, ptr @count_inner, i32 0, i32 %extent, ptr %inner)
  ret i32 %status
}

; counts[0] += (depth of the extent's binary recursion, as the number of leaves)
define i32 @recursive(ptr %c, i32 %i) {
  %inner = alloca %closure
  %all = load %closure, ptr %c
  %depth = extractvalue %closure %all, 2
  %leaf = icmp eq i32 %depth, 0
  br i1 %leaf, label %bottom, label %deeper
bottom:
  %s0 = call i32 @count(ptr %c, i32 0)
  ret i32 %s0
deeper:
  %less = sub i32 %depth, 1
  %mine = insertvalue %closure %all, i32 %less, 2
  store %closure %mine, ptr %inner
  %pool = extractvalue %closure %all, 0
  %s1 = call i32 @spaces_par_for(ptr %pool, ptr @recursive, i32 0, i32 3, ptr %inner)
  ret i32 %s1
}
"""

BODY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)


class Closure(ctypes.Structure):
    _fields_ = (
        ("pool", ctypes.c_void_p),
        ("counts", ctypes.c_void_p),
        ("extent", ctypes.c_int32),
        ("outer", ctypes.c_int32),
    )


@pytest.fixture(scope="module")
def bodies():
    with compile_module(BODIES, runtime_symbols()) as module:
        yield module


@pytest.fixture(scope="module", params=[1, 2, 5])
def pool(request):
    with ThreadPool(request.param) as pool:
        yield pool


def par_for(pool, body, low, extent, closure=None):
    run = ctypes.CFUNCTYPE(
        ctypes.c_int32,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int32,
        ctypes.c_int32,
        ctypes.c_void_p,
    )(runtime_symbols()["spaces_par_for"])
    return run(pool.address, body, low, extent, ctypes.addressof(closure) if closure else None)


def closure_over(pool, counts, low=0, extent=0):
    # counts[i - low] is what index i counts in
    return Closure(pool.address, counts.ctypes.data - 4 * low, extent, 0)


@given(st.integers(-(2**31), 2**31 - 5001), st.integers(-3, 5000))
def test_every_index_runs_once(bodies, pool, low, extent):
    counts = np.zeros(max(extent, 0) + 2, np.int32)
    closure = closure_over(pool, counts[1:], low)
    assert par_for(pool, bodies.address("count"), low, extent, closure) == 0
    expected = np.ones_like(counts)
    expected[0] = expected[-1] = 0
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("extent", [1, 2, 3, 4, 7, 8, 63, 64, 65, 1_000_003])
def test_many_sizes(bodies, pool, extent):
    counts = np.zeros(extent, np.int32)
    assert par_for(pool, bodies.address("count"), 0, extent, closure_over(pool, counts)) == 0
    assert (counts == 1).all()


@given(st.integers(0, 40), st.integers(0, 200))
def test_nested_loops(bodies, pool, outer, inner):
    counts = np.zeros(outer * inner, np.int32)
    closure = closure_over(pool, counts, extent=inner)
    assert par_for(pool, bodies.address("nested"), 0, outer, closure) == 0
    assert (counts == 1).all()


def test_loops_nest_deeply(bodies, pool):
    counts = np.zeros(1, np.int32)
    closure = closure_over(pool, counts, extent=8)
    for _ in range(5):
        assert par_for(pool, bodies.address("recursive"), 0, 2, closure) == 0
    assert counts[0] == 5 * 2 * 3**8


@given(st.integers(0, 300), st.integers(0, 300))
@settings(max_examples=100)
def test_the_status_of_a_failing_iteration_is_returned(bodies, pool, extent, limit):
    counts = np.zeros(300, np.int32)
    limit = max(limit, 1)  # index 0 fails with status 0, which is no failure
    closure = closure_over(pool, counts, extent=limit)
    status = par_for(pool, bodies.address("fail_from"), 0, extent, closure)
    assert (counts <= 1).all()
    if extent <= limit:
        assert status == 0
        assert counts.sum() == extent
    else:
        assert limit <= status < extent
        assert counts[status] == 1


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_failure_ends_the_loop_early(threads):
    ran = []
    failing = threading.Event()

    @BODY
    def body(closure, index):
        ran.append(index)
        if index == 0:
            failing.set()
            return 9
        failing.wait(timeout=30)
        time.sleep(0.005)
        return 0

    with ThreadPool(threads) as pool:
        assert par_for(pool, body, 0, 100) == 9
    assert len(ran) < 50


def test_closing_a_pool_lets_running_loops_end():
    ran = []
    running = threading.Event()

    @BODY
    def body(closure, index):
        ran.append(index)
        running.set()
        time.sleep(0.002)
        return 0

    statuses = []
    with ThreadPool(3) as pool:
        caller = threading.Thread(target=lambda: statuses.append(par_for(pool, body, 0, 60)))
        caller.start()
        running.wait(timeout=30)
        time.sleep(0.01)
    caller.join(timeout=30)
    assert statuses == [0]
    assert sorted(ran) == list(range(60))


def test_a_failure_inside_a_nested_loop_comes_out(pool):
    @BODY
    def inner(closure, index):
        return 42 if index == 3 else 0

    @BODY
    def outer(closure, index):
        return par_for(pool, inner, 0, 5)

    assert par_for(pool, outer, 0, 4) == 42


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_several_python_threads_share_a_pool(bodies, threads):
    failures = []

    def work(pool):
        for size in (2, 30, 500):
            counts = np.zeros(7 * size, np.int32)
            closure = closure_over(pool, counts, extent=size)
            for _ in range(100):
                if par_for(pool, bodies.address("nested"), 0, 7, closure) != 0:
                    failures.append("status")
            if not (counts == 100).all():
                failures.append("counts")

    with ThreadPool(threads) as pool:
        callers = [threading.Thread(target=work, args=(pool,)) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(timeout=60)
        assert not any(caller.is_alive() for caller in callers)
    assert failures == []


def waits_for(together):
    """A loop body that fails unless as many iterations as the barrier wants run at once."""

    @BODY
    def body(closure, index):
        try:
            together.wait(timeout=10)
        except threading.BrokenBarrierError:
            return 1
        return 0

    return body


def test_iterations_run_at_the_same_time():
    body = waits_for(threading.Barrier(3))
    with ThreadPool(3) as pool:
        # Back to back, so that workers are met asleep, spinning and in between.
        for _ in range(300):
            assert par_for(pool, body, 0, 3) == 0


@pytest.mark.parametrize("pause", [0, 1e-5, 1e-4, 1e-3, 0.05])
def test_a_waiting_caller_helps_with_the_loops_inside_its_own(pause):
    # Each thread takes one outer iteration. The worker's then starts a loop which needs two
    # threads at once, while the caller has nothing left to do but wait.
    both = threading.Barrier(2)
    inner = waits_for(threading.Barrier(2))
    caller = threading.get_native_id()

    @BODY
    def outer(closure, index):
        both.wait(timeout=10)
        if threading.get_native_id() == caller:
            return 0
        time.sleep(pause)  # the caller still works, spins, or sleeps
        return par_for(pool, inner, 0, 2)

    with ThreadPool(2) as pool:
        assert par_for(pool, outer, 0, 2) == 0


def test_a_waiting_caller_leaves_the_loops_of_others_alone():
    # The caller waits for its worker; another caller's loop must not hold it up.
    both = threading.Barrier(2)
    caller = threading.get_native_id()
    others = []

    @BODY
    def foreign(closure, index):
        others.append(threading.get_native_id())
        time.sleep(0.001)
        return 0

    @BODY
    def outer(closure, index):
        both.wait(timeout=10)
        if threading.get_native_id() != caller:
            time.sleep(0.02)
            other = threading.Thread(target=par_for, args=(pool, foreign, 0, 50))
            other.start()
            other.join(timeout=10)
        return 0

    with ThreadPool(2) as pool:
        assert par_for(pool, outer, 0, 2) == 0
    assert len(others) == 50
    assert caller not in others


def test_a_pool_of_one_runs_in_order_on_the_caller():
    seen = []

    @BODY
    def body(closure, index):
        seen.append((index, threading.get_native_id()))
        return 0

    with ThreadPool(1) as pool:
        assert par_for(pool, body, 5, 4) == 0
    assert seen == [(index, threading.get_native_id()) for index in (5, 6, 7, 8)]


def test_an_idle_pool_burns_no_time(bodies):
    with ThreadPool(4) as pool:
        counts = np.zeros(100, np.int32)
        par_for(pool, bodies.address("count"), 0, 100, closure_over(pool, counts))
        time.sleep(0.05)
        before = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - before < 0.03


def test_closing_and_opening_again(bodies):
    for _ in range(20):
        with ThreadPool(3) as pool:
            counts = np.zeros(50, np.int32)
            assert par_for(pool, bodies.address("count"), 0, 50, closure_over(pool, counts)) == 0
            assert (counts == 1).all()
        pool.close()
        with pytest.raises(ValueError, match="closed"):
            _ = pool.address


def count_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_workers_come_with_the_first_use_and_go_with_the_pool():
    before = count_threads()
    pool = ThreadPool(4)
    assert count_threads() == before
    assert pool.address == pool.address
    assert count_threads() == before + 3
    pool.close()
    assert count_threads() == before
    pool = ThreadPool(4)
    assert pool.address
    del pool
    assert count_threads() == before


@pytest.mark.parametrize("threads", [0, -1, 1025])
def test_a_senseless_number_of_threads_is_refused(threads):
    with pytest.raises(ValueError, match=f"not {threads}"):
        ThreadPool(threads)


def test_the_default_pool_is_shared_and_fits_the_machine():
    assert default_pool() is default_pool()
    assert default_pool().threads == len(os.sched_getaffinity(0))
    assert default_pool().address % 64 == 0


PREAMBLE = '''
import ctypes, os, sys, threading, time
from backend.llvm.engine import compile_module
from backend.llvm.runtime import runtime_symbols
from backend.llvm.threads import ThreadPool, default_pool

BODY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)
RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32,
                       ctypes.c_int32, ctypes.c_void_p)(runtime_symbols()["spaces_par_for"])
seen = []

@BODY
def body(closure, index):
    seen.append(index)
    return 0

# Native bodies, as in generated code. (A fork while other threads enter the interpreter for the
# first time can hang CPython itself.)
native = compile_module("""
declare i32 @usleep(i32)
define i32 @quick(ptr %c, i32 %i) {
  ret i32 0
}
define i32 @slow(ptr %c, i32 %i) {
  %s = call i32 @usleep(i32 10000)
  ret i32 0
}
""")
quick, slow = native.address("quick"), native.address("slow")

pool = ThreadPool(3)
assert RUN(pool.address, body, 0, 100, None) == 0 and sorted(seen) == list(range(100))
'''

ENDINGS = {
    "idle": "",
    "default pool": "default_pool().address",
    "fresh from work": "RUN(pool.address, body, 0, 100, None)",
    "sys.exit": "sys.exit(0)",
    "used by a daemon thread": """
        threading.Thread(
            target=RUN, args=(pool.address, slow, 0, 10000, None), daemon=True
        ).start()
        time.sleep(0.05)
        """,
    "after a fork": """
        child = os.fork()
        seen.clear()
        assert RUN(pool.address, body, 0, 100, None) == 0 and sorted(seen) == list(range(100))
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        """,
    "after forks while the pool works": """
        ending = []
        def work():
            while not ending:
                RUN(pool.address, quick, 0, 100, None)
        worker = threading.Thread(target=work)
        worker.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                # The inherited address, before anybody asks the pool for it again.
                if RUN(pool._address, quick, 0, 100, None):
                    os._exit(1)
                os._exit(RUN(pool.address, quick, 0, 100, None))
            assert os.waitpid(child, 0)[1] == 0
        ending.append(True)
        worker.join()
        """,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_ends_promptly(ending):
    script = PREAMBLE + textwrap.dedent(ENDINGS[ending])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
