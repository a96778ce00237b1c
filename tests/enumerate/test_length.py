"""A space as a sequence: its length, negative ranks and slices, and whether it is empty."""

import pytest

import spaces
from spaces import Options
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

CPU = FOUR_CORES
FEW = Options(row_tiles=(32,), tiles=(4, 8), lanes=(1,), storage="compute")
SPACE = spaces.ScheduleSpace(blur(64, 32), CPU, FEW)


@pytest.fixture(scope="module")
def every():
    """The schedules of the space, in their order."""
    return list(SPACE)


def test_a_space_has_a_length(every):
    assert len(SPACE) == len(every) == SPACE.count()
    assert SPACE


def test_ranks_count_from_either_end(every):
    for rank in (0, 1, -1, -2, -len(every), len(every) - 1):
        assert SPACE[rank] == every[rank]


def test_a_rank_beyond_either_end_is_refused(every):
    for rank in (len(every), -len(every) - 1):
        with pytest.raises(IndexError, match="from -1 down to -len"):
            SPACE[rank]


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [(None, None, -1), (-3, None, None), (None, -3, None), (5, 2, -1), (2, 9, 3), (-1, -9, -2)],
)
def test_slices_are_those_of_a_list(start, stop, step, every):
    assert SPACE[start:stop:step] == every[start:stop:step]


def test_a_space_that_is_not_counted_is_still_iterated(every):
    space = spaces.ScheduleSpace(blur(64, 32), CPU, FEW, where=lambda schedule: True)
    with pytest.raises(TypeError, match=r"length of this space of .* is not known"):
        len(space)
    assert space
    assert list(space) == every
    assert not spaces.ScheduleSpace(blur(64, 32), CPU, FEW, where="points(blur_y) < 0")
