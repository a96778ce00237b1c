"""Rounds of timing, with made-up times."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import pytest

from spaces.backend.measuring.rounds import EVERY_ROUND, Race, TimedRounds, time_in_rounds


def timed(
    time: Callable[[str | None], float | None],
    keys: Iterable[str],
    rounds: int,
    race: Race = EVERY_ROUND,
    is_over: Callable[[], bool] = lambda: False,
) -> TimedRounds[str]:
    """The times after the last round."""
    *_, last = time_in_rounds(time, keys, rounds, is_over, race)
    return last


def noisy(paces: dict[str, float], spread: float, seed: int = 0) -> Callable[[str | None], float]:
    """Times with log-normal noise; the reference takes 1."""
    chosen = random.Random(seed)
    return lambda key: paces.get(key or "", 1.0) * math.exp(chosen.gauss(0, spread))


def test_a_machine_that_slows_down_favours_nobody() -> None:
    """Each round takes twice the time of the one before."""
    rounds = Counter[str | None]()

    def time(key: str | None) -> float:
        rounds[key] += 1
        return {None: 2.0, "equal": 2.0, "twice": 1.0}[key] * 2 ** rounds[key]

    found = timed(time, ["equal", "twice"], 5)
    assert found.ratios(["equal", "twice"]) == {"equal": [1.0] * 5, "twice": [0.5] * 5}


def test_candidates_are_left_when_they_are_surely_slower() -> None:
    """With noise of 5 % it takes three rounds for ten times the time, and more for less. On a quiet
    machine it takes three for all of them.
    """
    paces = {"a": 1.0, "near": 1.01, "more": 1.15, "ten": 10.0}
    counts = []
    for spread in 0.05, 0.001:
        found = timed(noisy(paces, spread), paces, 15, Race())
        counts.append({key: len(times) for key, times in found.seconds.items()})
    assert counts[0]["ten"] == 3
    assert 3 < counts[0]["more"] < 15
    assert counts[0]["near"] == counts[0]["a"] == 15
    assert counts[1]["ten"] == counts[1]["more"] == 3


@pytest.mark.parametrize(("spread", "spikes"), [(0.05, 0.1), (0.1, 0.2)])
def test_a_race_seldom_leaves_out_its_fastest(spread: float, spikes: float) -> None:
    """Five candidates within 20 %: successive halving by medians loses one of ten."""
    chosen = random.Random(3)
    paces = {"fast": 1.0, "b": 1.05, "c": 1.1, "d": 1.15, "e": 1.2}
    lost = 0
    for seed in range(100):
        noise = noisy(paces, spread, seed)

        def time(key: str | None, noise: Callable[[str | None], float] = noise) -> float:
            is_disturbed = chosen.random() < spikes
            return noise(key) * (1 + chosen.expovariate(2.0) if is_disturbed else 1)

        lost += "fast" not in timed(time, paces, 8, Race()).alive
    assert lost <= 5


def test_one_disturbed_run_leaves_nobody_out() -> None:
    """Every run of the other candidates is exact, and one of this candidate takes ten times."""
    runs = Counter[str | None]()

    def time(key: str | None) -> float:
        runs[key] += 1
        return 10.0 if key == "hit" and runs[key] == 2 else 1.0

    assert timed(time, ["a", "b", "hit"], 3, Race()).alive == ["a", "b", "hit"]


def test_a_quiet_machine_needs_fewer_rounds() -> None:
    rounds = []
    for spread in 0.05, 0.005, 0.0:
        found = timed(noisy({}, spread), ["a", "b"], 15, Race())
        rounds.append(len(found.seconds["a"]))
    assert rounds[0] == 15
    assert rounds[0] > rounds[1] > rounds[2] == 3


def test_candidates_that_fail_are_timed_no_more() -> None:
    asked = Counter[str | None]()

    def time(key: str | None) -> float | None:
        asked[key] += 1
        return None if key == "bad" and asked[key] == 2 else 1.0

    found = timed(time, ["bad", "good"], 4)
    assert len(found.seconds["bad"]) == 1
    assert len(found.seconds["good"]) == 4
    assert asked["bad"] == 2


def test_rounds_without_the_reference_do_not_count() -> None:
    asked = Counter[str | None]()

    def time(key: str | None) -> float | None:
        asked[key] += 1
        return None if key is None and asked[key] == 2 else 1.0

    found = timed(time, ["a"], 3)
    assert found.seconds == found.reference == {"a": [1.0, 1.0]}


@pytest.mark.parametrize("seed", range(3))
def test_orders_are_random_and_repeat(seed: int) -> None:
    def orders() -> list[str | None]:
        asked: list[str | None] = []

        def time(key: str | None) -> float:
            asked.append(key)
            return 1.0

        for _ in time_in_rounds(time, "abc", 4, race=EVERY_ROUND, seed=seed):
            pass
        return asked

    first = orders()
    assert first == orders()
    rounds: Sequence[list[str | None]] = [first[i : i + 4] for i in range(0, len(first), 4)]
    assert all(set(one) == {None, "a", "b", "c"} for one in rounds)
    assert len(set(map(tuple, rounds))) > 1


def test_no_round_begins_after_the_time_but_there_are_three() -> None:
    found = timed(lambda key: 1.0, ["a"], 9, is_over=lambda: True)
    assert len(found.seconds["a"]) == 3
