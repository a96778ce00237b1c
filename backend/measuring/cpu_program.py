"""A schedule compiled for the CPU, as a program to time."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from attrs import frozen

from backend.arguments import Array
from backend.compile import PreparedRun, compile_cpu
from backend.measuring.task import MeasuringTask, NotLegalError
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.schedules.schedule import Schedule

SHORTEST = 1e-3
"""Shorter runs are repeated until they take so many seconds together."""


@frozen
class TimedCpuRun:
    """A prepared run that is timed."""

    prepared: PreparedRun

    def run(self) -> Mapping[str, Array]:
        return self.prepared()

    def seconds(self) -> float:
        """The time of a run, or the mean of several short ones. A run that does not count comes
        first: it wakes the threads and fills the caches with the data of this program.
        """
        self.prepared()
        first = self._timed(1)
        return first if first >= SHORTEST else self._timed(math.ceil(SHORTEST / max(first, 1e-6)))

    def _timed(self, times: int) -> float:
        start = time.perf_counter()
        for _ in range(times):
            self.prepared()
        return (time.perf_counter() - start) / times


def cpu_program(task: MeasuringTask, schedule: Schedule) -> TimedCpuRun:
    """Compiles a schedule for the CPU of this process.

    Raises:
        NotLegalError: the schedule is illegal.
        ArgumentError, SizeError: the arguments of the task do not fit it.
    """
    verdict = verify(task.pipeline, schedule, task.device)
    if not isinstance(verdict, CheckedSchedule):
        raise NotLegalError(str(verdict))
    compiled = compile_cpu(verdict, threads=task.threads)
    return TimedCpuRun(compiled.prepare(task.inputs, task.params, task.sizes))
