"""Schedules as numbers."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spaces
from spaces import Options, ScheduleSpace
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur
from tests.small_space import small_space

CPU = FOUR_CORES
SPACE = ScheduleSpace(blur(), CPU, Options.expert(CPU))


@settings(max_examples=10)
@given(st.integers(0, 1 << 32))
def test_numbers_of_a_schedule_give_it_back(seed: int) -> None:
    schedule = SPACE.start().at_random(random.Random(seed)).schedule
    numbers = spaces.encode_schedule(SPACE, schedule)
    assert all(0 < number < 1 for number in numbers)
    assert spaces.decode_schedule(SPACE, numbers) == schedule


@settings(max_examples=10)
@given(st.lists(st.floats(0, 1), max_size=40))
def test_any_numbers_give_a_schedule_of_the_space(numbers: list[float]) -> None:
    schedule = spaces.decode_schedule(SPACE, numbers)
    first = spaces.encode_schedule(SPACE, schedule)[: len(numbers)]
    assert spaces.decode_schedule(SPACE, first) == spaces.decode_schedule(
        SPACE, numbers[: len(first)]
    )


def test_both_ends_choose_the_first_and_the_last_option() -> None:
    first, last = SPACE.start().options[0], SPACE.start().options[-1]
    assert SPACE.way_to(spaces.decode_schedule(SPACE, [0.0]))[1].taken == (first.label,)
    assert SPACE.way_to(spaces.decode_schedule(SPACE, [1.0]))[1].taken == (last.label,)


@pytest.mark.parametrize("number", [-0.1, 1.5, float("nan")])
def test_numbers_outside_choose_nothing(number: float) -> None:
    with pytest.raises(ValueError, match="does not choose an option of decision 'derive blur_x"):
        spaces.decode_schedule(SPACE, [number])


def test_fingerprints_tell_spaces_apart() -> None:
    assert ScheduleSpace(blur(), CPU, Options.expert(CPU)).fingerprint == SPACE.fingerprint
    others = [
        small_space(blur(), CPU),
        ScheduleSpace(blur(), spaces.device("sm_80"), Options.expert(CPU)),
        ScheduleSpace(blur(64, 64), CPU, Options.expert(CPU)),
    ]
    assert len({SPACE.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_spaces_travel_as_json() -> None:
    travelled = spaces.from_json(spaces.to_json(SPACE), ScheduleSpace)
    assert travelled == SPACE
    taken = SPACE.start().at_random(random.Random(9)).taken
    assert travelled.resume(taken).schedule == SPACE.resume(taken).schedule
