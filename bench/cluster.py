"""``python -m bench cluster`` tunes on 50 simulated machines of unequal speed.

Machines come and go, and one task in ten fails. The command compares the winner with that of one
machine, and says how busy the machines were.

The cluster is one of Dask in this process; only the measurements are made up: a task sleeps as long
as its schedules would take. Times have noise of each run and each machine, and the fastest schedule
is 5 % faster than the second.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

import distributed
from attrs import define, field, frozen

from bench.machine import machine
from bench.made_up import made_up_space, numbered_schedule
from bench.report import RESULTS
from spaces.apps.files import write_text
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.machine import this_machine
from spaces.backend.measuring.over_dask import DaskMeasurer
from spaces.backend.measuring.stations import WorkerDescription
from spaces.constraints.devices.device import CpuDevice, device
from spaces.cost.measurer import Measurement, Measurer, RunOutcome
from spaces.cost.model import CostModel
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import ask_clock, time_left
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.identity import schedule_digest
from spaces.tuning.store import TuningStore
from spaces.tuning.study import Study
from spaces.tuning.trial import Proposal, Trial

MACHINES = 50
TRIALS = 1000
SECONDS = 20.0
"""What a schedule takes on a machine of mean speed."""
FAILING = 0.1
"""The share of the tasks that fail."""
LEAVING = 10.0
"""Every so many seconds a machine leaves, and another one comes."""
ROUNDS = 15
NOISE = 0.01
"""The spread of the time of a run."""
LEAD = 0.95
"""The time of the fastest schedule, compared with the second."""


@frozen
class Listed:
    """A strategy that proposes the same schedules, whatever their results are."""

    count: int

    def generation(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        first = len(trials)
        return [
            Proposal(numbered_schedule(number), "listed")
            for number in range(first, min(first + 2 * MACHINES, self.count))
        ]


def true_ratio(digest: str, winner: str) -> float:
    """The true time of a schedule, compared with the reference: 1 to 2, and less for one."""
    return LEAD if digest == winner else 1 + int(digest, 16) % 1000 / 1000


@define
class Spent:
    """How long the machines of this process were at work.

    Attributes:
        seconds: the sum over all tasks.
        tasks: how many tasks there were.
        failed: how many failed.
    """

    seconds: float = 0.0
    tasks: int = 0
    failed: int = 0
    _lock: threading.Lock = field(init=False, factory=threading.Lock)

    def add(self, seconds: float, *, has_failed: bool) -> None:
        """Counts a task."""
        with self._lock:
            self.seconds += seconds
            self.tasks += 1
            self.failed += has_failed


SPENT = Spent()


@define
class Simulated:
    """A machine that sleeps.

    Attributes:
        winner: the digest of the fastest schedule.
        seconds: what a schedule takes at mean speed.
        failing: the share of the tasks that fail.
    """

    winner: str
    seconds: float
    failing: float
    device: CpuDevice = field(factory=lambda: cast(CpuDevice, device("cpu")))

    def is_like(self, other: object) -> bool:
        """Whether two measure alike."""
        return self == other

    def as_here(self, free_bytes: int) -> Simulated:
        """The same: it takes no memory."""
        return self

    def close(self) -> None:
        """Nothing is open."""

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        """Sleeps, fails at times, and gives times with noise."""
        chosen = random.Random()
        speed = _speed()
        takes = speed * self.seconds * len(schedules) * chosen.uniform(0.5, 1.5)
        has_failed = chosen.random() < self.failing
        begun = time.monotonic()
        time.sleep(min(takes * (chosen.random() if has_failed else 1.0), time_left()))
        SPENT.add(time.monotonic() - begun, has_failed=has_failed)
        ask_clock()
        if has_failed:
            raise OSError("The machine is out of order.")
        return [self._measured(pipeline, one, speed, chosen) for one in schedules]

    def _measured(
        self, pipeline: Pipeline, schedule: Schedule, speed: float, chosen: random.Random
    ) -> Measurement:
        ratio = true_ratio(schedule_digest(pipeline, schedule), self.winner)
        mine, beside = (
            tuple(1e-3 * speed * one * chosen.lognormvariate(0.0, NOISE) for _ in range(ROUNDS))
            for one in (ratio, 1.0)
        )
        return Measurement(schedule, RunOutcome.CORRECT, "", mine, beside, 0.1)


def _speed() -> float:
    """How long this machine takes, compared with others: from 0.5 to 2."""
    try:
        name = str(distributed.get_worker().name)
    except ValueError:
        return 1.0
    return 2 ** random.Random(name).uniform(-1.0, 1.0)


def describe(target: object) -> WorkerDescription:
    """Each worker is a machine."""
    here = this_machine(cast(CpuDevice, device("cpu")))
    return WorkerDescription(str(distributed.get_worker().name), here)


def main(arguments: list[str]) -> None:
    """Tunes on the cluster and alone."""
    parser = argparse.ArgumentParser(prog="python -m bench cluster")
    parser.add_argument("--machines", type=int, default=MACHINES)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a schedule")
    chosen = parser.parse_args(arguments)
    pipeline = made_up_space().pipeline
    winner = schedule_digest(pipeline, numbered_schedule(chosen.trials * 2 // 3))
    alone = _tuned(Simulated(winner, 0.0, 0.0), chosen.trials)
    found = _on_cluster(chosen.machines, chosen.trials, Simulated(winner, chosen.seconds, FAILING))
    results = {
        "machines": chosen.machines,
        "trials": chosen.trials,
        "seconds_a_schedule": chosen.seconds,
        **found,
        "winner_alone": alone["winner"],
        "is_same_winner": alone["winner"] == found["winner"] == winner,
    }
    print(json.dumps(results, indent=2))
    if (chosen.machines, chosen.trials) == (MACHINES, TRIALS):
        report = {"machine": machine(), "results": results}
        write_text(RESULTS / "cluster.json", json.dumps(report, indent=2) + "\n")


def _tuned(measurer: Measurer | DaskMeasurer, trials: int) -> dict[str, Any]:
    """The winner of a study, and how long it took up to the last proposals."""
    space = made_up_space()
    with (
        TuningStore.open(":memory:") as store,
        Study.open(
            store, space, strategy=Listed(trials), reference=Schedule.default(space.pipeline)
        ) as study,
    ):
        study.run(measurer, trials=trials)
        best = study.best
        told = [one for one in study if one.result is not None]
        assert best is not None
        return {
            "winner": schedule_digest(space.pipeline, best.schedule),
            "ratio": round(best.ratio, 4),
            "results": len(told),
            "correct": sum(bool(one.result and one.result.is_correct) for one in told),
        }


@define
class Changing:
    """Lets machines leave and come while a study runs.

    Attributes:
        cluster: the cluster.
        left: how many machines have left.
    """

    cluster: Any
    left: int = 0
    _is_over: threading.Event = field(init=False, factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = threading.Thread(target=self._change, daemon=True)
        self._thread.start()

    def _change(self) -> None:
        chosen = random.Random(1)
        while not self._is_over.wait(LEAVING):
            name = chosen.choice(sorted(self.cluster.workers))
            del self.cluster.worker_spec[name]
            self.cluster.worker_spec[f"new {self.left}"] = _worker(f"new {self.left}")
            with suppress(OSError):
                self.cluster.sync(self.cluster._correct_state)
            self.left += 1

    def stop(self) -> None:
        """Ends the changes."""
        self._is_over.set()
        self._thread.join()


def _worker(name: str) -> dict[str, Any]:
    options = {"name": name, "nthreads": 1, "dashboard_address": ":0"}
    return {"cls": distributed.Worker, "options": options}


def _on_cluster(machines: int, trials: int, simulated: Simulated) -> dict[str, Any]:
    workers = {f"machine {number}": _worker(f"machine {number}") for number in range(machines)}
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": ":0"}}
    with (
        distributed.SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        local = cast(LocalMeasurer, simulated)
        pool = DaskMeasurer(client, local, describe=describe, losses=5)
        assert pool.machine
        changing = Changing(cluster)
        begun, cpu = time.monotonic(), time.process_time()
        found = _tuned(pool, trials)
        wall = time.monotonic() - begun
        changing.stop()
        pool.close()
    return {
        **found,
        "busy": round(SPENT.seconds / (wall * machines), 3),
        "wall_s": round(wall, 1),
        "processor_s": round(time.process_time() - cpu, 1),
        "tasks": SPENT.tasks,
        "failed_tasks": SPENT.failed,
        "machines_left": changing.left,
    }
