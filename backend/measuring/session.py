"""What a worker process holds for one pipeline: the schedules that all are compared with, and the
candidates.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest

from attrs import define, evolve, field, frozen

from spaces.backend.measuring.process import Worker, WorkerLost
from spaces.backend.measuring.task import (
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
from spaces.model.deadline import ask_clock, time_left
from spaces.model.schedules.schedule import Schedule

log = logging.getLogger("spaces.measuring")

REFERENCE = -1
"""The key of the reference."""

TRUSTED = -2
"""The key of the trusted schedule."""

PATIENCE = 20.0
"""The trusted schedule may run this many times as long as others: it is simple, and runs once."""


LOSSES = 3
"""How many workers may crash in a row before the trusted schedule and the reference are ready."""

KILLS = 10
"""How many workers may be killed from outside, with longer and longer pauses: other programs take
the memory for a time.
"""

PAUSE = 0.05
"""Seconds before a new worker starts after the first kill; twice as many after each further one."""

LONGEST_PAUSE = 5.0
"""The most seconds before a new worker starts."""


class MeasuringError(RuntimeError):
    """Nothing can be measured: the trusted schedule or the reference fails."""


@frozen
class Preparation:
    """A schedule that a worker needs before it takes candidates.

    Attributes:
        role: the name of the schedule in a measurer.
        key: its key.
        schedule: the schedule.
        seconds: how long a run of it may take.
    """

    role: str
    key: int
    schedule: Schedule
    seconds: float


@define
class MeasuringSession:
    """A worker and the schedules that were built in it.

    Attributes:
        task: the runs.
        trusted: the schedule whose results all others must have; it runs once.
        reference: the schedule that is timed beside candidates; None if another worker has it.
        limits: what a candidate may take.
        schedules: the candidates by key.
        ready: the keys of what is built in the present worker.
        lost: how the last worker was lost; None if it was not.
    """

    task: MeasuringTask
    trusted: Schedule
    reference: Schedule | None
    limits: MeasuringLimits
    schedules: dict[int, Schedule] = field(factory=dict)
    ready: set[int] = field(factory=set)
    lost: WorkerLost | None = field(init=False, default=None)
    _worker: Worker | None = None
    _done: set[int] = field(init=False, factory=set)

    @property
    def pid(self) -> int | None:
        """The number of the present worker; None if there is none."""
        return None if self._worker is None else self._worker.pid

    def key_of(self, schedule: Schedule) -> int | None:
        """The key of a candidate that the present worker has ready; None if it has none."""
        known = (key for key, one in self.schedules.items() if one == schedule)
        return next((key for key in known if key in self.ready), None)

    def add(self, schedule: Schedule) -> int:
        """Takes a candidate, and returns its key."""
        key = max(self.schedules, default=-1) + 1
        self.schedules[key] = schedule
        return key

    @property
    def preparations(self) -> list[Preparation]:
        """What the present worker lacks before it takes candidates, in order."""
        if self._worker is not None and self._worker.has_ended:
            self.close()  # somebody killed it between two requests
        found = []
        if self.trusted != self.reference:
            patience = PATIENCE * self.limits.run_seconds
            found.append(Preparation("trusted", TRUSTED, self.trusted, patience))
        if self.reference is not None:
            limit = self.limits.run_seconds
            found.append(Preparation("reference", REFERENCE, self.reference, limit))
        return [one for one in found if one.key not in self._done]

    def begin(self, key: int, schedule: Schedule) -> Callable[[], RunAnswer]:
        """Begins to build a schedule. Call what this returns, before anything else is asked, to
        wait for it.
        """
        return self._ask(BuildRequest(key, schedule), self.limits.compile_seconds)

    def check(self, key: int, built: RunAnswer, seconds: float) -> RunAnswer:
        """What became of a schedule after it was built: it runs, and its results are compared."""
        if built.outcome in (RunOutcome.HUNG, RunOutcome.CRASHED, RunOutcome.OUT_OF_MEMORY):
            return evolve(built, outcome=RunOutcome.NOT_COMPILED)
        if built.outcome is not RunOutcome.CORRECT:
            return built
        found = self._answer(CheckRequest(key), seconds)
        if found.outcome is not RunOutcome.CORRECT:
            return found
        self.ready.add(key)
        return built

    def finish_preparation(self, one: Preparation, answer: RunAnswer) -> None:
        """Takes a preparation for done.

        Raises:
            MeasuringError: it failed.
        """
        if answer.outcome is not RunOutcome.CORRECT:
            raise MeasuringError(
                f"The {one.role} schedule of {self.task.pipeline.name}, without which nothing is "
                f"measured, fails ({answer.outcome}): {answer.reason} Give the measurer another "
                f"one as {one.role}=."
            )
        self._done.add(one.key)
        if one.key == TRUSTED:
            self.ready.discard(TRUSTED)
            self._answer(ForgetRequest(TRUSTED), self.limits.run_seconds)

    def run(self, key: int, seconds: float) -> RunAnswer:
        """The time of a run, in a worker that has the schedule ready. It may take that many
        seconds.

        Raises:
            MeasuringError: a new worker was needed, and the trusted schedule or the reference fails
                there.
        """
        if key not in self.ready:
            prepare([self])
            if key != REFERENCE:
                built = self.begin(key, self.schedules[key])()
                answer = self.check(key, built, seconds)
                if answer.outcome is not RunOutcome.CORRECT:
                    return answer
        return self._answer(TimeRequest(key), seconds)

    def forget(self, but: Collection[int] = ()) -> None:
        """Frees the candidates except some, but not the reference."""
        kept = {REFERENCE, *but}
        self.schedules = {key: one for key, one in self.schedules.items() if key in kept}
        for key in self.ready - kept:
            self._answer(ForgetRequest(key), self.limits.run_seconds)
        self.ready &= kept

    def close(self) -> None:
        """Ends the worker."""
        if self._worker is not None:
            self._worker.close()
        self._without_worker()

    def _without_worker(self) -> None:
        self._worker = None
        self.ready.clear()
        self._done.clear()

    def _answer(self, request: Request, seconds: float) -> RunAnswer:
        return self._ask(request, seconds)()

    def _ask(self, request: Request, seconds: float) -> Callable[[], RunAnswer]:
        """Starts a worker if the session has none, and sends a request to the worker. Returns a
        function; whoever calls it waits for the answer of the worker.

        Raises:
            OutOfTime: the time limit of the caller is over; the worker is closed then.
        """
        seconds = min(seconds, max(0.0, time_left()))
        try:
            if self._worker is None:
                self._worker = Worker.start(self.task)
            wait = self._worker.ask(request, seconds)
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
        self._without_worker()
        self.lost = lost
        if lost.outcome is RunOutcome.HUNG:
            ask_clock()
        return RunAnswer(lost.outcome, str(lost))


def prepare(sessions: Sequence[MeasuringSession]) -> None:
    """Builds in each worker what it lacks before it takes candidates, in all workers at once. If a
    worker is lost, the next one begins from the start: the system kills processes that have done
    nothing wrong.

    Raises:
        MeasuringError: the trusted schedule or the reference fails, :data:`LOSSES` workers crash,
            or :data:`KILLS` are killed.
        OutOfTime: the time limit of the caller is over.
    """
    crashes = kills = 0
    while True:
        for session in sessions:
            session.lost = None
        try:
            _prepare_once(sessions)
        except MeasuringError as error:
            lost = _find_crash(sessions)
            if lost is None:
                raise
            if lost.was_killed:
                kills += 1
            else:
                crashes += 1
            if crashes == LOSSES:
                raise
            if kills == KILLS:
                raise MeasuringError(
                    f"Nothing is measured: something ends the workers. {KILLS} of them were killed "
                    f"while they were made ready, perhaps for want of memory. {error}"
                ) from None
            _pause(kills)
        else:
            if not any(session.preparations for session in sessions):
                return


def _find_crash(sessions: Sequence[MeasuringSession]) -> WorkerLost | None:
    """How a worker crashed or was killed; None if none did. A crash tells more than a kill."""
    lost = [one.lost for one in sessions if one.lost and one.lost.outcome is RunOutcome.CRASHED]
    return min(lost, key=lambda one: one.was_killed, default=None)


def _pause(kills: int) -> None:
    """Waits before the next worker starts.

    Raises:
        OutOfTime: the time limit of the caller is over.
    """
    if kills:
        time.sleep(min(PAUSE * 2 ** (kills - 1), LONGEST_PAUSE, max(0.0, time_left())))
    ask_clock()


def _prepare_once(sessions: Sequence[MeasuringSession]) -> None:
    for steps in zip_longest(*(session.preparations for session in sessions)):
        pairs = [pair for pair in zip(sessions, steps, strict=True) if pair[1] is not None]
        waits = [session.begin(one.key, one.schedule) for session, one in pairs]
        built = [wait() for wait in waits]
        for (session, one), answer in zip(pairs, built, strict=True):
            session.finish_preparation(one, session.check(one.key, answer, one.seconds))


@frozen
class BuiltCandidate:
    """A schedule that a worker has.

    Attributes:
        session: the worker.
        key: the key of the schedule there.
        schedule: the schedule.
    """

    session: MeasuringSession
    key: int
    schedule: Schedule


def build_in_turns(
    sessions: Sequence[MeasuringSession], schedules: Sequence[Schedule], seconds: float
) -> Iterator[tuple[int, BuiltCandidate, Measurement]]:
    """Builds schedules, as many at the same time as there are workers; then they run, one after the
    other. Schedules that a worker still has from an earlier call are not built again, and others
    of earlier calls are freed.

    Yields the place of each schedule in the list, the candidate, and what became of it, without
    times, as soon as that is known.

    Args:
        sessions: the workers.
        schedules: the schedules.
        seconds: the most time of the first run of each, and to compare its results.

    Raises:
        MeasuringError: the trusted schedule or the reference fails.
        OutOfTime: the time limit of the caller is over.
    """
    known: dict[int, BuiltCandidate] = {}
    for place, schedule in enumerate(schedules):
        for session in sessions:
            key = session.key_of(schedule)
            if key is not None:
                known[place] = BuiltCandidate(session, key, schedule)
    for session in sessions:
        session.forget([one.key for one in known.values() if one.session is session])
    for place, one in known.items():
        yield place, one, Measurement(one.schedule, RunOutcome.CORRECT)
    new = [place for place in range(len(schedules)) if place not in known]
    for first in range(0, len(new), len(sessions)):
        turn = list(zip(sessions, new[first : first + len(sessions)], strict=False))
        prepare([session for session, _ in turn])
        waits = []
        for session, place in turn:
            one = BuiltCandidate(session, session.add(schedules[place]), schedules[place])
            waits.append((place, one, session.begin(one.key, one.schedule)))
        built = [(place, one, wait()) for place, one, wait in waits]
        for place, one, answer in built:
            checked = one.session.check(one.key, answer, seconds)
            yield place, one, _measurement(place, one.schedule, checked)


def _measurement(key: int, schedule: Schedule, answer: RunAnswer) -> Measurement:
    """A candidate that was built and checked, without times."""
    if answer.outcome is RunOutcome.CORRECT:
        failed = [name for name, value in answer.metrics if not math.isfinite(value)]
        if failed:
            log.info("candidate %d: no number for %s", key, ", ".join(failed))
        metrics = tuple(pair for pair in answer.metrics if pair[0] not in failed)
        return Measurement(
            schedule, RunOutcome.CORRECT, compile_seconds=answer.seconds, metrics=metrics
        )
    log.info("candidate %d: %s. %s", key, answer.outcome, answer.reason)
    return Measurement(schedule, answer.outcome, answer.reason)
