"""``python -m bench tuning_regret`` compares how fast tuning strategies come to a fast schedule.

Nothing runs: a second cost model stands in for the machine. The strategies see the prices of
``reuse``; the "time" of a schedule is what a trained network (``hybrid``, ``learned``) says, with
1 % noise, as if it had been measured six times. So each schedule of a space has a time, whichever a
strategy proposes, and the result does not depend on how busy this machine is. It compares orders
of proposals; it does not say how fast schedules are. The regret after so many trials is how much
slower the fastest schedule by then is than the fastest one that any strategy found for the app.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from bench.contenders import pipeline_of
from bench.cost_quality.random_pipelines import by_name, is_random
from bench.report import RESULTS
from spaces.apps.files import write_text
from spaces.constraints.devices.device import device
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.cost.model import CostModel
from spaces.cost.registry import cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.options import default_options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.evolving import Evolving
from spaces.tuning.random_trials import RandomTrials
from spaces.tuning.store import MEMORY, TuningStore
from spaces.tuning.strategy import TuningStrategy
from spaces.tuning.study import Study
from spaces.tuning.trial import Proposal, Trial

FILE = RESULTS / "tuning_regret.json"

APPS = ("unsharp", "harris", "hist", "random_3", "random_11", "random_20", "random_40", "varied_2")
"""The apps, and random pipelines, that are simulated."""

MARKS = (20, 40, 60, 120, 300)
"""The numbers of trials of the regrets in a table: about 60 take two minutes, 300 take ten."""

STRUCTURES = 150
"""How many structures the first search scores: with a limit of time results would depend on it."""

NOISE = 0.01
"""The standard deviation of the logarithm of a run."""

RUNS = 6
"""The runs of a trial."""


@define
class SimulatedMachine:
    """Measures without running: a cost model says how long a schedule takes.

    Attributes:
        reference: the time of the reference.
        times: the time of each schedule that was measured, without noise, in their order.
    """

    _pricer: Pricer
    reference: float
    times: list[float] = field(init=False, factory=list)
    _chosen: random.Random = field(init=False, factory=lambda: random.Random(1))

    @staticmethod
    def of(space: ScheduleSpace, truth: str, reference: Schedule) -> SimulatedMachine:
        """The machine on which schedules of a space take what a cost model says."""
        pricer = Pricer.of(space, cost_model(truth, space.device), Limits())
        return SimulatedMachine(pricer, _price(pricer, reference))

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        """The measurements of some schedules."""
        return [self._measured(one) for one in schedules]

    def _measured(self, schedule: Schedule) -> Measurement:
        true = _price(self._pricer, schedule)
        self.times.append(true)
        runs = tuple(true * self._chosen.lognormvariate(0.0, NOISE) for _ in range(RUNS))
        beside = (self.reference,) * RUNS
        return Measurement(schedule, RunOutcome.CORRECT, "", runs, beside, 0.1)


def _price(pricer: Pricer, schedule: Schedule) -> float:
    return float(pricer.price_structure(Structure(schedule, {})).flat[0])


def best_so_far(
    app: str, strategy: TuningStrategy, truth: str, seed: int, trials: int
) -> list[float]:
    """The time of the fastest schedule after each trial of a study, without noise.

    Args:
        app: the app, or the name of a random pipeline.
        strategy: the strategy.
        truth: the cost model that says how long schedules take.
        seed: the seed of the strategy.
        trials: the number of trials.
    """
    cpu = device("cpu")
    pipeline = by_name(app) if is_random(app) else pipeline_of(app)
    space = ScheduleSpace(pipeline, cpu, default_options(cpu))
    with (
        TuningStore.open(MEMORY) as store,
        Study.open(store, space, strategy=strategy, seed=seed, searching=math.inf) as study,
    ):
        made_up = SimulatedMachine.of(space, truth, study.reference)
        study.run(made_up, trials=trials)
    return list(itertools.accumulate(made_up.times, min))


@frozen(kw_only=True)
class CostsAlone(Evolving):
    """Chooses among changes by their costs: results say which schedules are changed, and nothing
    more.
    """

    def changes(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        """The changes of a study whose trials have no prices to correct."""
        unpriced = [evolve(one, proposal=evolve(one.proposal, predicted=None)) for one in trials]
        return super().changes(space, model, unpriced, seed)


STRATEGIES: Mapping[str, TuningStrategy] = {
    "evolving": Evolving(structures=STRUCTURES),
    "costs_alone": CostsAlone(structures=STRUCTURES),
    "one_parent": Evolving(structures=STRUCTURES, parents=1),
    "random": RandomTrials(),
}
"""The strategies that are compared."""


def regrets(
    curves: Mapping[str, Sequence[Sequence[float]]], marks: Sequence[int]
) -> dict[str, dict[str, float]]:
    """The mean regret of each strategy for one app after so many trials.

    Args:
        curves: for each strategy the time of its fastest schedule after each trial, by seed.
        marks: the numbers of trials.
    """
    least = min(curve[-1] for found in curves.values() for curve in found)
    longest = min(len(curve) for found in curves.values() for curve in found)
    return {
        name: {
            str(mark): round(statistics.fmean(curve[mark - 1] for curve in found) / least - 1, 4)
            for mark in marks
            if mark <= longest
        }
        for name, found in curves.items()
    }


def main(arguments: list[str]) -> None:
    """Simulates, prints, and writes the file."""
    parser = argparse.ArgumentParser(prog="python -m bench tuning_regret", description=__doc__)
    parser.add_argument("apps", nargs="*", default=list(APPS))
    parser.add_argument("--trials", type=int, default=MARKS[-1])
    parser.add_argument("--seeds", type=int, default=2, help="how many seeds")
    parser.add_argument("--truths", nargs="+", default=["hybrid"], help="cost models as machines")
    parser.add_argument("--strategies", nargs="+", default=list(STRATEGIES), choices=STRATEGIES)
    parser.add_argument("--output", type=Path, default=FILE, help="where the results are written")
    chosen = parser.parse_args(arguments)
    results: dict[str, dict[str, Any]] = {}
    for truth, app in itertools.product(chosen.truths, chosen.apps):
        curves = {
            name: [
                best_so_far(app, STRATEGIES[name], truth, seed, chosen.trials)
                for seed in range(chosen.seeds)
            ]
            for name in chosen.strategies
        }
        results.setdefault(truth, {})[app] = regrets(curves, MARKS)
        print(truth, app, json.dumps(results[truth][app]), flush=True)
        write_text(chosen.output, json.dumps(results, indent=2) + "\n")
