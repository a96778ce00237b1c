"""Rounds of timing, with made-up times."""

from __future__ import annotations

from collections import Counter

import pytest

from spaces.backend.measuring.rounds import Rungs, time_in_rounds


def test_a_machine_that_slows_down_favours_nobody() -> None:
    """Each round takes twice the time of the one before."""
    rounds = Counter[str | None]()

    def time(key: str | None) -> float:
        rounds[key] += 1
        return {None: 2.0, "equal": 2.0, "twice": 1.0}[key] * 2 ** rounds[key]

    found = time_in_rounds(time, ["equal", "twice"], 5, rungs=Rungs(after=()))
    assert found.ratios(["equal", "twice"]) == {"equal": [1.0] * 5, "twice": [0.5] * 5}


def test_hopeless_candidates_are_left_out_early() -> None:
    paces = {f"{pace}": float(pace) for pace in (1, 2, 3, 4, 5, 6, 7, 8)} | {"near": 1.05}
    rungs = Rungs(after=(2, 4), kept=0.5, near=1.1)
    found = time_in_rounds(lambda key: paces[key] if key else 1.0, paces, 6, rungs=rungs)
    counts = {key: len(times) for key, times in found.seconds.items()}
    assert counts == {
        "1": 6, "near": 6, "2": 6, "3": 4, "4": 4, "5": 2, "6": 2, "7": 2, "8": 2,
    }  # fmt: skip


def test_near_candidates_stay() -> None:
    paces = {"a": 1.0, "b": 1.01, "c": 1.02, "d": 1.5}
    found = time_in_rounds(lambda key: paces.get(key or "", 1.0), paces, 5, rungs=Rungs(after=(1,)))
    assert [len(times) for times in found.seconds.values()] == [5, 5, 5, 1]


def test_candidates_that_fail_are_timed_no_more() -> None:
    asked = Counter[str | None]()

    def time(key: str | None) -> float | None:
        asked[key] += 1
        return None if key == "bad" and asked[key] == 2 else 1.0

    found = time_in_rounds(time, ["bad", "good"], 4, rungs=Rungs(after=()))
    assert len(found.seconds["bad"]) == 1
    assert len(found.seconds["good"]) == 4
    assert asked["bad"] == 2


def test_rounds_without_the_reference_do_not_count() -> None:
    asked = Counter[str | None]()

    def time(key: str | None) -> float | None:
        asked[key] += 1
        return None if key is None and asked[key] == 2 else 1.0

    found = time_in_rounds(time, ["a"], 3)
    assert found.seconds == found.reference == {"a": [1.0, 1.0]}


@pytest.mark.parametrize("seed", range(3))
def test_orders_are_random_and_repeat(seed: int) -> None:
    def orders() -> list[str | None]:
        asked: list[str | None] = []

        def time(key: str | None) -> float:
            asked.append(key)
            return 1.0

        time_in_rounds(time, "abc", 4, rungs=Rungs(after=()), seed=seed)
        return asked

    first = orders()
    assert first == orders()
    rounds = [first[i : i + 4] for i in range(0, len(first), 4)]
    assert all(set(one) == {None, "a", "b", "c"} for one in rounds)
    assert len(set(map(tuple, rounds))) > 1


def test_no_round_begins_after_the_time_but_there_are_three() -> None:
    found = time_in_rounds(lambda key: 1.0, ["a"], 9, is_over=lambda: True)
    assert len(found.seconds["a"]) == 3
