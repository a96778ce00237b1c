"""Ranks, slices and shards of spaces against their iteration; bounds of counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from spaces.enumerate.space.counting import count as counted
from spaces.enumerate.space.counting.candidates import Candidates
from spaces.enumerate.space.counting.estimate import CountBounds, about
from spaces.enumerate.space.counting.ranks import Positions
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import ask_clock
from spaces.model.writing.text import parse_schedule
from tests.clocks import Clock
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, line

TILES = Options(root=("strips", "tiles"), row_tiles=(8, 64), tiles=(8, 512), lanes=(1,))
SPLITS = Options(
    root=("loops",),
    inner=("loops",),
    directives=("split", "vectorize"),
    splits=1,
    small_factors=1,
    equal_parts=1,
    largest_factor=8,
)


@pytest.fixture(params=[(blur(), TILES), (line(), SPLITS)], ids=["patterns", "loop by loop"])
def space(request: pytest.FixtureRequest) -> ScheduleSpace:
    pipeline, options = request.param
    return ScheduleSpace(pipeline, FOUR_CORES, options)


def test_a_rank_is_the_place_in_the_iteration(space: ScheduleSpace) -> None:
    listed = list(space)
    assert [space[rank] for rank in range(len(listed))] == listed
    assert [space.rank(schedule) for schedule in listed] == list(range(len(listed)))
    with pytest.raises(IndexError, match=f"has no legal schedule of rank {len(listed)}"):
        space[len(listed)]
    assert space[-1] == listed[-1]


def test_slices_are_those_of_the_list(space: ScheduleSpace) -> None:
    listed = list(space)
    for ranks in (
        slice(3),
        slice(2, 7),
        slice(1, None, 3),
        slice(len(listed) - 1, 10**9),
        slice(0),
    ):
        assert space[ranks] == listed[ranks]
    assert space[-2:] == listed[-2:]


def test_a_search_for_a_rank_says_how_far_it_is(space: ScheduleSpace) -> None:
    listed = list(space)
    totals = list(space.ranking(listed[-1]))
    assert [one.structures for one in totals] == list(range(1, len(totals) + 1))
    befores = [one.before for one in totals]
    assert befores == sorted(befores)
    assert befores[-1] == len(listed) - 1
    assert 1 < len(totals) <= len(list(space.structures()))
    with pytest.raises(TimeoutError, match="before the schedule takes longer than 0 s"):
        space.rank(listed[-1], seconds=0)


def test_an_illegal_schedule_has_no_rank() -> None:
    space = ScheduleSpace(blur(), FOUR_CORES, TILES)
    legal = set(space)
    illegal = next(
        schedule for schedule in map(space.candidate, itertools.count()) if schedule not in legal
    )
    with pytest.raises(ValueError, match="Only legal schedules have a rank"):
        space.rank(illegal)
    with pytest.raises(ValueError, match="has no such schedule"):
        space.rank(parse_schedule("blur_x.compute_root()", space.pipeline))


def test_an_interrupted_search_for_a_rank_goes_on() -> None:
    space = ScheduleSpace(blur(), FOUR_CORES, TILES)
    interrupted: list[Structure] = []

    def legal(structure: Structure) -> NDArray[np.bool_]:
        if len(interrupted) < 3 and structure not in interrupted:
            interrupted.append(structure)
            raise KeyboardInterrupt
        return space.legal(structure)

    positions = Positions(space.structures, legal)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            positions.at(10)
    assert positions.at(10) == space[10]


def test_shards_have_every_schedule_once(space: ScheduleSpace) -> None:
    shards = [list(space.shard(number, of=3)) for number in range(3)]
    assert sorted(map(space.rank, itertools.chain(*shards))) == list(range(space.count()))
    assert max(map(len, shards)) < space.count()
    with pytest.raises(ValueError, match="give a number from 0 to 2"):
        list(space.shard(3, of=3))


def test_bounds_are_exact_if_the_time_suffices(space: ScheduleSpace) -> None:
    bounds = space.bounds()
    assert bounds.low == bounds.high == space.count()
    assert bounds.is_exact
    assert str(bounds) == str(space.count())


def test_bounds_hold_what_is_counted_so_far(space: ScheduleSpace, clock: Clock) -> None:
    nothing = space.bounds(seconds=0)
    assert nothing == CountBounds(0, math.inf)
    assert str(nothing) == "at least 0"
    clock.step = 0.01
    some = space.bounds(seconds=1.0)
    assert some.low <= space.count(seconds=math.inf) <= some.high


def test_bounds_without_the_time_for_candidates(
    space: ScheduleSpace, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """Each look at the clock takes 10 ms."""

    def never(candidates: Candidates) -> int:
        while True:
            ask_clock()

    monkeypatch.setattr(Candidates, "total", property(never))
    legal = len(list(space))
    clock.step = 0.01
    assert space.bounds(seconds=1000.0) == CountBounds(legal, legal)
    some = space.bounds(seconds=0.02)
    assert some.low <= legal
    assert some.high in (legal, math.inf)


def test_bounds_leave_out_what_is_illegal(monkeypatch: pytest.MonkeyPatch) -> None:
    def counting(space: ScheduleSpace, *, seconds: float) -> Iterator[counted.Counted]:
        yield counted.Counted(structures=2, considered=10, legal=4)
        raise TimeoutError

    monkeypatch.setattr(counted, "counting", counting)
    space = ScheduleSpace(blur(), FOUR_CORES, TILES)
    assert space.bounds() == CountBounds(4, space.candidates - 6)


def test_numbers_beyond_floats_are_shown() -> None:
    assert [about(n) for n in (0, 1234, 1.5e7)] == ["0", "1,234", "1.5e+07"]
    assert [about(n) for n in (10**22340, 10**400 - 1, 25 * 10**398)] == [
        "1.00e+22340",
        "1.00e+400",
        "2.50e+399",
    ]
