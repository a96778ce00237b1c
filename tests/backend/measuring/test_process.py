"""Workers: how long they and what they start live, and what becomes of messages that are none."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from spaces import Schedule, device, schedule
from spaces.backend.measuring import session as backend_session
from spaces.backend.measuring.inputs import random_inputs
from spaces.backend.measuring.messages import LONGEST, NoAnswer, answer_of
from spaces.backend.measuring.process import Worker, WorkerLost
from spaces.backend.measuring.session import (
    KILLS,
    LONGEST_PAUSE,
    LOSSES,
    PAUSE,
    MeasuringError,
    MeasuringSession,
    prepare,
)
from spaces.backend.measuring.task import (
    BuildRequest,
    CheckRequest,
    ForgetRequest,
    MeasuringLimits,
    MeasuringTask,
    RunAnswer,
    TimeRequest,
)
from spaces.cost.measurer import RunOutcome
from tests.backend.measuring import saboteurs
from tests.enumerate.pipelines import copied

COPIED = copied(960)


def split(factor: int) -> Schedule:
    return schedule(COPIED).func("f").split("x", "x", "xi", factor).schedule


def a_task() -> MeasuringTask:
    sizes = {one.buffer: one.ranges for one in COPIED.estimates}
    return MeasuringTask(
        COPIED, device("cpu"), random_inputs(COPIED), None, sizes, saboteurs.saboteur, None, None
    )


def built(worker: Worker, factor: int) -> RunAnswer:
    return worker.ask(BuildRequest(0, split(factor)), 60)()


def runs(process: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ends(process: int) -> bool:
    """Whether a process ends soon."""
    limit = time.monotonic() + 10
    while runs(process) and time.monotonic() < limit:
        time.sleep(0.01)
    return not runs(process)


@pytest.mark.usefixtures("started_workers")
def test_workers_outlive_the_thread_that_starts_them() -> None:
    workers: list[Worker] = []
    thread = threading.Thread(target=lambda: workers.append(Worker.start(a_task())))
    thread.start()
    thread.join()
    with workers[0] as worker:
        time.sleep(0.1)
        assert built(worker, 16).outcome is RunOutcome.CORRECT


@pytest.mark.parametrize("how", ["closed", "crashed"])
def test_what_a_worker_starts_ends_with_it(how: str) -> None:
    with Worker.start(a_task()) as worker:
        assert built(worker, saboteurs.BREEDS).outcome is RunOutcome.CORRECT
        child = int(worker.ask(CheckRequest(0), 10)().reason)
        assert runs(child)
        if how == "crashed":
            os.kill(worker._process.pid, signal.SIGSEGV)
            with pytest.raises(WorkerLost, match="SIGSEGV") as lost:
                worker.ask(TimeRequest(0), 10)()
            assert lost.value.outcome is RunOutcome.CRASHED
    assert ends(child)


def test_all_ends_with_the_process_that_measures() -> None:
    """Also in the middle of a run. What that process has forked does not keep workers."""
    worker = Worker.start(a_task())
    bystander = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    try:
        built(worker, saboteurs.BREEDS)
        child = int(worker.ask(CheckRequest(0), 10)().reason)
        built(worker, saboteurs.HANGS)
        worker.ask(CheckRequest(0), 600)
        bystander.start()
        assert runs(child)
        worker._life.close()  # as the system does when this process ends
        assert ends(worker._process.pid)
        assert ends(child)
    finally:
        bystander.kill()
        bystander.join()
        worker._close_files()


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (saboteurs.BABBLES, r"It wrote what is no answer: b'\\x80\\x04 rubbish"),
        (saboteurs.FLOODS, r"It wrote what is no answer: b'x{40}' \.\.\.\."),
        (saboteurs.TIMELESS, r"It gave nan s as a time; a time is more than zero and at most a"),
    ],
)
def test_a_message_that_is_none_costs_the_worker_alone(factor: int, said: str) -> None:
    with Worker.start(a_task()) as worker:
        built(worker, factor)
        with pytest.raises(WorkerLost, match=said) as lost:
            worker.ask(TimeRequest(0), 10)()
        assert lost.value.outcome is RunOutcome.CRASHED
        assert ends(worker._process.pid)


def test_a_message_that_stops_in_the_middle_is_waited_for_no_longer_than_others() -> None:
    with Worker.start(a_task()) as worker:
        built(worker, saboteurs.STAMMERS)
        with pytest.raises(WorkerLost, match=r"within 0\.7 s"):
            worker.ask(TimeRequest(0), 0.7)()


def test_a_request_that_a_worker_does_not_take_is_waited_for_no_longer_than_answers() -> None:
    """More than the system keeps for a process that reads nothing."""
    with Worker.start(a_task()) as worker:
        os.kill(worker.pid, signal.SIGSTOP)
        with pytest.raises(WorkerLost, match=r"did not take a request within 0\.3 s") as lost:
            worker.ask(bytes(1 << 24), 0.3)  # type: ignore[arg-type]
        assert lost.value.outcome is RunOutcome.HUNG
        assert ends(worker.pid)


def line(**changed: object) -> bytes:
    return json.dumps({"outcome": "correct", "reason": "", "seconds": 0.5, **changed}).encode()


def test_answers_are_read() -> None:
    assert answer_of(line(), is_run=True) == RunAnswer(seconds=0.5)
    assert answer_of(line(seconds=0.0), is_run=False) == RunAnswer(seconds=0.0)
    refused = answer_of(line(outcome="refused", reason="no\ud800\x1b", seconds=0.0), is_run=True)
    assert refused == RunAnswer(RunOutcome.REFUSED, "no\\ud800\x1b")


@pytest.mark.parametrize(
    "written",
    [
        b"", b"12", b"\xff\xfe", b"[" * LONGEST, line()[:-1], line(outcome="fine"),
        line(reason=None), line(seconds="1"), line(seconds=True), line(seconds=10**400),
        line(seconds=math.nan), line(seconds=-1.0), line(seconds=math.inf), line(seconds=1e300),
        line(seconds=0.0),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused(written: bytes) -> None:
    with pytest.raises(NoAnswer):
        answer_of(written, is_run=True)


def a_session() -> MeasuringSession:
    return MeasuringSession(a_task(), split(64), split(32), MeasuringLimits())


def test_a_worker_that_is_killed_while_it_is_made_ready_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, kills = Worker.ask, []

    def killed(self, request, seconds):
        if isinstance(request, CheckRequest) and len(kills) < allowed:
            kills.append(self._process.pid)
            os.kill(self._process.pid, signal.SIGKILL)
        return asked(self, request, seconds)

    monkeypatch.setattr(Worker, "ask", killed)
    session = a_session()
    try:
        allowed = LOSSES - 1
        prepare([session])
        assert session.preparations == []
        session.close()
        monkeypatch.setattr(backend_session, "KILLS", 2)
        allowed = 100
        with pytest.raises(MeasuringError, match=r"something ends the workers\. 2 of them .*SIGKI"):
            prepare([session])
        assert len(kills) == LOSSES - 1 + 2
    finally:
        session.close()


def test_a_worker_that_is_killed_before_it_reads_its_task_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process is gone when the inputs are sent to it."""
    sent, killed = Worker._send, []

    def send(self, request, seconds):
        if isinstance(request, MeasuringTask) and not killed:
            killed.append(self.pid)
            os.kill(self.pid, signal.SIGKILL)
            self._process.wait()
        sent(self, request, seconds)

    monkeypatch.setattr(Worker, "_send", send)
    session = a_session()
    try:
        prepare([session])
        assert len(killed) == 1
        assert session.preparations == []
        assert session.run(-1, 10.0).outcome is RunOutcome.CORRECT
    finally:
        session.close()


def made_ready(lost: list[WorkerLost]) -> tuple[list[float], MeasuringSession]:
    """How long a session without a process waits before each new worker."""
    pauses: list[float] = []
    session = a_session()

    def ask(self: MeasuringSession, request: object, seconds: float):  # type: ignore[no-untyped-def]
        answer = self._lost(request, lost.pop(0)) if lost else RunAnswer()  # type: ignore[arg-type]
        return lambda: answer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(MeasuringSession, "_ask", ask)
        patched.setattr(backend_session.time, "sleep", pauses.append)
        prepare([session])
    return pauses, session


def test_kills_are_waited_out_and_crashes_are_not() -> None:
    killed = WorkerLost(RunOutcome.CRASHED, "It ended with signal SIGKILL.", was_killed=True)
    crashed = WorkerLost(RunOutcome.CRASHED, "It ended with signal SIGSEGV.")
    pauses, session = made_ready([killed] * (KILLS - 1) + [crashed] * (LOSSES - 1))
    assert session.preparations == []
    assert pauses[:4] == [PAUSE, 2 * PAUSE, 4 * PAUSE, 8 * PAUSE]
    assert max(pauses) == LONGEST_PAUSE
    with pytest.raises(MeasuringError, match=r"trusted schedule of f.*SIGSEGV"):
        made_ready([crashed] * LOSSES)
    with pytest.raises(MeasuringError, match=r"something ends the workers\. 10 of them were"):
        made_ready([killed] * KILLS)
    hung = WorkerLost(RunOutcome.HUNG, "It did not answer within 600 s.")
    with pytest.raises(MeasuringError, match=r"fails \(not compiled\): It did not answer within"):
        made_ready([hung])


def test_a_worker_that_is_lost_between_two_preparations_gets_both_again() -> None:
    """It is killed while it forgets the trusted schedule. A new one would compare with nothing."""
    killed = WorkerLost(RunOutcome.CRASHED, "It ended with signal SIGKILL.", was_killed=True)
    asked: list[str] = []
    session = a_session()

    def ask(self: MeasuringSession, request: object, seconds: float):  # type: ignore[no-untyped-def]
        first = isinstance(request, ForgetRequest) and not asked.count("forget")
        asked.append(type(request).__name__.removesuffix("Request").lower())
        answer = self._lost(request, killed) if first else RunAnswer()  # type: ignore[arg-type]
        return lambda: answer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(MeasuringSession, "_ask", ask)
        prepare([session])
    once = ["build", "check", "forget"]
    assert asked == [*once, "build", "check", *once]
    assert session.preparations == []


def test_a_worker_that_is_killed_while_it_waits_costs_nothing() -> None:
    session = a_session()
    try:
        prepare([session])
        assert session._worker is not None
        os.kill(session._worker._process.pid, signal.SIGKILL)
        limit = time.monotonic() + 10
        while not session._worker.has_ended and time.monotonic() < limit:
            time.sleep(0.01)
        assert [one.role for one in session.preparations] == ["trusted", "reference"]
        prepare([session])
        assert session.run(-1, 10.0).outcome is RunOutcome.CORRECT
    finally:
        session.close()
