"""Timing in turns: the order of the runs, and the numbers made of their times."""

from collections import Counter

import pytest

from spaces.apps import timing
from spaces.apps.timing import Timing, interleaved


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the timed programs advance."""
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def takes(seconds, log, name):
        def program():
            log.append(name)
            now[0] += seconds

        return program

    return takes


def test_each_round_times_every_program_once_after_a_run_that_does_not_count(clock):
    log = []
    found = interleaved({n: clock(0.5, log, n) for n in "abc"}, rounds=4)
    assert all(t.times_ms == (500.0,) * 4 for t in found.values())
    rounds = [log[i : i + 6] for i in range(0, len(log), 6)]
    assert len(rounds) == 4
    for one in rounds:
        assert Counter(one) == {"a": 2, "b": 2, "c": 2}
        assert one[0::2] == one[1::2]


def test_the_order_changes_between_rounds(clock):
    log = []
    interleaved({n: clock(0.1, log, n) for n in "abc"}, rounds=12)
    orders = {tuple(log[i : i + 6 : 2]) for i in range(0, len(log), 6)}
    assert len(orders) > 2


def test_no_round_begins_after_the_budget_but_the_first_three(clock):
    found = interleaved({"slow": clock(10.0, [], "slow")}, rounds=9, budget_s=30)
    assert len(found["slow"].times_ms) == 3
    found = interleaved({"quick": clock(1.0, [], "quick")}, rounds=9, budget_s=9)
    assert len(found["quick"].times_ms) == 5


def test_medians_and_ratios_are_over_rounds():
    mine, other = Timing((1.0, 8.0, 3.0)), Timing((2.0, 4.0, 12.0))
    assert mine.median_ms == 3.0
    assert mine.ratio_to(other) == 0.5  # of 1/2, 2 and 1/4


def test_each_turn_waits_before_it_begins(clock, monkeypatch):
    log = []
    monkeypatch.setattr(timing.time, "sleep", log.append)
    interleaved({n: clock(0.5, log, n) for n in "ab"}, rounds=3, pause_s=0.25)
    turns = [log[i : i + 3] for i in range(0, len(log), 3)]
    assert len(turns) == 6
    assert all(turn in ([0.25, "a", "a"], [0.25, "b", "b"]) for turn in turns)
