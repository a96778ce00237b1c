"""What a worker process holds for one pipeline: the schedules that all are compared with, and the
candidates.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from attrs import define, evolve, field

from backend.measuring.process import Worker, WorkerLost
from backend.measuring.task import (
    BuildRequest,
    CheckRequest,
    ForgetRequest,
    MeasuringLimits,
    MeasuringTask,
    Request,
    RunAnswer,
    TimeRequest,
)
from spaces.cost.measurer import Measurement, RunOutcome
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

    def building(self, key: int, schedule: Schedule) -> Callable[[], Measurement]:
        """Begins to build a candidate. Call what this returns, before anything else is asked, to
        wait for it and to check its results.

        Raises:
            MeasuringError: the trusted schedule or the reference fails.
        """
        self.schedules[key] = schedule
        made_ready = self._making_ready(key)

        def built() -> Measurement:
            answer = made_ready()
            if answer.outcome is not RunOutcome.CORRECT:
                log.info("candidate %d: %s. %s", key, answer.outcome, answer.reason)
                return Measurement(schedule, answer.outcome, answer.reason)
            return Measurement(schedule, RunOutcome.CORRECT, compile_seconds=answer.seconds)

        return built

    def run(self, key: int) -> RunAnswer:
        """The time of a run, in a worker that has the schedule ready.

        Raises:
            MeasuringError: a new worker was needed, and the trusted schedule or the reference fails
                there.
        """
        if key not in self.ready:
            answer = self._making_ready(key)()
            if answer.outcome is not RunOutcome.CORRECT:
                return answer
        return self._answer(TimeRequest(key), self.limits.run_seconds)

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

    def building_trusted(self) -> Callable[[], None]:
        """Begins to build the trusted schedule, whose results all others must have."""
        if REFERENCE in self.ready or self.trusted == self.reference:
            return lambda: None
        patience = PATIENCE * self.limits.run_seconds
        checked = self._building(TRUSTED, self.trusted, patience)

        def wait() -> None:
            self._must_work(checked(), "trusted")
            self._answer(ForgetRequest(TRUSTED), self.limits.run_seconds)
            self.ready.discard(TRUSTED)

        return wait

    def building_reference(self) -> Callable[[], None]:
        """Begins to build the reference, after the trusted schedule."""
        if REFERENCE in self.ready:
            return lambda: None
        checked = self._building(REFERENCE, self.reference, self.limits.run_seconds)
        return lambda: self._must_work(checked(), "reference")

    def _must_work(self, answer: RunAnswer, role: str) -> None:
        if answer.outcome is not RunOutcome.CORRECT:
            raise MeasuringError(
                f"The {role} schedule of {self.task.pipeline.name}, without which nothing is "
                f"measured, fails ({answer.outcome}): {answer.reason} Give the measurer another "
                f"one as {role}=."
            )

    def _making_ready(self, key: int) -> Callable[[], RunAnswer]:
        """Begins to build a schedule in a worker that has the reference."""
        prepare([self])
        if key == REFERENCE:
            return RunAnswer
        return self._building(key, self.schedules[key], self.limits.run_seconds)

    def _building(self, key: int, schedule: Schedule, seconds: float) -> Callable[[], RunAnswer]:
        """Begins to build a schedule. What this returns waits, and runs it so many seconds."""
        answer = self._asked(BuildRequest(key, schedule), self.limits.compile_seconds)

        def checked() -> RunAnswer:
            built = answer()
            if built.outcome in (RunOutcome.HUNG, RunOutcome.CRASHED, RunOutcome.OUT_OF_MEMORY):
                return evolve(built, outcome=RunOutcome.NOT_COMPILED)
            if built.outcome is not RunOutcome.CORRECT:
                return built
            found = self._answer(CheckRequest(key), seconds)
            if found.outcome is not RunOutcome.CORRECT:
                return found
            self.ready.add(key)
            return built

        return checked

    def _answer(self, request: Request, seconds: float) -> RunAnswer:
        return self._asked(request, seconds)()

    def _asked(self, request: Request, seconds: float) -> Callable[[], RunAnswer]:
        """Asks the worker, which is started if there is none. Call what this returns for the
        answer.
        """
        try:
            if self._worker is None:
                self._worker = Worker.started(self.task)
            wait = self._worker.asked(request, seconds)
        except WorkerLost as lost:
            answer = self._lost(request, lost)
            return lambda: answer

        def answered() -> RunAnswer:
            try:
                return wait()
            except WorkerLost as lost:
                return self._lost(request, lost)

        return answered

    def _lost(self, request: Request, lost: WorkerLost) -> RunAnswer:
        log.info("%s: a new worker takes the place of the last one. %s", request, lost)
        self._worker = None
        self.ready.clear()
        return RunAnswer(lost.outcome, str(lost))


def prepare(sessions: Sequence[MeasuringSession]) -> None:
    """Builds in each worker what the candidates are compared with, in all workers at once.

    Raises:
        MeasuringError: the trusted schedule or the reference fails.
    """
    for begin in (MeasuringSession.building_trusted, MeasuringSession.building_reference):
        for wait in [begin(session) for session in sessions]:
            wait()


def built_in_turns(
    sessions: Sequence[MeasuringSession], schedules: Sequence[Schedule]
) -> list[Measurement]:
    """Builds the first schedule in the first worker, the next in the next, and so on; the workers
    compile at the same time. The key of a schedule is its place.

    Raises:
        MeasuringError: the trusted schedule or the reference fails.
    """
    prepare(sessions)
    built: list[Measurement] = []
    for first in range(0, len(schedules), len(sessions)):
        some = schedules[first : first + len(sessions)]
        waits = [
            session.building(first + place, schedule)
            for place, (session, schedule) in enumerate(zip(sessions, some, strict=False))
        ]
        built += [wait() for wait in waits]
    return built
