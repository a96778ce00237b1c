"""Searches that pause: they find the same, and work only while they may."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from spaces.cost.model import CostModel
from spaces.cost.registry import cost_model
from spaces.enumerate.search.events import Done, Event, Found, Improved, Scored
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pausing import PausingSearch
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import Deadline, OutOfTime, ask_clock
from tests.tuning.fakes import SPACE

MODEL = cost_model("reuse", SPACE.device)
STEPS: list[int] = []


def stepping(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    """Takes a millisecond for each of 300 steps; the clock is asked in each, events come once."""
    schedule = next(iter(space))
    yield Improved(Found(7.0, schedule))
    yield Scored(3, 30)
    for number in range(300):
        ask_clock()
        time.sleep(0.001)
        STEPS.append(number)
    yield Done((Found(7.0, schedule),), 9, 90, complete=True)


def failing(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    yield Scored(1, 1)
    raise ValueError("it fails")


@pytest.fixture
def steps() -> list[int]:
    STEPS.clear()
    return STEPS


def test_pauses_change_nothing() -> None:
    limits = Limits(top=4, structures=20)
    wanted = best(search(SPACE, MODEL, limits=limits))
    with PausingSearch(SPACE, MODEL, None, limits) as paused:
        turns = 0
        while not paused.is_over:
            paused.advance(0.0005 if turns < 200 else 0.02)  # often over before it begins
            turns += 1
        assert turns > 1
        assert (paused.found, paused.structures) == (wanted.best, wanted.structures)
        paused.advance(1.0)  # it is over


def test_it_works_only_while_it_may(steps: list[int]) -> None:
    looks: list[int] = []
    with PausingSearch(SPACE, MODEL, stepping, Limits()) as paused:
        paused.advance(0.05, lambda: looks.append(1))
        before = len(steps)
        assert 0 < before < 300
        assert not paused.is_over
        assert [one.cost for one in paused.found] == [7.0]
        assert paused.structures == 3
        assert 0.05 <= paused.worked < 5.0
        time.sleep(0.05)
        assert len(steps) == before
        paused.advance(60.0)
        assert paused.is_over
        assert (len(steps), paused.structures) == (300, 9)


def test_a_search_that_is_given_up_ends(steps: list[int]) -> None:
    with PausingSearch(SPACE, MODEL, stepping, Limits()) as paused:
        paused.advance(0.02)
        thread = paused._thread
    assert thread is not None
    assert not thread.is_alive()
    assert len(steps) < 300


def test_deadlines_and_errors_reach_the_caller(steps: list[int]) -> None:
    with PausingSearch(SPACE, MODEL, stepping, Limits()) as paused:
        with pytest.raises(OutOfTime), Deadline.after(0.05).kept():
            paused.advance(60.0)
        before = len(steps)
        time.sleep(0.02)
        assert len(steps) == before < 300
    with (
        PausingSearch(SPACE, MODEL, failing, Limits()) as paused,
        pytest.raises(ValueError, match="it fails"),
    ):
        paused.advance(60.0)
