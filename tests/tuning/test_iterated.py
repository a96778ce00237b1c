"""Tuning in rounds: what a round proposes, what the model learns, and how a study goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from attrs import define, evolve, field, frozen

from spaces.cost.batch import Batch
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.cost.model import CostModel
from spaces.cost.simple.weighted import Weighted
from spaces.cost.training import PricedRun, TrainableModel
from spaces.enumerate.search.events import Done, Event
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.papers.sampling import HierarchicalSampling
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.calibration import spearman
from spaces.tuning.iterated import Iterated
from spaces.tuning.retraining import LEAST, retrain
from spaces.tuning.store import TuningStore
from spaces.tuning.strategies import tuning_strategy
from spaces.tuning.strategy import TuningStrategy
from spaces.tuning.study import Study
from spaces.tuning.top_ranked import TopRanked, rank_by_search
from spaces.tuning.trial import Proposal, Trial
from tests.cpus import FOUR_CORES
from tests.tuning.fakes import SPACE, FakeMeasurer

ODD = evolve(Prices(), lane=8.0, launch=500.0, line_from_memory=20.0, load=0.2, visit=300.0)
"""The prices of a machine that is unlike the one of the defaults."""

QUICK = Iterated(size=4, found=8, strategy=HierarchicalSampling(width=1, passes=1, greedy=3))


@define
class OddMachine:
    """Takes the time that odd prices say."""

    measured: list[Schedule] = field(factory=list)

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        self.measured += schedules
        return [self._measured(pipeline, one) for one in schedules]

    def _measured(self, pipeline: Pipeline, schedule: Schedule) -> Measurement:
        cost = float(Reuse(FOUR_CORES, ODD).cost(Batch.of(pipeline, schedule)))
        return Measurement(schedule, RunOutcome.CORRECT, "", (cost * 1e-9,) * 6, (1.0,) * 6)


def study_of(store: TuningStore, strategy: TuningStrategy) -> Study:
    return Study.open(store, SPACE, strategy=strategy, seed=2)


def _trials(schedules: Sequence[Schedule]) -> list[Trial]:
    """Trials with the times of the odd machine."""
    results = OddMachine().measure(SPACE.pipeline, schedules)
    return [
        Trial(number, Proposal(result.schedule, "draw"), result)
        for number, result in enumerate(results)
    ]


def test_a_model_learns_the_order_of_what_it_has_not_seen() -> None:
    model = Reuse(FOUR_CORES)
    trials = _trials(SPACE.sample(64, seed=1))
    learned = retrain(model, SPACE, trials[:32])
    batches = [Batch.of(SPACE.pipeline, trial.schedule) for trial in trials[32:]]
    quality = [
        spearman([float(one.cost(batch)) for batch in batches], [t.ratio for t in trials[32:]])
        for one in (model, learned)
    ]
    assert quality[1] > quality[0]
    assert quality[1] > 0.9
    assert model == Reuse(FOUR_CORES)


def test_little_and_failures_teach_nothing() -> None:
    model = Reuse(FOUR_CORES)
    trials = _trials(SPACE.sample(LEAST, seed=1))
    assert retrain(model, SPACE, trials[1:]) is model
    failed = evolve(
        trials[0], result=Measurement(trials[0].schedule, RunOutcome.CRASHED, "It did.")
    )
    assert retrain(model, SPACE, [failed, *trials[1:]]) is model
    assert retrain(Weighted(), SPACE, trials) == Weighted()
    assert retrain(model, SPACE, trials) != model


@frozen
class Remembering:
    """A model of a user that learns: it counts the runs, and costs less with each."""

    runs: tuple[PricedRun, ...] = ()

    def cost(self, batch: Batch) -> np.ndarray:
        return batch.full(1000.0 - len(self.runs))

    def retrain(self, runs: Sequence[PricedRun]) -> Remembering:
        return Remembering(tuple(runs))


def test_a_model_of_a_user_learns_from_all_trials() -> None:
    assert isinstance(Remembering(), TrainableModel)
    assert not isinstance(Weighted(), TrainableModel)
    trials = _trials(SPACE.sample(9, seed=1))
    (first, *_) = proposals = QUICK.generation(SPACE, Remembering(), trials, 0)
    assert first.predicted == 991.0
    assert {one.source for one in proposals} == {"round 1"}
    after = [*trials, *(Trial(9 + i, one) for i, one in enumerate(proposals))]
    (second, *_) = QUICK.generation(SPACE, Remembering(), after, 0)
    assert second.source == "round 2"
    assert not evolve(QUICK, rounds=1).generation(SPACE, Remembering(), after, 0)


def test_rounds_find_what_one_shot_does_not() -> None:
    """The model at the start does not know the machine."""
    ratios = []
    for strategy in (TopRanked(found=1, strategy=QUICK.strategy), evolve(QUICK, rounds=3)):
        with TuningStore.open(":memory:") as store, study_of(store, strategy) as study:
            best = study.run(OddMachine())
            assert best is not None
            ratios.append(best.ratio)
    assert ratios[1] < ratios[0]


def test_a_study_that_is_stopped_goes_on_alike(tmp_path: Path) -> None:
    found = []
    for stops in ((3, 7, 11), (11,)):
        path = tmp_path / f"{len(stops)}.sqlite"
        for stop in stops:
            with TuningStore.open(path) as store, study_of(store, QUICK) as study:
                study.run(FakeMeasurer(), trials=stop, batch=3)
                trials = [(t.proposal, t.result) for t in study if t.result is not None]
        found.append(trials)
    assert found[0] == found[1]
    assert len({one.schedule for one, _ in found[0]}) == len(found[0]) >= 8
    assert {one.source for one, _ in found[0]} >= {"reference", "round 1", "round 2", "round 3"}


def test_without_time_nothing_is_proposed() -> None:
    """What a cut search finds would depend on the clock."""
    with TuningStore.open(":memory:") as store, study_of(store, QUICK) as study:
        study.run(FakeMeasurer(), trials=1)
        known = len(study.trials)
        assert study.run(FakeMeasurer(), seconds=1e-3) is not None
        assert len(study.trials) == known


def test_what_a_cut_search_finds_does_not_count() -> None:
    def slow(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        time.sleep(0.1)
        yield Done((), 0, 0, complete=False)

    assert rank_by_search(SPACE, Weighted(), slow, Limits()) == ()
    with pytest.raises(OutOfTime), Deadline.after(0.05).kept():
        rank_by_search(SPACE, Weighted(), slow, Limits())


def test_what_is_measured_everywhere_ends_the_study() -> None:
    (one,) = SPACE.sample(1, seed=1)
    tiny = evolve(SPACE, fixed=one)
    assert QUICK.generation(tiny, Reuse(FOUR_CORES), _trials([one]), 0) == []


def test_it_has_a_name() -> None:
    assert tuning_strategy("iterated") == Iterated()
