"""``python -m bench cluster`` tunes on 50 simulated machines of unequal speed.

Machines come and go, and one task in ten fails. The command compares the winner with that of one
machine, and says how busy the machines were. Studies and the hand-out of schedules are those of
tuning over Dask. Machines, times and the clock are made up, so the result does not depend on how
busy this machine is; what Dask itself takes is left out. Times have noise, and the fastest schedule
is 5 % faster than the second.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from collections.abc import Sequence
from typing import Any

from attrs import define, field, frozen

from bench.machine import machine
from bench.numbered_schedules import made_up_space, numbered_schedule
from bench.report import RESULTS
from spaces.apps.files import write_text
from spaces.backend.measuring.hand_out import HandOut, Station
from spaces.cost.measurer import Measurement, Measurer, RunOutcome
from spaces.cost.model import CostModel
from spaces.cost.pool import MeasuringPool
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.identity import schedule_digest
from spaces.tuning.store import TuningStore
from spaces.tuning.study import Study
from spaces.tuning.trial import Proposal, Trial

MACHINES = 50
TRIALS = 2000
SECONDS = 4.0
"""What a schedule takes on a machine of mean speed."""
FAILING = 0.1
"""The share of the tasks that fail."""
LEAVING = 10.0
"""Every this many seconds a machine leaves, and another one comes."""
SHARE, LOSSES = 2, 3
"""The defaults of ``DaskMeasurer``."""
ROUNDS = 15
NOISE = 0.01
"""The spread of the time of a run."""
LEAD = 0.95
"""The time of the fastest schedule, compared with the second."""


@frozen
class Listed:
    """A strategy that proposes the same schedules, whatever their results are.

    Attributes:
        count: how many trials the study has.
    """

    count: int

    def generation(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        """The next schedules by number."""
        first = len(trials)
        return [
            Proposal(numbered_schedule(number), "listed")
            for number in range(first, min(first + 12, self.count))
        ]


@frozen
class Times:
    """Made-up times of schedules.

    Attributes:
        winner: the digest of the fastest schedule.
    """

    winner: str

    def measured(
        self, pipeline: Pipeline, schedule: Schedule, speed: float, chosen: random.Random
    ) -> Measurement:
        """A measurement on a machine that takes ``speed`` times as long as the mean."""
        digest = schedule_digest(pipeline, schedule)
        ratio = LEAD if digest == self.winner else 1 + int(digest, 16) % 1000 / 1000
        mine, beside = (
            tuple(1e-3 * speed * one * chosen.lognormvariate(0.0, NOISE) for _ in range(ROUNDS))
            for one in (ratio, 1.0)
        )
        return Measurement(schedule, RunOutcome.CORRECT, "", mine, beside, 0.1)


@define
class Alone:
    """One machine.

    Attributes:
        times: the times of schedules.
    """

    times: Times
    _chosen: random.Random = field(init=False, factory=lambda: random.Random(1))

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        """Measures each schedule."""
        return [self.times.measured(pipeline, one, 1.0, self._chosen) for one in schedules]


@define(eq=False)
class SimulatedCluster:
    """Machines by a clock of its own, as a :class:`MeasuringPool`.

    Attributes:
        times: the times of schedules.
        machines: how many machines there are.
        seconds: what a schedule takes at mean speed.
        now: the clock, in seconds.
        busy: how many seconds all machines together were at work.
        tasks: how many tasks began.
        failed: how many failed.
        left: how many machines have left.
    """

    times: Times
    machines: int
    seconds: float
    now: float = 0.0
    busy: float = 0.0
    tasks: int = 0
    failed: int = 0
    left: int = 0
    _chosen: random.Random = field(init=False, factory=lambda: random.Random(2))
    _events: list[tuple[float, int, Station | None, int]] = field(init=False, factory=list)
    _found: list[tuple[int, Measurement]] = field(init=False, factory=list)
    _pipeline: Pipeline | None = field(init=False, default=None)
    _hand_out: HandOut = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._hand_out = HandOut(
            SHARE, LOSSES, lambda number, found: self._found.append((number, found))
        )
        for number in range(self.machines):
            self._hand_out.add_worker(f"worker {number}", f"machine {number}")
        self._events.append((LEAVING, 0, None, 0))

    @property
    def wanted(self) -> int:
        """How many schedules would keep all machines busy."""
        return self._hand_out.wanted

    def submit(self, pipeline: Pipeline, schedules: Sequence[tuple[int, Schedule]]) -> None:
        """Takes schedules."""
        self._pipeline = pipeline
        self._hand_out.add(schedules)
        self._begin_tasks()

    def collect(self, seconds: float) -> list[tuple[int, Measurement]]:
        """The results at the next moment at which there are some; those of now for no seconds."""
        while seconds > 0 and not self._found:
            self.now, _, station, task = heapq.heappop(self._events)
            if station is None:
                self._change_machines()
            elif station.task == task:
                self._end(station)
            self._begin_tasks()
        found, self._found = self._found, []
        return found

    def cancel(self) -> None:
        """Nothing runs outside the simulation."""

    def _begin_tasks(self) -> None:
        for station in self._hand_out.begin_tasks():
            self.tasks += 1
            station.task = self.tasks
            takes = _speed(station.place) * self.seconds * len(station.queued)
            takes *= self._chosen.uniform(0.5, 1.5)
            self.busy += takes
            heapq.heappush(self._events, (self.now + takes, self.tasks, station, self.tasks))

    def _end(self, station: Station) -> None:
        if self._chosen.random() < FAILING:
            self.failed += 1
            self._hand_out.fail(station, OSError("The machine is out of order."))
            if station.place not in self._hand_out.stations:
                self._come(station.place)
            return
        speed = _speed(station.place)
        assert self._pipeline is not None
        self._hand_out.finish(
            station,
            [
                self.times.measured(self._pipeline, one.schedule, speed, self._chosen)
                for one in station.queued
            ],
        )

    def _change_machines(self) -> None:
        """Lets a machine leave in the middle of its task, and another one come."""
        place = self._chosen.choice(sorted(self._hand_out.stations))
        station = self._hand_out.stations[place]
        for _, _, other, task in self._events:
            if other is station and task == station.task:
                end = next(at for at, number, *_ in self._events if number == task)
                self.busy -= end - self.now  # its task goes no further
        self._hand_out.lose_worker(station.workers[0], place)
        self._come(f"machine {self.machines + self.left}")
        heapq.heappush(self._events, (self.now + LEAVING, 0, None, 0))

    def _come(self, place: str) -> None:
        self.left += 1
        self._hand_out.add_worker(f"worker of {place}, {self.left}", place)


def _speed(place: str) -> float:
    """How long a machine takes, compared with others: from 0.5 to 2."""
    return float(2 ** random.Random(place).uniform(-1.0, 1.0))


def main(arguments: list[str]) -> None:
    """Tunes on the cluster and alone."""
    parser = argparse.ArgumentParser(prog="python -m bench cluster")
    parser.add_argument("--machines", type=int, default=MACHINES)
    parser.add_argument("--trials", type=int, default=TRIALS)
    chosen = parser.parse_args(arguments)
    pipeline = made_up_space().pipeline
    winner = schedule_digest(pipeline, numbered_schedule(chosen.trials * 2 // 3))
    alone = _tune(Alone(Times(winner)), chosen.trials)
    cluster = SimulatedCluster(Times(winner), chosen.machines, SECONDS)
    found = _tune(cluster, chosen.trials)
    results = {
        "machines": chosen.machines,
        "trials": chosen.trials,
        "seconds_a_schedule": SECONDS,
        "simulated_s": round(cluster.now, 1),
        "busy": round(cluster.busy / (cluster.now * chosen.machines), 4),
        "tasks": cluster.tasks,
        "failed_tasks": cluster.failed,
        "machines_left": cluster.left,
        "cluster": found,
        "alone": alone,
        "is_same_winner": alone["winner"] == found["winner"],
        "is_true_winner": found["winner"] == winner,
    }
    print(json.dumps(results, indent=2))
    if (chosen.machines, chosen.trials) == (MACHINES, TRIALS):
        report = {"machine": machine(), "results": results}
        write_text(RESULTS / "cluster.json", json.dumps(report, indent=2) + "\n")


def _tune(measurer: Measurer | MeasuringPool, trials: int) -> dict[str, Any]:
    """The winner of a study."""
    space = made_up_space()
    with (
        TuningStore.open(":memory:") as store,
        Study.open(
            store, space, strategy=Listed(trials), reference=Schedule.default(space.pipeline)
        ) as study,
    ):
        study.run(measurer, trials=trials)
        best = study.best
        told = [one.result for one in study if one.result is not None]
        assert best is not None
        return {
            "winner": schedule_digest(space.pipeline, best.schedule),
            "ratio": round(best.ratio, 4),
            "results": len(told),
            "crashed": sum(not one.is_correct for one in told),
        }
