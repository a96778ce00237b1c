"""What a worker process measures, and what it is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

from attrs import field, frozen

from spaces.backend.arguments import Array, Scalars, Sizes
from spaces.backend.measuring.agreement import EXACT, Tolerance
from spaces.backend.measuring.conditions import USUAL, RunConditions
from spaces.backend.measuring.metrics import Metric
from spaces.constraints.devices.device import CpuDevice, GpuDevice
from spaces.cost.measurer import RunOutcome
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


class TimedProgram(Protocol):
    """A compiled schedule with its arguments."""

    def run(self) -> Mapping[str, Array]:
        """Runs once and returns the outputs."""
        ...

    def seconds(self) -> float:
        """Runs, and returns the time of a run in seconds."""
        ...


@runtime_checkable
class NotedProgram(TimedProgram, Protocol):
    """A program that tells more than its time."""

    @property
    def metrics(self) -> tuple[tuple[str, float], ...]:
        """What was noted when it was compiled, by name."""
        ...


NO_METRICS: Mapping[str, Metric] = {}


@frozen(eq=False)
class MeasuringTask:
    """The runs of one pipeline.

    Attributes:
        pipeline: the pipeline.
        device: the device that the schedules are for.
        inputs: an array for each image.
        params: values of scalar parameters; those left out have their default.
        sizes: the sizes of the outputs; the estimates of the pipeline if left out.
        make: compiles a schedule; a function of a module, for the worker imports it by name.
        threads: how many threads run parallel loops; None for one on each core.
        memory_bytes: how much memory a worker may have beside the inputs; None for no limit.
        allowed: how the results of a schedule may differ.
        metrics: what is noted of each schedule beside its time, by name.
        conditions: the conditions of timed runs.
        cores: the cores on which the worker stays; none for all.
    """

    pipeline: Pipeline
    device: CpuDevice | GpuDevice
    inputs: Mapping[str, Array]
    params: Scalars | None
    sizes: Sizes | None
    make: TimedProgramMaker
    threads: int | None
    memory_bytes: int | None
    allowed: Tolerance = EXACT
    metrics: Mapping[str, Metric] = NO_METRICS
    conditions: RunConditions = USUAL
    cores: tuple[int, ...] = ()


TimedProgramMaker: TypeAlias = Callable[[MeasuringTask, Schedule], TimedProgram]
"""Compiles a schedule and checks the arguments of its runs."""


class NotLegalError(ValueError):
    """The schedule breaks a rule of the device."""


@frozen
class BuildRequest:
    """A request to compile a schedule."""

    key: int
    schedule: Schedule


@frozen
class CheckRequest:
    """A request to run a built schedule, and to compare its results. The results of the first one
    checked are those that the others must have.
    """

    key: int


@frozen
class TimeRequest:
    """A request to time a run of a built schedule."""

    key: int


@frozen
class ForgetRequest:
    """A request to free what a schedule takes."""

    key: int


Request: TypeAlias = BuildRequest | CheckRequest | TimeRequest | ForgetRequest


@frozen
class RunAnswer:
    """The answer to a request.

    Attributes:
        outcome: whether it worked.
        reason: why it did not.
        seconds: the time of the run, or of compiling.
        metrics: what was noted when it was compiled; what is no number failed.
    """

    outcome: RunOutcome = RunOutcome.CORRECT
    reason: str = ""
    seconds: float = 0.0
    metrics: tuple[tuple[str, float], ...] = ()


def free_memory_bytes() -> int:
    """The memory of the machine that is free now; 4 GB where the system does not tell."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 4 << 30


@frozen(kw_only=True)
class MeasuringLimits:
    """What a candidate may take.

    Attributes:
        compile_seconds: the time to verify and compile a schedule.
        run_seconds: the time of one run, and to compare its results.
        memory_bytes: the memory of all worker processes together beside their inputs, in equal
            shares; by default most of what is free.
        rounds: how often each schedule is timed, unless it is hopeless.
        seconds: no round of timing begins later than this after the first one.
        waiting_seconds: how long to wait for another process that measures on this machine.
    """

    compile_seconds: float = 60.0
    run_seconds: float = 10.0
    memory_bytes: int = field(factory=lambda: free_memory_bytes() * 3 // 4)
    rounds: int = 15
    seconds: float = 30.0
    waiting_seconds: float = 1800.0
