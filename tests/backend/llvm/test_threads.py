"""Thread pools: when their workers start and end, and what they cost."""

import os
import platform
import threading
import time

import numpy as np
import pytest

from spaces.backend.llvm.runtime.helpers import pool_code
from spaces.backend.llvm.runtime.pools import ThreadPool, default_pool
from tests.backend.llvm.loop_bodies import BODY, closure_over, par_for


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


PAUSES = {"x86_64": "pause", "aarch64": "yield"}


@pytest.mark.skipif(platform.machine() not in PAUSES, reason="its instruction is not known")
def test_waiting_threads_leave_the_core_to_its_other_thread():
    """By the instruction that the processor has for this."""
    assert f"\t{PAUSES[platform.machine()]}\n" in pool_code().asm()


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
