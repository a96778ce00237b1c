import ctypes
import os
from threading import Barrier, Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.llvm.runtime.helpers import (
    kept_limit,
    release_scratch,
    runtime_symbols,
    scratch_bytes,
)
from spaces.backend.llvm.runtime.pools import ThreadPool
from spaces.backend.llvm.runtime.scratch import KEPT_BYTES
from spaces.machine_code import compile_module
from tests.backend.llvm.loop_bodies import par_for

MIB = 1 << 20

# churn(closure, i): hold two blocks of (i % 61 + 1) * 997 bytes at a time, write i to their ends,
# look whether it is still there, and give them back; ten times over. Status 1: a block was shared.
CHURN = """
declare noalias ptr @spaces_malloc(i64)
declare void @spaces_free(ptr)
define i32 @churn(ptr %c, i32 %i) {
entry:
  %r = urem i32 %i, 61
  %k = add i32 %r, 1
  %small = mul i32 %k, 997
  %bytes = zext i32 %small to i64
  %last = sub i64 %bytes, 4
  br label %loop
loop:
  %n = phi i32 [ 0, %entry ], [ %n1, %more ]
  %p = call ptr @spaces_malloc(i64 %bytes)
  %q = call ptr @spaces_malloc(i64 %bytes)
  %pe = getelementptr i8, ptr %p, i64 %last
  %qe = getelementptr i8, ptr %q, i64 %last
  store volatile i32 %i, ptr %p
  store volatile i32 %i, ptr %q
  store volatile i32 %i, ptr %pe, align 1
  store volatile i32 %i, ptr %qe, align 1
  %a = load volatile i32, ptr %p
  %b = load volatile i32, ptr %q
  %d = load volatile i32, ptr %pe, align 1
  %e = load volatile i32, ptr %qe, align 1
  %ab = and i32 %a, %b
  %de = and i32 %d, %e
  %all = and i32 %ab, %de
  %same = icmp eq i32 %all, %i
  call void @spaces_free(ptr %p)
  call void @spaces_free(ptr %q)
  br i1 %same, label %more, label %bad
more:
  %n1 = add i32 %n, 1
  %go = icmp slt i32 %n1, 10
  br i1 %go, label %loop, label %good
good:
  ret i32 0
bad:
  ret i32 1
}
"""

_symbols = runtime_symbols()
malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(_symbols["spaces_malloc"])
free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_symbols["spaces_free"])


@pytest.fixture(autouse=True)
def _nothing_kept():
    release_scratch()
    yield
    release_scratch()


def bytes_at(address: int, size: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


sizes = st.one_of(
    st.integers(0, 3000),
    st.integers(0, 3 * MIB),
    st.integers(2, 22).flatmap(lambda n: st.integers((1 << n) - 70, (1 << n) + 70)),
).map(lambda size: max(size, 0))


@given(st.lists(sizes, min_size=1, max_size=12))
def test_blocks_are_aligned_and_apart(wanted):
    blocks = [(malloc(size), size) for size in wanted]
    for number, (block, size) in enumerate(blocks):
        assert block % 64 == 0
        bytes_at(block, size)[:] = number
    for number, (block, size) in enumerate(blocks):
        assert (bytes_at(block, size) == number).all()
    for block, _ in blocks:
        free(block)


@given(sizes)
def test_at_most_a_quarter_is_wasted(size):
    release_scratch()
    free(malloc(size))
    overhead = 64 if size < 28 << 10 else 64 + 4096
    assert size + 64 <= scratch_bytes() <= max(256, (size + overhead) * 5 / 4)


@given(sizes)
def test_a_freed_block_comes_back(size):
    block = malloc(size)
    free(block)
    assert malloc(size) == block
    other = malloc(size)
    assert other != block
    free(other)
    free(block)


def _blocks_of_threads(threads, size):
    """For each of some threads that run together: a block, and the one that it gets after all
    have freed theirs.
    """
    pairs, ready = [], Barrier(threads)

    def take():
        first = malloc(size)
        ready.wait()
        free(first)
        ready.wait()
        second = malloc(size)
        pairs.append((first, second))
        ready.wait()
        free(second)

    running = [Thread(target=take) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len(pairs) == len(dict(pairs)) == threads
    return pairs


def test_each_of_32_threads_gets_its_own_small_block_again():
    """It may be in the caches of their cores."""
    assert all(first == second for first, second in _blocks_of_threads(32, 5000))


@pytest.mark.parametrize(("threads", "size"), [(8, 9 * MIB), (64, 5000)])
def test_large_blocks_and_those_of_many_threads_are_shared(threads, size):
    """They are handed out in another order than they were freed in."""
    pairs = _blocks_of_threads(threads, size)
    assert {first for first, _ in pairs} == {second for _, second in pairs}
    rounds = (_blocks_of_threads(threads, size) for _ in range(20))
    assert any(first != second for pairs in rounds for first, second in pairs)


def test_a_thread_keeps_a_part_of_the_limit():
    most = max(kept_limit() // 128, MIB)
    blocks = [malloc(MIB * 3 // 4) for _ in range(most // MIB * 2 + 2)]
    for block in blocks:
        free(block)
        assert scratch_bytes() <= most
    assert scratch_bytes() > 0


def test_kept_blocks_can_be_released():
    blocks = [malloc(size) for size in (100, 5000, MIB, 9 * MIB)]
    for block in blocks:
        free(block)
    assert scratch_bytes() > 10 * MIB
    release_scratch()
    assert scratch_bytes() == 0


def test_no_more_than_the_limit_is_kept():
    """Memory that nobody touches takes none of the machine."""
    limit = kept_limit()
    first, second, third = malloc(limit // 2), malloc(limit * 3 // 4), malloc(limit * 5 // 4)
    free(first)
    assert limit // 2 <= scratch_bytes() < limit * 3 // 4
    free(second)  # frees the first one
    assert limit * 3 // 4 <= scratch_bytes() <= limit
    free(third)
    assert limit * 3 // 4 <= scratch_bytes() <= limit


def test_the_limit_follows_the_memory_of_the_machine_or_the_container(monkeypatch, tmp_path):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": (32 << 30) // 4096}
    container = tmp_path / "memory.max"
    monkeypatch.setattr("os.sysconf", pages.__getitem__)
    monkeypatch.setattr("spaces.backend.llvm.runtime.helpers.CONTAINER_LIMIT", container)
    assert kept_limit() == 4 << 30
    for limit, kept in (("max", 4 << 30), (str(16 << 30), 2 << 30), (str(1 << 30), KEPT_BYTES)):
        container.write_text(f"{limit}\n")
        assert kept_limit() == kept
    container.unlink()
    pages["SC_PHYS_PAGES"] = 1000
    assert kept_limit() == KEPT_BYTES


@pytest.mark.parametrize("size", [-1, -(1 << 63), 1 << 45, 1 << 62, (1 << 63) - 1])
def test_impossible_sizes_give_null(size):
    assert malloc(size) is None


def test_null_may_be_freed():
    free(None)
    assert scratch_bytes() == 0


def test_images_in_step_do_not_start_at_the_same_place_of_a_page():
    blocks = [malloc(8 * MIB) for _ in range(8)]
    assert len({block % 4096 for block in blocks}) == 8
    for block in blocks:
        free(block)


def test_threads_never_share_a_block():
    with compile_module(CHURN, runtime_symbols()) as module, ThreadPool(4) as pool:
        assert par_for(pool, module.address("churn"), 0, 50_000) == 0
    # Each of four threads holds at most two blocks of a size, and a quarter of a block may be
    # waste.
    assert 0 < scratch_bytes() <= sum(8 * (997 * k + 64 + 4096) * 5 // 4 for k in range(1, 62))


def test_a_forked_child_has_scratch_memory():
    free(malloc(1000))
    child = os.fork()
    if child == 0:
        block = malloc(1000)
        free(block)
        os._exit(0 if block else 1)
    assert os.waitpid(child, 0)[1] == 0
