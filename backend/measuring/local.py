"""Measures schedules on this machine, in a worker process."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from attrs import define, evolve, field

from backend.arguments import Array, Scalars, Sizes
from backend.cuda.launch import gpu_available
from backend.measuring.agreement import EXACT, Tolerance
from backend.measuring.alone import alone_on_machine
from backend.measuring.cpu_program import cpu_program
from backend.measuring.gpu_program import gpu_program
from backend.measuring.inputs import random_inputs
from backend.measuring.process import Worker, WorkerLost
from backend.measuring.rounds import Rungs, timed_in_rounds
from backend.measuring.task import (
    BuildRequest,
    CheckRequest,
    ForgetRequest,
    MeasuringLimits,
    MeasuringTask,
    Request,
    RunAnswer,
    TimedProgramMaker,
    TimeRequest,
)
from spaces.constraints.devices.device import CpuDevice, GpuDevice, device
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import time_left
from spaces.model.schedules.schedule import Schedule

log = logging.getLogger("spaces.measuring")

REFERENCE = -1
"""The key of the reference."""

TRUSTED = -2
"""The key of the trusted schedule."""

PATIENCE = 20.0
"""The trusted schedule may run so many times as long as others: it is simple, and runs once."""


class MeasuringError(RuntimeError):
    """Nothing can be measured: the trusted schedule or the reference fails."""


@define(kw_only=True)
class LocalMeasurer:
    """Measures schedules on this machine. A context manager, which ends its worker process.

    Candidates compile and run in a process of their own. One that crashes it, hangs, or takes too
    much memory is reported as such, and the process is replaced for the next one. The results of
    each must be those of the trusted schedule: integers bit for bit, floats but for rounding. Then
    all are timed in rounds, each in turn with the reference, so that a slow moment of the machine
    counts for all; those far behind the fastest are left out early.

    After the time limit of the caller no candidate is timed more than three times.

    Nothing is compiled while something is timed, and other processes of this user wait until a
    measurement is over: a busy process beside made runs on two cores take 1.3 times as long. Each
    thread stays on a core of its own (Linux).

    Attributes:
        device: the device that schedules are for; by default the CPU of this machine.
        reference: the schedule that runs beside all others; by default the default schedule of the
            pipeline. A slow one takes most of the time.
        trusted: the schedule whose results all others must have; by default the reference.
        inputs: an array for each image; by default random values at the estimated sizes.
        params: values of scalar parameters; those left out have their default.
        sizes: the sizes of the outputs; by default the estimates of the pipeline.
        limits: what a candidate may take.
        rungs: when candidates far behind are left out.
        threads: how many threads run parallel loops; by default one for each core.
        make: compiles a schedule in the worker; by default for the CPU of this machine or for its
            GPU, with times between events on the GPU.
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
    rungs: Rungs = field(factory=Rungs)
    threads: int | None = None
    make: TimedProgramMaker | None = None
    allowed: Tolerance = EXACT
    _session: MeasuringSession | None = field(init=False, default=None, eq=False)

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        """One measurement for each schedule, in their order.

        Raises:
            MeasuringError: the trusted schedule or the reference fails, or there is no GPU.
        """
        session = self._of(pipeline)
        with alone_on_machine():
            built = [session.built(number, one) for number, one in enumerate(schedules)]
            try:
                return session.timed(built, self.rungs)
            finally:
                session.forget()

    def _of(self, pipeline: Pipeline) -> MeasuringSession:
        """The session of a pipeline: the last one, if it has this pipeline."""
        if self._session is None or self._session.task.pipeline != pipeline:
            self.close()
            inputs = random_inputs(pipeline) if self.inputs is None else self.inputs
            task = MeasuringTask(
                pipeline,
                self.device,
                {name: np.asarray(array) for name, array in inputs.items()},
                self.params,
                self.sizes or {one.buffer: one.ranges for one in pipeline.estimates},
                self.make or _default_maker(self.device),
                self.threads,
                # CUDA reserves far more addresses than it uses, so they say nothing.
                self.limits.memory_bytes if isinstance(self.device, CpuDevice) else None,
                self.allowed,
            )
            reference = self.reference or Schedule.default(pipeline)
            trusted = self.trusted or reference
            self._session = MeasuringSession(task, reference, trusted, self.limits)
        return self._session

    def is_like(self, other: LocalMeasurer) -> bool:
        """Whether two measurers measure alike."""
        mine, theirs = self.inputs or {}, other.inputs or {}
        return (
            mine.keys() == theirs.keys()
            and all(np.array_equal(mine[name], theirs[name]) for name in mine)
            and evolve(self, inputs=None) == evolve(other, inputs=None)
        )

    def close(self) -> None:
        """Ends the worker process."""
        if self._session is not None:
            self._session.close()
            self._session = None

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


@define
class MeasuringSession:
    """A worker and the schedules that were built in it.

    Attributes:
        schedules: the candidates by key.
        ready: the keys of what is built in the present worker.
    """

    task: MeasuringTask
    reference: Schedule
    trusted: Schedule
    limits: MeasuringLimits
    schedules: dict[int, Schedule] = field(factory=dict)
    ready: set[int] = field(factory=set)
    _worker: Worker | None = None

    def built(self, key: int, schedule: Schedule) -> Measurement:
        """Builds a candidate and checks its results, and says how that went."""
        self.schedules[key] = schedule
        answer = self._made_ready(key)
        if answer.outcome is not RunOutcome.CORRECT:
            log.info("candidate %d: %s. %s", key, answer.outcome, answer.reason)
            return Measurement(schedule, answer.outcome, answer.reason)
        return Measurement(schedule, RunOutcome.CORRECT, compile_seconds=answer.seconds)

    def timed(self, built: list[Measurement], rungs: Rungs) -> list[Measurement]:
        """The candidates with times."""
        found = list(built)

        def time_of(key: int | None) -> float | None:
            answer = self._run(REFERENCE if key is None else key)
            if answer.outcome is RunOutcome.CORRECT:
                return answer.seconds
            if key is not None:
                log.info("candidate %d: %s. %s", key, answer.outcome, answer.reason)
                found[key] = Measurement(built[key].schedule, answer.outcome, answer.reason)
            return None

        start = time.monotonic()
        times = timed_in_rounds(
            time_of,
            [key for key, one in enumerate(built) if one.is_correct],
            self.limits.rounds,
            lambda: time.monotonic() - start > self.limits.seconds or time_left() <= 0,
            rungs,
        )
        for key, seconds in times.seconds.items():
            if found[key].is_correct:
                reference = tuple(times.reference[key])
                found[key] = evolve(found[key], seconds=tuple(seconds), reference_seconds=reference)
        return found

    def forget(self) -> None:
        """Frees the candidates, but not the reference."""
        self.schedules.clear()
        for key in self.ready - {REFERENCE}:
            self._answer(ForgetRequest(key), self.limits.run_seconds)
        self.ready &= {REFERENCE}

    def close(self) -> None:
        """Ends the worker."""
        self.ready.clear()
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _run(self, key: int) -> RunAnswer:
        """The time of a run, in a worker that has the schedule ready."""
        if key not in self.ready:
            answer = self._made_ready(key)
            if answer.outcome is not RunOutcome.CORRECT:
                return answer
        return self._answer(TimeRequest(key), self.limits.run_seconds)

    def _made_ready(self, key: int) -> RunAnswer:
        """Builds a schedule in the worker and checks its results; the trusted schedule and the
        reference before all others.

        Raises:
            MeasuringError: one of these two fails.
        """
        if REFERENCE not in self.ready:
            if self.trusted != self.reference:
                patience = PATIENCE * self.limits.run_seconds
                answer = self._built_and_checked(TRUSTED, self.trusted, patience)
                self._must_work(answer, "trusted")
                self._answer(ForgetRequest(TRUSTED), self.limits.run_seconds)
                self.ready.discard(TRUSTED)
            answer = self._built_and_checked(REFERENCE, self.reference, self.limits.run_seconds)
            self._must_work(answer, "reference")
        if key == REFERENCE:
            return RunAnswer()
        return self._built_and_checked(key, self.schedules[key], self.limits.run_seconds)

    def _must_work(self, answer: RunAnswer, role: str) -> None:
        if answer.outcome is not RunOutcome.CORRECT:
            raise MeasuringError(
                f"The {role} schedule of {self.task.pipeline.name}, without which nothing is "
                f"measured, fails ({answer.outcome}): {answer.reason} Give the measurer another "
                f"one as {role}=."
            )

    def _built_and_checked(self, key: int, schedule: Schedule, seconds: float) -> RunAnswer:
        built = self._answer(BuildRequest(key, schedule), self.limits.compile_seconds)
        if built.outcome in (RunOutcome.HUNG, RunOutcome.CRASHED, RunOutcome.OUT_OF_MEMORY):
            return evolve(built, outcome=RunOutcome.NOT_COMPILED)
        if built.outcome is not RunOutcome.CORRECT:
            return built
        checked = self._answer(CheckRequest(key), seconds)
        if checked.outcome is not RunOutcome.CORRECT:
            return checked
        self.ready.add(key)
        return built

    def _answer(self, request: Request, seconds: float) -> RunAnswer:
        """The answer of the worker, which is started if there is none."""
        try:
            if self._worker is None:
                self._worker = Worker.started(self.task)
            return self._worker.ask(request, seconds)
        except WorkerLost as lost:
            log.info("%s: a new worker takes the place of the last one. %s", request, lost)
            self._worker = None
            self.ready.clear()
            return RunAnswer(lost.outcome, str(lost))
