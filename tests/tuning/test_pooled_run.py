"""Runs of studies on a pool: time limits, and strategies that have nothing to propose."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

from attrs import define, field

from spaces import MeasuringPool, Pipeline, RandomTrials, Schedule, Study, TuningStore
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.tuning.retries import ATTEMPTS
from tests.tuning.fakes import SPACE, FakeMeasurer
from tests.tuning.test_store import ROWS

KILLED = "Its process ended with signal SIGKILL."


@define
class Pool:
    """Measures at once what it is asked for, or never.

    Attributes:
        is_stuck: whether results never come.
        kills: how often the process that measures a schedule is killed.
    """

    is_stuck: bool = False
    kills: dict[int, int] = field(factory=dict)
    wanted: int = 3
    taken: list[int] = field(factory=list)
    cancelled: int = 0
    _found: list[tuple[int, Measurement]] = field(init=False, factory=list)

    def submit(self, pipeline: Pipeline, schedules: Sequence[tuple[int, Schedule]]) -> None:
        self.taken += (number for number, _ in schedules)
        numbers, chosen = zip(*schedules, strict=True)
        found = FakeMeasurer().measure(pipeline, chosen)
        for number, one in zip(numbers, found, strict=True):
            if self.kills.get(number, 0):
                self.kills[number] -= 1
                one = Measurement(one.schedule, RunOutcome.CRASHED, KILLED)
            self._found.append((number, one))
        self.wanted -= len(schedules)

    def collect(self, seconds: float) -> list[tuple[int, Measurement]]:
        if self.is_stuck:
            time.sleep(min(seconds, 0.05))
            return []
        self.wanted = 3
        found, self._found = self._found, []
        return found

    def cancel(self) -> None:
        self.cancelled += 1


def run(pool: Pool, **limits: float) -> Study:
    assert isinstance(pool, MeasuringPool)
    with (
        TuningStore.open(":memory:") as store,
        Study.open(store, SPACE, strategy=RandomTrials(size=4), reference=ROWS) as study,
    ):
        study.run(pool, **limits)  # type: ignore[arg-type]
        return study


def test_what_has_no_result_at_the_end_of_the_time_stays_open() -> None:
    pool = Pool(is_stuck=True)
    study = run(pool, seconds=0.5)
    assert pool.taken == [0, 1, 2]
    assert pool.cancelled == 1
    assert [one.number for one in study.open_trials[:3]] == [0, 1, 2]


def test_a_run_ends_with_the_number_of_results_that_is_wanted() -> None:
    pool = Pool()
    study = run(pool, trials=10)
    assert pool.taken == list(range(10))
    assert (study.told, pool.cancelled) == (10, 1)


def test_a_run_ends_when_the_strategy_proposes_nothing_more() -> None:
    pool = Pool()
    with (
        TuningStore.open(":memory:") as store,
        Study.open(
            store, SPACE, strategy=RandomTrials(size=4, attempts=0), reference=ROWS
        ) as study,
    ):
        study.run(pool)
        assert study.told == 1


def test_what_was_killed_is_tried_again_and_given_up_after_three_times() -> None:
    pool = Pool(kills={1: 2, 2: 99})
    with (
        TuningStore.open(":memory:") as store,
        Study.open(store, SPACE, strategy=RandomTrials(size=4), reference=ROWS) as study,
    ):
        study.run(pool, trials=8)
        assert [pool.taken.count(number) for number in range(4)] == [1, 3, ATTEMPTS, 1]
        unlucky, victim = study.trials[1:3]
        assert unlucky.result is not None
        assert unlucky.result.reason != KILLED
        assert victim.result is not None
        assert victim.result.reason == KILLED
        assert study.told == 8


def test_results_are_told_between_two_proposals() -> None:
    """The pool wants more than the strategy proposes at once, and has results all the time."""
    pool = Wanting()
    run(pool, trials=12)
    assert pool.told_before[:2] == [0, 1]  # first the reference alone, which waits
    assert all(b > a for a, b in pairwise(pool.told_before))


@define
class Wanting(Pool):
    """Wants many schedules at any time.

    Attributes:
        told_before: for each submission how many results were collected before it.
    """

    wanted: int = 40
    told_before: list[int] = field(factory=list)
    _collected: int = field(init=False, default=0)

    def submit(self, pipeline: Pipeline, schedules: Sequence[tuple[int, Schedule]]) -> None:
        self.told_before.append(self._collected)
        Pool.submit(self, pipeline, schedules)
        self.wanted = 40

    def collect(self, seconds: float) -> list[tuple[int, Measurement]]:
        found = Pool.collect(self, seconds)
        self.wanted = 40
        self._collected += len(found)
        return found
