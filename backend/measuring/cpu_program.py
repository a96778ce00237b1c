"""A schedule compiled for the CPU, as a program to time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import cache

from attrs import define, field

from spaces.backend.arguments import Array
from spaces.backend.compile import PreparedRun, compile_cpu
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.caches import CacheFlush
from spaces.backend.measuring.metrics import note_metrics
from spaces.backend.measuring.task import MeasuringTask, NotLegalError, TimedProgramMaker
from spaces.constraints.devices.device import CpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.schedules.schedule import Schedule

SHORTEST = 5e-3
"""Shorter runs are repeated until they take this many seconds together."""

WARMING = 5e-3
"""Seconds of runs that do not count. A run of a millisecond needs three before it: the last-level
cache gets its lines from the caches before it, and other programs ran in between.
"""

LONG = 0.05
"""A run of this many seconds needs none before it."""


@define
class TimedCpuRun:
    """A prepared run that is timed.

    Attributes:
        prepared: the run.
        metrics: what was noted when it was compiled.
    """

    prepared: PreparedRun
    metrics: tuple[tuple[str, float], ...] = ()
    _last: float = field(init=False, default=0.0)

    def run(self) -> Mapping[str, Array]:
        return self.prepared()

    def seconds(self) -> float:
        """The time of a run, or the mean of several short ones. Runs that do not count come first
        (:data:`WARMING`): they wake the threads and fill the caches with the data of this program.
        For a run that was :data:`LONG` before, this takes no share worth the time.
        """
        if self._last < LONG:
            warm_up(self.prepared)
        self._last = self._time_runs(1)
        if self._last < SHORTEST:
            self._last = self._time_runs(math.ceil(SHORTEST / max(self._last, 1e-6)))
        return self._last

    def _time_runs(self, times: int) -> float:
        start = time.perf_counter()
        for _ in range(times):
            self.prepared()
        return (time.perf_counter() - start) / times


MOST_COLD = 5
"""How many cold runs are timed at most: emptying the caches takes longer than a short run."""


@define
class ColdCpuRun:
    """A prepared run that is timed with empty caches.

    Attributes:
        prepared: the run.
        empty_caches: empties them.
        metrics: what was noted when it was compiled.
    """

    prepared: PreparedRun
    empty_caches: Callable[[], None]
    metrics: tuple[tuple[str, float], ...] = ()

    def run(self) -> Mapping[str, Array]:
        return self.prepared()

    def seconds(self) -> float:
        """The time of a run, or the mean of a few short ones, the caches empty before each."""
        whole, runs = 0.0, 0
        while runs == 0 or (whole < SHORTEST and runs < MOST_COLD):
            self.empty_caches()
            start = time.perf_counter()
            self.prepared()
            whole += time.perf_counter() - start
            runs += 1
        return whole / runs


def warm_up(run: Callable[[], object]) -> None:
    """Runs a program at least once, until :data:`WARMING` seconds are over."""
    end = time.perf_counter() + WARMING
    run()
    while time.perf_counter() < end:
        run()


def cpu_program(task: MeasuringTask, schedule: Schedule) -> TimedCpuRun | ColdCpuRun:
    """Compiles a schedule for the CPU of this process.

    Raises:
        NotLegalError: the schedule is illegal.
        ArgumentError, SizeError: the arguments of the task do not fit it.
    """
    return _make_run(task, schedule, FloatMode.STRICT)


def fast_cpu_program(task: MeasuringTask, schedule: Schedule) -> TimedCpuRun | ColdCpuRun:
    """The same with floats that may be reordered and contracted, as those of Halide."""
    return _make_run(task, schedule, FloatMode.FAST)


def _make_run(
    task: MeasuringTask, schedule: Schedule, float_mode: FloatMode
) -> TimedCpuRun | ColdCpuRun:
    verdict = verify(task.pipeline, schedule, task.device)
    if not isinstance(verdict, CheckedSchedule):
        raise NotLegalError(str(verdict))
    compiled = compile_cpu(verdict, threads=task.threads, float_mode=float_mode)
    metrics = note_metrics(compiled, task.metrics)
    prepared = compiled.prepare(task.inputs, task.params, task.sizes)
    if task.conditions.cold and isinstance(task.device, CpuDevice):
        return ColdCpuRun(prepared, _cache_flush(task.device), metrics)
    return TimedCpuRun(prepared, metrics)


@cache
def _cache_flush(device: CpuDevice) -> CacheFlush:
    """The one of this process, whose buffer is large."""
    return CacheFlush.of(device)


def contracted_cpu_program(task: MeasuringTask, schedule: Schedule) -> TimedCpuRun | ColdCpuRun:
    """The same with products and sums that round once."""
    return _make_run(task, schedule, FloatMode.CONTRACT)


CPU_PROGRAMS: Mapping[FloatMode, TimedProgramMaker] = {
    FloatMode.STRICT: cpu_program,
    FloatMode.CONTRACT: contracted_cpu_program,
    FloatMode.FAST: fast_cpu_program,
}
"""What compiles in each float mode."""
