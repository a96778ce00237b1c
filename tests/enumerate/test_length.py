"""A space as a sequence: its length, negative ranks and slices, and whether it is empty."""

import pytest

import spaces
from tests.enumerate.pipelines import blur
from tests.small_space import small_space

CPU = spaces.device("cpu")
SPACE = small_space(blur(64, 32), CPU)
EVERY = list(SPACE)


def test_a_space_has_a_length():
    assert len(SPACE) == len(EVERY) == SPACE.count()
    assert SPACE


@pytest.mark.parametrize("rank", [0, 1, -1, -2, -len(EVERY), len(EVERY) - 1])
def test_ranks_count_from_either_end(rank):
    assert SPACE[rank] == EVERY[rank]


@pytest.mark.parametrize("rank", [len(EVERY), -len(EVERY) - 1])
def test_a_rank_beyond_either_end_is_refused(rank):
    with pytest.raises(IndexError, match="from -1 down to -len"):
        SPACE[rank]


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [(None, None, -1), (-3, None, None), (None, -3, None), (5, 2, -1), (2, 9, 3), (-1, -9, -2)],
)
def test_slices_are_those_of_a_list(start, stop, step):
    assert SPACE[start:stop:step] == EVERY[start:stop:step]


def test_a_space_that_is_not_counted_is_still_iterated():
    space = small_space(blur(64, 32), CPU, where=lambda schedule: True)
    with pytest.raises(TypeError, match=r"length of this space of .* is not known"):
        len(space)
    assert space
    assert list(space) == EVERY
    assert not small_space(blur(64, 32), CPU, where="points(blur_y) < 0")
