"""A cluster of Dask in this process, whose machines and measurements are made up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from attrs import define, evolve, field

from spaces import Measurement, Pipeline, RunOutcome, Schedule, device
from spaces.backend.measuring.machine import this_machine
from spaces.backend.measuring.stations import WorkerDescription
from spaces.constraints.devices.device import CpuDevice, Device
from spaces.model.deadline import ask_clock, time_left
from spaces.tuning.identity import schedule_digest

distributed = pytest.importorskip("distributed")

LOG: list[tuple[str, str, float, float]] = []
"""What the machines of this process measured: the machine, what, from when to when."""


GATE = threading.Event()
"""What workers wait for that are busy with something else."""


def wait_at_gate() -> None:
    """Keeps a worker busy."""
    GATE.wait(20)


def worker_name() -> str:
    """The name of the worker that runs this."""
    return str(distributed.get_worker().name)


def describe(target: Device) -> WorkerDescription:
    """Workers are on the machine of the first letter of their name; those that begin with z have
    another processor.
    """
    place = worker_name()[0]
    here = this_machine(device("cpu"))  # type: ignore[arg-type]
    if place == "z":
        here = evolve(here, processor="Z80", library="0.0.1")
    return WorkerDescription(place, here)


@define
class MadeUp:
    """Measures without running: the digest of a schedule says how fast it is.

    Attributes:
        seconds: how long the machine of each letter takes for a schedule.
        broken: machines whose tasks fail, and how.
    """

    seconds: dict[str, float] = field(factory=dict)
    broken: dict[str, Exception] = field(factory=dict)
    device: CpuDevice = field(factory=lambda: device("cpu"))

    def is_like(self, other: object) -> bool:
        return self == other

    def as_here(self, free_bytes: int) -> MadeUp:
        return self

    def close(self) -> None:
        """Nothing is open."""

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        return [self._measured(pipeline, one) for one in schedules]

    def _measured(self, pipeline: Pipeline, schedule: Schedule) -> Measurement:
        name = worker_name()
        begun = time.monotonic()
        time.sleep(min(self.seconds.get(name[0], 0.0), max(0.0, time_left())))
        ask_clock()
        if name[0] in self.broken:
            raise self.broken[name[0]]
        LOG.append((name, schedule_digest(pipeline, schedule), begun, time.monotonic()))
        return made_up_result(pipeline, schedule)


def made_up_result(pipeline: Pipeline, schedule: Schedule) -> Measurement:
    """A result that depends on the schedule alone."""
    ratio = 1 + int(schedule_digest(pipeline, schedule), 16) % 1000 / 1000
    return Measurement(schedule, RunOutcome.CORRECT, "", (ratio,) * 6, (1.0,) * 6, 0.1)


@contextmanager
def cluster(*names: str) -> Iterator[tuple[Any, Any]]:
    """A cluster with workers of these names, and a client of it."""
    LOG.clear()
    spec = {
        name: {"cls": distributed.Worker, "options": {"name": name, "nthreads": 1}}
        for name in names
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": ":0"}}
    with (
        distributed.SpecCluster(workers=spec, scheduler=scheduler, silence_logs=50) as made,
        distributed.Client(made, set_as_default=False, timeout=1) as client,
    ):
        yield made, client
