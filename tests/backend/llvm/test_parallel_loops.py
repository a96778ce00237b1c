"""Loops on a thread pool: each iteration runs once, failures are returned, and no thread waits for
ever.
"""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.backend.llvm.runtime.pools import ThreadPool
from tests.backend.llvm.loop_bodies import BODY, closure_over, par_for
from tests.draw_counts import examples


@pytest.fixture(scope="module", params=[1, 2, 5])
def pool(request):
    with ThreadPool(request.param) as pool:
        yield pool


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
@settings(max_examples=examples(100))
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
    """A loop body that fails unless as many iterations run at once as the barrier needs."""

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
        # One loop right after another, so that workers are asleep, spinning or in between.
        for _ in range(300):
            assert par_for(pool, body, 0, 3) == 0


@pytest.mark.parametrize("pause", [0, 1e-5, 1e-4, 1e-3, 0.05])
def test_a_waiting_caller_helps_with_the_loops_inside_its_own(pause):
    # Each thread takes one outer iteration. The worker's iteration then starts a loop that needs
    # two threads at once, while the caller only waits.
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
    # The caller waits for its worker; another caller's loop must not delay it.
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
