"""Memory that is used again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.cuda.memory_pool import GRANULE, MemoryPool


class Full(Exception):
    """There is no memory left."""


class Heap:
    """Memory of limited size that knows what is allocated."""

    def __init__(self, most: int) -> None:
        self.most, self.made = most, 0
        self.pieces: dict[int, int] = {}

    def allocate(self, nbytes: int) -> int:
        if sum(self.pieces.values()) + nbytes > self.most:
            raise Full
        self.made += 1
        self.pieces[self.made] = nbytes
        return self.made

    def free(self, address: int) -> None:
        del self.pieces[address]


def pool_over(heap: Heap) -> MemoryPool:
    return MemoryPool(heap.allocate, heap.free, Full)


def test_memory_of_a_size_is_made_once() -> None:
    heap = Heap(1 << 20)
    pool = pool_over(heap)
    for nbytes in (1000, 900, 1024):
        pool.give(pool.take(nbytes))
    assert heap.made == 1
    assert pool.take(0) != pool.take(1)
    pool.clear()
    assert len(heap.pieces) == 2


def test_memory_is_used_again_in_its_stream_only() -> None:
    heap = Heap(1 << 20)
    pool = pool_over(heap)
    first = pool.take(1000, stream=7)
    pool.give(first)
    second = pool.take(1000, stream=8)
    assert second != first
    assert pool.take(1000, stream=7) == first
    pool.give_later(second)
    assert pool.take(1000, stream=8) == second


def test_unused_memory_makes_room() -> None:
    heap = Heap(4 * GRANULE)
    pool = pool_over(heap)
    pool.give(pool.take(GRANULE))
    pool.take(4 * GRANULE)
    with pytest.raises(Full):
        pool.take(1)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5 * GRANULE)), max_size=40))
def test_no_more_is_kept_than_was_in_use(steps: list[tuple[bool, int]]) -> None:
    heap = Heap(1 << 30)
    pool, used, most = pool_over(heap), list[int](), 0
    for is_taken, number in steps:
        if is_taken or not used:
            address = pool.take(number)
            assert address not in used
            assert heap.pieces[address] >= number
            used.append(address)
        else:
            pool.give(used.pop(number % len(used)))
        in_use = sum(heap.pieces[one] for one in used)
        most = max(most, in_use)
        assert sum(heap.pieces.values()) - in_use <= most
    pool.clear()
    assert heap.pieces.keys() == set(used)
