"""Measures schedules on this machine, in worker processes."""

from __future__ import annotations

import logging
import math
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import numpy as np
from attrs import define, evolve, field
from attrs.validators import ge

from spaces.backend.arguments import Array, Scalars, Sizes
from spaces.backend.cuda.launch import gpu_available
from spaces.backend.measuring.agreement import EXACT, Tolerance
from spaces.backend.measuring.conditions import USUAL, RunConditions, check_conditions
from spaces.backend.measuring.cores import measuring_cores
from spaces.backend.measuring.cpu_program import cpu_program
from spaces.backend.measuring.disturbance import ProcessorTimes
from spaces.backend.measuring.gpu_program import gpu_program
from spaces.backend.measuring.inputs import random_inputs
from spaces.backend.measuring.metrics import Metric, check_metrics
from spaces.backend.measuring.rounds import Race, TimedRounds, time_in_rounds
from spaces.backend.measuring.session import (
    REFERENCE,
    BuiltCandidate,
    MeasuringError,
    MeasuringSession,
    build_in_turns,
)
from spaces.backend.measuring.task import (
    NO_METRICS,
    MeasuringLimits,
    MeasuringTask,
    TimedProgramMaker,
)
from spaces.constraints.devices.device import CpuDevice, GpuDevice, device
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule

log = logging.getLogger("spaces.measuring")

MOST_WORKERS = 2
"""More processes would compile faster, but each has a copy of all inputs and storage."""

SLOWEST = 20.0
"""A run that takes this many times as long as the fastest one so far is stopped ..."""

LEAST_LIMIT = 2.0
"""... after this many seconds more. Both are longer by the share of the machine that others take.
"""


@define(kw_only=True)
class LocalMeasurer:
    """Measures schedules on this machine. A context manager, which ends its worker processes.

    Candidates compile and run in worker processes. One that crashes its worker, hangs, or takes too
    much memory is reported as such, and the process is replaced for the next one. The results of
    each must be those of the trusted schedule: integers bit for bit, floats but for rounding. Then
    all are timed in rounds, each in turn with the reference, so that a slow moment of the machine
    counts for all. Those that are surely slower than the fastest are left out (:class:`Race`).

    A run of a candidate that takes :data:`SLOWEST` times as long as the fastest schedule so far,
    and two seconds more, is stopped as if it hung; on a busy machine later. The time limit of the
    caller ends a measurement in any state: schedules without a result have none then.

    The workers compile at the same time, and run in turn. Nothing is compiled while something is
    timed, and other processes of this user wait until a measurement is over. With a busy process
    beside them, runs on two cores took 1.3 times as long. Each thread stays on a core of its own
    (Linux).

    Attributes:
        device: the device that schedules are for; by default the CPU of this machine.
        reference: the schedule that runs beside all others; by default the default schedule of the
            pipeline. A slow one takes most of the time.
        trusted: the schedule whose results all others must have; by default the reference.
        inputs: an array for each image; by default random values at the estimated sizes.
        params: values of scalar parameters; those left out have their default.
        sizes: the sizes of the outputs; by default the estimates of the pipeline.
        limits: what a candidate may take.
        race: when candidates are left out.
        threads: how many threads run parallel loops; by default one for each core.
        workers: how many processes compile; by default up to two for a CPU with as many cores, and
            one for a GPU.
        make: compiles a schedule in a worker; by default for the CPU of this machine or for its
            GPU, with times between events on the GPU.
        metrics: what is noted of each schedule beside its time, memory and code size: functions of
            the compiled pipeline (:data:`Metric`), by name. For CPUs.
        conditions: under which conditions schedules are timed; others than those of the inputs are
            for CPUs alone.
        allowed: how results may differ beyond the rounding of floats; by default not at all. Code
            in fast float mode needs the :func:`tolerance` of the
            pipeline.

    >>> with LocalMeasurer() as measurer:
    ...     first, second = measurer.measure(pipeline, [schedule, other])
    """

    device: CpuDevice | GpuDevice = field(factory=lambda: device("cpu"))
    reference: Schedule | None = None
    trusted: Schedule | None = None
    inputs: Mapping[str, Array] | None = None
    params: Scalars | None = None
    sizes: Sizes | None = None
    limits: MeasuringLimits = field(factory=MeasuringLimits)
    race: Race = field(factory=Race)
    threads: int | None = None
    workers: int = field(validator=ge(1))
    make: TimedProgramMaker | None = None
    metrics: Mapping[str, Metric] = NO_METRICS
    conditions: RunConditions = USUAL
    allowed: Tolerance = EXACT
    _sessions: tuple[MeasuringSession, ...] = field(init=False, default=(), eq=False)
    _fastest: float = field(init=False, default=math.inf, eq=False)
    _others: float = field(init=False, default=0.0, eq=False)

    def __attrs_post_init__(self) -> None:
        check_conditions(self.conditions, self.device)
        check_metrics(self.metrics)

    @workers.default
    def _few(self) -> int:
        return min(self.device.cores, MOST_WORKERS) if isinstance(self.device, CpuDevice) else 1

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        """One measurement for each schedule, in their order.

        Raises:
            MeasuringError: the trusted schedule or the reference fails, there is no GPU, or another
                process measures on this machine for too long.
            OutOfTime: the time limit of the caller is over.
        """
        found = dict(self.measure_gradually(pipeline, schedules))
        return [found[place] for place in range(len(schedules))]

    def measure_gradually(
        self, pipeline: Pipeline, schedules: Sequence[Schedule]
    ) -> Iterator[tuple[int, Measurement]]:
        """The place of a schedule with its measurement, whenever more is known: that it failed, the
        times of its first rounds, all its times. The last one of each place counts.

        Raises:
            MeasuringError, OutOfTime: as :meth:`measure` does.
        """
        before = self._sessions[0].task.cores if self._sessions else ()
        wanted = measuring_cores(self.conditions, before, self.limits.waiting_seconds)
        with wanted as cores:
            sessions = self._of(pipeline, cores)
            try:
                built: dict[int, tuple[BuiltCandidate, Measurement]] = {}
                for place, candidate, found in build_in_turns(
                    sessions, schedules, self._longest_run
                ):
                    built[place] = candidate, found
                    if not found.is_correct:
                        yield place, found
                yield from self._time(sessions, built)
            except BaseException:
                self.close()  # an answer may be on its way
                raise

    @property
    def _longest_run(self) -> float:
        """How many seconds a run of a candidate may take."""
        limit = (LEAST_LIMIT + SLOWEST * self._fastest) / max(0.05, 1 - self._others)
        return min(self.limits.run_seconds, limit)

    def _time(
        self,
        sessions: Sequence[MeasuringSession],
        built: Mapping[int, tuple[BuiltCandidate, Measurement]],
    ) -> Iterator[tuple[int, Measurement]]:
        """The schedules with times. All are compared with the reference in the first worker: where
        a program lies in memory changes its time, so each worker's own would favour some schedules.
        """
        failed: dict[int, Measurement] = {}

        def time_of(place: int | None) -> float | None:
            if place is None:
                answer = sessions[0].run(REFERENCE, self.limits.run_seconds)
                return answer.seconds if answer.outcome is RunOutcome.CORRECT else None
            candidate, _ = built[place]
            answer = candidate.session.run(candidate.key, self._longest_run)
            if answer.outcome is RunOutcome.CORRECT:
                return answer.seconds
            log.info("candidate %d: %s. %s", place, answer.outcome, answer.reason)
            failed[place] = Measurement(candidate.schedule, answer.outcome, answer.reason)
            return None

        start = time.monotonic()
        cores = sessions[0].task.cores
        before = ProcessorTimes.now(_own_processes(sessions), cores)
        alive = [place for place, (_, one) in built.items() if one.is_correct]
        timing = time_in_rounds(
            time_of,
            alive,
            self.limits.rounds,
            lambda: time.monotonic() - start > self.limits.seconds,
            self.race,
        )
        results: dict[int, Measurement] = {}
        for rounds, times in enumerate(timing, start=1):
            after = ProcessorTimes.now(_own_processes(sessions), cores)
            self._others = others = before.share_of_others(after) if before and after else 0.0
            self._note_fastest(times)
            results = {
                place: failed.get(place) or _with_times(built[place][1], times, place, others)
                for place in alive
            }
            for place, found in results.items():
                if rounds == self.race.least or place not in times.alive:
                    yield place, found
            alive = list(times.alive)
        yield from ((place, results[place]) for place in alive)

    def _note_fastest(self, times: TimedRounds[int]) -> None:
        for seconds in (*times.seconds.values(), *times.reference.values()):
            if seconds:
                self._fastest = min(self._fastest, statistics.median(seconds))

    def _of(self, pipeline: Pipeline, cores: tuple[int, ...] = ()) -> tuple[MeasuringSession, ...]:
        """The sessions of a pipeline: the last ones, if they have this pipeline and these cores."""
        last = self._sessions[0].task if self._sessions else None
        if last is None or last.pipeline != pipeline or last.cores != cores:
            self.close()
            self._fastest = math.inf
            inputs = self._inputs_of(pipeline)
            task = MeasuringTask(
                pipeline,
                self.device,
                {name: np.asarray(array) for name, array in inputs.items()},
                self.params,
                self.sizes or {one.buffer: one.ranges for one in pipeline.estimates},
                self.make or _default_maker(self.device),
                self.threads or len(cores) or None,
                # CUDA reserves far more addresses than it uses, so they say nothing.
                self.limits.memory_bytes // self.workers
                if isinstance(self.device, CpuDevice)
                else None,
                self.allowed,
                self.metrics,
                self.conditions,
                cores,
            )
            reference = self.reference or Schedule.default(pipeline)
            trusted = self.trusted or reference
            self._sessions = tuple(
                MeasuringSession(task, trusted, None if number else reference, self.limits)
                for number in range(self.workers)
            )
        return self._sessions

    def _inputs_of(self, pipeline: Pipeline) -> Mapping[str, Array]:
        """The inputs that the user gives, or random ones; where the conditions ask for random ones,
        those that the user gives take their place.
        """
        if self.conditions.draws_inputs:
            seed = None if self.conditions.new_inputs else self.conditions.input_seed
            return {**random_inputs(pipeline, seed), **(self.inputs or {})}
        return random_inputs(pipeline) if self.inputs is None else self.inputs

    def is_like(self, other: LocalMeasurer) -> bool:
        """Whether two measurers measure alike."""
        mine, theirs = self.inputs or {}, other.inputs or {}
        return (
            mine.keys() == theirs.keys()
            and all(np.array_equal(mine[name], theirs[name]) for name in mine)
            and evolve(self, inputs=None) == evolve(other, inputs=None)
        )

    def as_here(self, free_bytes: int) -> LocalMeasurer:
        """A measurer that measures alike on this machine, within three quarters of so much free
        memory.
        """
        most = min(self.limits.memory_bytes, free_bytes * 3 // 4)
        return evolve(self, limits=evolve(self.limits, memory_bytes=most))

    def close(self) -> None:
        """Ends the worker processes."""
        for session in self._sessions:
            session.close()
        self._sessions = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _default_maker(target: CpuDevice | GpuDevice) -> TimedProgramMaker:
    """What compiles for a device.

    Raises:
        MeasuringError: the device is a GPU, and this machine has none that can run kernels.
    """
    if isinstance(target, CpuDevice):
        return cpu_program
    is_there, why = gpu_available()
    if not is_there:
        raise MeasuringError(f"Nothing is measured for {target.name} without a GPU: {why}.")
    return gpu_program


def _own_processes(sessions: Sequence[MeasuringSession]) -> list[int]:
    return [os.getpid(), *(one.pid for one in sessions if one.pid is not None)]


def _with_times(
    built: Measurement, times: TimedRounds[int], place: int, others: float
) -> Measurement:
    return evolve(
        built,
        seconds=tuple(times.seconds[place]),
        reference_seconds=tuple(times.reference[place]),
        others=others,
    )
