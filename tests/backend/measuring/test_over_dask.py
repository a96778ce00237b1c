"""Measuring over Dask, with two local workers, one of them killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from spaces.backend.measuring import over_dask
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.over_dask import DaskMeasurer, DaskUnavailable
from spaces.backend.measuring.session import MeasuringError
from spaces.backend.measuring.task import MeasuringLimits
from spaces.cost.measurer import Measurer, RunOutcome
from spaces.model.directives.directives import schedule
from spaces.model.schedules.schedule import Schedule
from tests.backend.measuring import saboteurs
from tests.enumerate.pipelines import copied

distributed = pytest.importorskip("distributed")

FEW = MeasuringLimits(rounds=3, run_seconds=2.0)
COPIED = copied(960)


def split(factor: int) -> Schedule:
    return schedule(COPIED).func("f").split("x", "x", "xi", factor).schedule


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as found,
    ):
        yield found


def test_schedules_are_measured_on_the_workers(client: Any) -> None:
    """In their order, bad ones too."""
    measurer: Measurer = DaskMeasurer(client, LocalMeasurer(limits=FEW, make=saboteurs.saboteur))
    assert isinstance(measurer, Measurer)
    schedules = [split(factor) for factor in (16, saboteurs.CRASHES, 32, 64, saboteurs.WRONG)]
    found = measurer.measure(COPIED, schedules)
    assert [one.schedule for one in found] == schedules
    assert [one.outcome for one in found] == [
        RunOutcome.CORRECT, RunOutcome.CRASHED, RunOutcome.CORRECT, RunOutcome.CORRECT,
        RunOutcome.WRONG,
    ]  # fmt: skip
    assert all(one.seconds for one in found if one.is_correct)


def test_a_lost_worker_loses_nothing(client: Any) -> None:
    pids = client.run(os.getpid)

    def kill_one() -> None:
        time.sleep(0.5)
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    schedules = [split(factor) for factor in (16, 24, 32, 48, 64, 96, 120, 160)]
    with DaskMeasurer(client, LocalMeasurer(limits=FEW), share=1) as measurer:
        killer.start()
        found = measurer.measure(COPIED, schedules)
        killer.join()
    assert [one.schedule for one in found] == schedules
    assert all(one.is_correct for one in found)
    assert set(client.run(os.getpid).values()) != set(pids.values())


def test_errors_of_workers_come_through(client: Any) -> None:
    local = LocalMeasurer(limits=FEW, make=saboteurs.saboteur, reference=split(2))
    with pytest.raises(MeasuringError, match="reference schedule of f"):
        DaskMeasurer(client, local).measure(COPIED, [split(16)])


def test_without_a_scheduler_there_is_a_sentence() -> None:
    with pytest.raises(DaskUnavailable, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        DaskMeasurer("tcp://127.0.0.1:1", seconds=0.5)


def test_without_dask_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(over_dask.importlib, "import_module", missing)
    with pytest.raises(DaskUnavailable, match=r"pip install '\.\[dask\]'"):
        DaskMeasurer("tcp://127.0.0.1:1")
