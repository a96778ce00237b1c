"""The loop of a study: what is kept when, what is measured again, and what is tried again."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from attrs import define, evolve, field, frozen

from spaces.cost.measurer import Measurement, RunOutcome
from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Found, Improved, Scored
from spaces.enumerate.search.improving import ImprovingFrom
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import ask_clock
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.identity import schedule_digest
from spaces.tuning.opening_search import OpeningSearch
from spaces.tuning.retries import ATTEMPTS, is_transient
from spaces.tuning.running import name_trials
from spaces.tuning.search_counts import SearchCounts
from spaces.tuning.sources import REFERENCE
from spaces.tuning.store import TuningStore
from spaces.tuning.study import Study
from spaces.tuning.top_ranked import SEARCH, TopRanked
from spaces.tuning.trial import Proposal, Trial
from tests.tuning.fakes import QUICK, SPACE, FakeMeasurer

KILLED = "Its process ended with signal SIGKILL."


@define
class Gradual:
    """Tells the first three runs of all schedules of a batch, and then three more of the first.

    Attributes:
        fail: the failure of a schedule, if it has one this time.
        batches: the digests of each batch.
    """

    fail: Callable[[str], Measurement | None] = lambda digest: None
    batches: list[list[str]] = field(factory=list)

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        return list(dict(self.measure_gradually(pipeline, schedules)).values())

    def measure_gradually(
        self, pipeline: Pipeline, schedules: Sequence[Schedule]
    ) -> Iterator[tuple[int, Measurement]]:
        digests = [schedule_digest(pipeline, one) for one in schedules]
        self.batches.append(digests)
        for place, (schedule, digest) in enumerate(zip(schedules, digests, strict=True)):
            failed = self.fail(digest)
            yield (
                place,
                (
                    timed(schedule, digest, 3)
                    if failed is None
                    else evolve(failed, schedule=schedule)
                ),
            )
        if self.fail(digests[0]) is None:
            yield 0, timed(schedules[0], digests[0], 6)


def timed(schedule: Schedule, digest: str, runs: int) -> Measurement:
    seconds = 1 + int(digest, 16) % 1000 / 1000
    return Measurement(schedule, RunOutcome.CORRECT, "", (seconds,) * runs, (2.0,) * runs)


def opened(store: TuningStore, **more: object) -> Study:
    return Study.open(store, SPACE, **{"strategy": QUICK, **more})  # type: ignore[arg-type]


def runs_of(trial: Trial) -> int:
    return 0 if trial.result is None else len(trial.result.seconds)


def digest_of(trial: Trial) -> str:
    return schedule_digest(SPACE.pipeline, trial.schedule)


@pytest.fixture
def store() -> Iterator[TuningStore]:
    with TuningStore.open(":memory:") as made:
        yield made


def test_results_are_kept_one_by_one_and_grow(store: TuningStore) -> None:
    """The store has each when it is told, not when the batch is over."""
    kept: list[int] = []

    def look(study: Study, trial: Trial) -> None:
        kept.append(sum(one.result is not None for one in store.trials(study.id)))
        assert store.trials(study.id)[trial.number].result == trial.result

    with opened(store) as study:
        study.run(Gradual(), trials=5, batch=5, callbacks=[look])
        assert kept == [1, 2, 3, 4, 5]
        assert runs_of(study.trials[0]) >= 6
        assert store.trials(study.id) == list(study.trials)


def test_the_incumbent_takes_part_in_each_batch_and_the_reference_in_each_run(
    store: TuningStore,
) -> None:
    measurer = Gradual()
    with opened(store) as study:
        study.run(measurer, trials=9, batch=3)
        first = len(measurer.batches)
        asked: set[str] = set()
        for batch in measurer.batches[:3]:
            incumbent = min(asked, key=lambda one: int(one, 16) % 1000, default=None)
            new = [one for one in batch if one not in asked]
            assert 1 <= len(new) <= 3
            assert [one for one in batch if one in asked] == ([incumbent] if incumbent else [])
            asked |= set(new)
    with opened(store) as study:
        study.run(measurer, trials=12, batch=3)
        again = [one for one in measurer.batches[first] if one in asked]
        assert digest_of(study.trials[0]) in again


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([6], "trial 6"),
        ([0, 1], "trials 0, 1"),
        ([0, 1, 2], "trials 0 to 2"),
        ([7, 3, 4], "trials 7, 3, 4"),
    ],
)
def test_what_is_measured_is_told_in_words(numbers: list[int], said: str) -> None:
    proposal = Proposal(next(iter(SPACE)), "drawn")
    assert name_trials([Trial(one, proposal) for one in numbers]) == said


def test_finalists_are_measured_again_together(store: TuningStore) -> None:
    """Three runs each with noise of 10 %: several may be the fastest."""

    @define
    class Noisy(Gradual):
        def measure_gradually(
            self, pipeline: Pipeline, schedules: Sequence[Schedule]
        ) -> Iterator[tuple[int, Measurement]]:
            self.batches.append([schedule_digest(pipeline, one) for one in schedules])
            for place, schedule in enumerate(schedules):
                runs = (1.0 + place / 100, 1.1, 1.2)
                yield place, Measurement(schedule, RunOutcome.CORRECT, "", runs, (1.0,) * 3)

    measurer = Noisy()
    with opened(store) as study:
        study.run(measurer, trials=3, batch=3)
    first, last = measurer.batches
    assert 2 <= len(last) <= 3
    assert set(last) <= set(first)
    assert sorted(map(runs_of, study))[-len(last) :] == [6] * len(last)


def test_what_the_machine_lost_is_tried_three_times_apart(store: TuningStore) -> None:
    """One schedule is always killed, another one only at first. Both come after all others."""
    with opened(store) as study:
        victim, unlucky = (digest_of(one) for one in study.ask(5)[1:3])
        seen: list[str] = []

        def fail(digest: str) -> Measurement | None:
            seen.append(digest)
            is_lost = digest == victim or (digest == unlucky and seen.count(digest) == 1)
            return Measurement(Schedule(()), RunOutcome.CRASHED, KILLED) if is_lost else None

        measurer = Gradual(fail)
        study.run(measurer, trials=5, batch=5)
        assert [one.result is not None for one in study.trials[:5]] == [True] * 5
        assert runs_of(study.trials[2]) >= 3
        lost = study.trials[1].result
        assert lost is not None
        assert lost.outcome is RunOutcome.CRASHED
        batches = [one for one in measurer.batches if victim in one]
        assert len(batches) == ATTEMPTS == 3
        assert batches[1:] == [[victim]] * 2
        assert measurer.batches[1] == [victim] or measurer.batches[1] == [unlucky]
        assert store.trials(study.id) == list(study.trials)


@pytest.mark.parametrize(
    ("outcome", "reason", "expected"),
    [
        (RunOutcome.OUT_OF_MEMORY, "There is not enough memory.", True),
        (RunOutcome.CRASHED, "Its process ended with signal SIGKILL. It said: x", True),
        (RunOutcome.CRASHED, "Its process ended with signal SIGSEGV.", False),
        (RunOutcome.CRASHED, "Its process ended with exit status 3.", False),
        (RunOutcome.NOT_COMPILED, "Its process ended with signal SIGABRT.", True),
        (RunOutcome.NOT_COMPILED, "ValueError: no", False),
        (RunOutcome.HUNG, "It did not answer within 1 s.", False),
        (RunOutcome.WRONG, "3 values differ.", False),
    ],
)
def test_which_failures_say_nothing_about_a_schedule(
    outcome: RunOutcome, reason: str, expected: bool
) -> None:
    assert is_transient(Measurement(Schedule(()), outcome, reason)) is expected


def test_a_schedule_that_ends_the_tuner_comes_last_and_is_given_up(tmp_path: Path) -> None:
    """Each process ends, as if killed, while it measures this schedule."""
    path = tmp_path / "deadly.sqlite"
    asked: list[list[int]] = []
    for _ in range(ATTEMPTS + 3):
        with TuningStore.open(path) as opened_store, opened(opened_store) as study:
            while batch := study.ask(3):
                asked.append([one.number for one in batch])
                study.begin(batch)
                if any(one.number == 1 for one in batch):
                    break  # killed: nobody leaves or tells
                for one in batch:
                    study.tell(one, timed(one.schedule, digest_of(one), 3))
                if sum(one.result is not None for one in study) >= 4:
                    break
    assert asked[0] == [0, 1, 2]
    assert not {0, 1, 2} & set(asked[1])  # not those that were measured when the process ended
    assert [1] in asked
    assert sum(1 in batch for batch in asked) == ATTEMPTS + 1
    with TuningStore.open(path) as opened_store, opened(opened_store) as study:
        lost = study.trials[1].result
        assert lost is not None
        assert "The process that tunes ended 4 times while it was measured." in lost.reason
        assert study.trials[0].result is not None
        assert study.trials[2].result is not None


def test_the_end_of_the_time_is_nobodys_fault(store: TuningStore) -> None:
    """The measurer takes for ever, and asks the clock as those of the library do."""

    @define
    class Endless(Gradual):
        def measure_gradually(
            self, pipeline: Pipeline, schedules: Sequence[Schedule]
        ) -> Iterator[tuple[int, Measurement]]:
            yield 0, timed(schedules[0], schedule_digest(pipeline, schedules[0]), 3)
            while True:
                ask_clock()
                time.sleep(0.01)

    began = time.monotonic()
    with opened(store) as study:
        study.run(Endless(), seconds=0.3)
        assert study.trials[0].result is not None
        assert [one.attempts for one in study.trials[1:]] == [0] * (len(study.trials) - 1)
    assert time.monotonic() - began < 30


def test_an_incumbent_that_fails_later_is_out(store: TuningStore) -> None:
    bad: set[str] = set()

    def fail(digest: str) -> Measurement | None:
        wrong = Measurement(Schedule(()), RunOutcome.WRONG, "3 values differ.")
        return wrong if digest in bad else None

    with opened(store) as study:
        study.run(Gradual(fail), trials=4, batch=4)
        incumbent = study.best
        assert incumbent is not None
        bad.add(digest_of(incumbent))
        study.run(Gradual(fail), trials=8, batch=4)
        assert study.best is not None
        assert study.best.number != incumbent.number
        failed = study.trials[incumbent.number].result
        assert failed is not None
        assert (failed.outcome, failed.seconds) == (RunOutcome.WRONG, ())
        assert store.trials(study.id) == list(study.trials)


def test_an_interrupted_run_hands_over_the_best(store: TuningStore) -> None:
    def stop(study: Study, trial: Trial) -> None:
        if trial.number == 2:
            raise KeyboardInterrupt

    with opened(store) as study:
        found = study.run(FakeMeasurer(), trials=20, batch=1, callbacks=[stop])
        assert study.was_interrupted
        assert found is not None
        assert found == study.best
        assert sum(one.result is not None for one in study) == 3
        assert all(one.attempts == 0 for one in study)


def test_a_fast_trial_stands_in_for_a_slow_reference(tmp_path: Path) -> None:
    """A first run of half a second found a reference of 10 s, and the next schedule takes 4 s."""
    path = tmp_path / "slow.sqlite"

    def result(trial: Trial, seconds: float, beside: float, runs: int = 6) -> Measurement:
        times = (seconds,) * runs, (beside,) * runs
        return Measurement(trial.schedule, RunOutcome.CORRECT, "", *times)

    with TuningStore.open(path) as store, opened(store) as study:
        first, second, third, *_ = study.ask(9)
        study.tell(first, result(first, 10.0, 10.0))
        study.tell(second, result(second, 4.0, 10.0))
        assert study.reference == first.schedule
    with TuningStore.open(path) as store, opened(store) as study:
        assert study.reference == second.schedule
        told = study.tell(third, result(third, 2.0, 4.0, runs=3))
        assert told.ratio == pytest.approx(0.2)
        told = study.add_runs(told, result(third, 3.0, 8.0, runs=3))
        assert told.result is not None
        assert told.result.ratios == pytest.approx((0.2,) * 3 + (0.15,) * 3)
        assert store.trials(study.id)[2] == told
    with TuningStore.open(path) as store, opened(store, reference=first.schedule) as study:
        assert study.reference == first.schedule  # the user's stays


def test_a_busy_machine_is_told_once(store: TuningStore, caplog: pytest.LogCaptureFixture) -> None:
    @define
    class Busy(Gradual):
        def measure_gradually(
            self, pipeline: Pipeline, schedules: Sequence[Schedule]
        ) -> Iterator[tuple[int, Measurement]]:
            for place, schedule in enumerate(schedules):
                runs = ((1.0,) * 6, (2.0,) * 6)
                yield place, Measurement(schedule, RunOutcome.CORRECT, "", *runs, None, 0.45)

    with caplog.at_level(logging.WARNING, "spaces.tuning"), opened(store) as study:
        study.run(Busy(), trials=4, batch=2)
        assert [one.result is not None and one.result.is_disturbed for one in study][:4] == [
            True
        ] * 4
        assert store.trials(study.id) == list(study.trials)
    (told,) = caplog.messages
    assert told.startswith("other programs take 45 % of the processors")


def endless(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    """Finds two schedules in seven structures, and then no more."""
    dear, cheap = space.sample(2, seed=1)
    yield Improved(Found(1e9, dear))
    yield Improved(Found(9e8, cheap))
    yield Scored(7, 70, 9, 5)
    while True:
        ask_clock()
        time.sleep(0.001)


def test_a_search_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A study measures what an endless search has found in a moment. The next process searches on,
    from the best of that and with the structures that are left.
    """
    path = tmp_path / "searched.sqlite"
    slow = TopRanked(found=4, structures=60, strategy=endless)
    with TuningStore.open(path) as store, opened(store, strategy=slow, searching=0.05) as study:
        assert study.opening is not None
        assert not study.opening.is_over
        while study.opening._search.structures < 7:
            study.search(0.02)
        assert store.search_of(study.id) == (SearchCounts(7, 9, 5), False)
        assert study.trials[0].proposal.source == REFERENCE
        found = [one for one in study if one.proposal.source == SEARCH]
        cheap = min(found, key=lambda one: one.proposal.predicted or math.inf).schedule
    with TuningStore.open(path) as store, opened(store, strategy=slow) as study:
        opening = study.opening
        assert opening is not None
        assert opening.before == SearchCounts(7, 9, 5)
        assert opening._search.strategy == ImprovingFrom(start=cheap)
        assert opening._search.limits.structures == 53
        before = len(study.trials)
        study.search(60.0)
        assert opening.is_over
        counts, is_over = store.search_of(study.id) or (SearchCounts(), False)
        assert 7 < counts.structures <= 60
        assert (counts.made or 0) > 9
        assert (counts.legal or 0) > 5
        assert is_over
        assert len(study.trials) > before
        assert {one.proposal.source for one in study.trials[before:]} == {SEARCH}
    with TuningStore.open(path) as store, opened(store, strategy=slow) as study:
        assert study.opening is None


def test_changes_from_a_schedule_make_it_cheaper() -> None:
    start = next(iter(SPACE))
    first = best(search(SPACE, "reuse", TopRanked(structures=1).strategy, Limits(structures=1)))
    found = best(search(SPACE, "reuse", ImprovingFrom(start=start), Limits(structures=300)))
    alone = best(search(SPACE, "reuse", ImprovingFrom(start=start), Limits(structures=1)))
    assert found.best[0].cost < alone.best[0].cost
    assert found.best[0].cost <= first.best[0].cost


@frozen(kw_only=True)
class Pondering(TopRanked):
    """Takes a fifth of a second for each proposal, beside a search that does not end."""

    def changes(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        time.sleep(0.2)
        return [Proposal(drawn_schedules()[len(trials)], "pondered", 1.0)]


@cache
def drawn_schedules() -> list[Schedule]:
    return SPACE.sample(20, seed=1)


def test_a_search_waits_while_proposals_take_more_than_their_share(store: TuningStore) -> None:
    """Of a run of a second it might take 0.2 s; the proposals take far more than that."""
    drawn_schedules()
    with opened(store, strategy=Pondering(found=4, strategy=endless), searching=0.05) as study:
        opening = study.opening
        assert isinstance(opening, OpeningSearch)
        while len(study.trials) < 2:
            study.search(0.02)
        waiting = len(study.open_trials)
        before = opening.seconds
        study.run(FakeMeasurer(), trials=waiting + 5, batch=1)
        assert len(study.of_source("pondered")) >= 5
        assert study.proposing > 1.0
        assert opening.seconds - before < 0.1


def test_at_most_a_fifth_of_a_run_is_search(store: TuningStore) -> None:
    with opened(store, strategy=TopRanked(found=4, strategy=endless), searching=0.05) as study:
        opening = study.opening
        assert isinstance(opening, OpeningSearch)
        while len(study.trials) < 2:
            study.search(0.02)
        before = opening.seconds
        measurer = FakeMeasurer(pause=0.05)
        began = time.monotonic()
        study.run(measurer, trials=2, batch=1)
        assert opening.seconds - before <= 0.2 * (time.monotonic() - began) + 0.5
