"""A scheduler and workers of Dask, each a process of its own, and what their sudden end costs."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from spaces import Options, RandomTrials, ScheduleSpace, Study, Trial, TuningStore
from spaces.backend.measuring.over_dask import DaskMeasurer, DaskUnavailable
from spaces.cost.measurer import Measurement
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.backend.measuring.cluster import MadeUp, describe, made_up_result
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

distributed = pytest.importorskip("distributed")

PATIENCE = 60.0
"""The most seconds until processes have started."""

FEW = ScheduleSpace(blur(), FOUR_CORES, Options(row_tiles=(32,), tiles=(8, 16), lanes=(1,)))
ROOT = parse_schedule("blur_x.compute_root()", FEW.pipeline)
TRIALS = 40


@define
class Processes:
    """A cluster of processes.

    Attributes:
        port: the port of the scheduler.
        scheduler: the process of the scheduler.
        workers: those of the workers by name.
    """

    port: int
    scheduler: subprocess.Popen[bytes] | None = None
    workers: dict[str, subprocess.Popen[bytes]] = field(factory=dict)

    @property
    def address(self) -> str:
        """The address of the scheduler."""
        return f"tcp://127.0.0.1:{self.port}"

    def start(self, *names: str) -> None:
        """Starts the scheduler and workers of these names, and waits for them."""
        self.scheduler = _start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-show"
        )
        _await_port(self.port)
        for name in names:
            self.workers[name] = _start(
                "dask_worker", self.address, "--name", name, "--no-nanny", "--nthreads", "1"
            )
        with distributed.Client(self.address, timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(len(names), timeout=PATIENCE)

    def stop(self) -> None:
        """Kills all that still run."""
        for one in (self.scheduler, *self.workers.values()):
            if one is not None:
                one.kill()
                one.wait()


def _start(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A command of Dask without its dashboard. It imports from the folder of this checkout."""
    command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, "--no-dashboard"]
    here = Path(__file__).parents[3]
    return subprocess.Popen(command, cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _await_port(port: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the scheduler of Dask did not start")


@contextmanager
def processes(*names: str) -> Iterator[Processes]:
    """A scheduler on a free port, and workers of these names."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Processes(port)
    try:
        made.start(*names)
        yield made
    finally:
        made.stop()


class MeasuresAlone:
    """The same measurements, one after the other."""

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        return [made_up_result(pipeline, one) for one in schedules]


def tuned(path: str | Path, measurer: Any, *callbacks: Any) -> tuple[Schedule, int]:
    """The fastest schedule of a study of the small space, and how many results it has."""
    strategy = RandomTrials(size=8)
    with (
        TuningStore.open(path) as store,
        Study.open(store, FEW, strategy=strategy, reference=ROOT) as study,
    ):
        study.run(measurer, trials=TRIALS, callbacks=callbacks)
        assert study.best is not None
        return study.best.schedule, study.told


@pytest.mark.thorough
def test_what_is_killed_costs_no_result(tmp_path: Path) -> None:
    """First a worker that measures is killed, then the scheduler. The same call ends the study when
    both are there again, with the winner of one machine.
    """
    path, slow = tmp_path / "s.sqlite", dict.fromkeys("abc", 0.05)
    kills: list[str] = []

    def kill(study: Study, trial: Trial) -> None:
        if study.told == 6:
            made.workers["a"].send_signal(signal.SIGKILL)
            kills.append("worker")
        if study.told == 20 and made.scheduler is not None:
            made.scheduler.send_signal(signal.SIGKILL)
            kills.append("scheduler")

    def pool() -> DaskMeasurer:
        local: Any = MadeUp(seconds=slow)
        return DaskMeasurer(made.address, local, describe=describe, seconds=5.0)

    with processes("a", "b", "c") as made:
        with (
            pool() as measurer,
            pytest.raises(DaskUnavailable, match=r"is gone .* is kept; start the scheduler"),
        ):
            tuned(path, measurer, kill)
        assert kills == ["worker", "scheduler"]
        assert made.workers["a"].wait(PATIENCE) == -signal.SIGKILL
        with TuningStore.read(path) as store:
            kept = [one for one in store.trials(1) if one.result is not None]
        assert 20 <= len(kept) < TRIALS
        made.stop()
        made.start("b", "c")
        with pool() as measurer:
            winner, count = tuned(path, measurer)
        with TuningStore.read(path) as store:
            after = {one.number: one for one in store.trials(1)}
    assert count == TRIALS
    assert all(after[one.number] == one for one in kept)
    assert (winner, TRIALS) == tuned(":memory:", MeasuresAlone())
