"""A worker process and its end: candidates may crash it, hang, take all memory, start processes of
their own, or write anything to its socket.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable
from subprocess import DEVNULL, Popen
from typing import IO, Self

from attrs import define, field

from spaces.backend.measuring.messages import NoAnswer, answer_of, receive_line, send_request
from spaces.backend.measuring.task import MeasuringTask, Request, RunAnswer, TimeRequest
from spaces.backend.python_process import module_command, module_environment
from spaces.cost.measurer import RunOutcome

STARTING = 60.0
"""Seconds in which a worker must be ready."""

ENDING = 5.0
"""Seconds in which a worker that closed its socket must end."""

FOREIGN = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGXCPU")
"""The signals that come from outside: from a user, or from a system without memory."""

_TOLD = 2000
"""How many bytes of what a worker printed are read."""


class WorkerLost(Exception):
    """The worker did not answer. Its process is gone, and so are those that it started.

    Attributes:
        outcome: :attr:`RunOutcome.HUNG` or :attr:`RunOutcome.CRASHED`.
        was_killed: whether something outside ended it (:data:`FOREIGN`).
    """

    def __init__(self, outcome: RunOutcome, reason: str, *, was_killed: bool = False) -> None:
        """Say what happened, as a sentence."""
        super().__init__(reason)
        self.outcome = outcome
        self.was_killed = was_killed


@define(eq=False, weakref_slot=True)
class Worker:
    """A process that builds and runs schedules of one task. A context manager.

    The process leads a group. The group ends when the worker is closed or lost, and when this
    process ends, however it ends (Linux). The kernel kills the group when nobody holds the other
    end of its pipe ``_life``. The thread that starts a worker may end before.

    >>> with Worker.start(task) as worker:
    ...     answer = worker.ask(BuildRequest(0, schedule), seconds=60)()
    """

    _process: Popen[bytes]
    _requests: socket.socket
    _life: IO[bytes] = field(repr=False)
    _errors: IO[bytes] = field(repr=False)

    @staticmethod
    def start(task: MeasuringTask) -> Worker:
        """A new process that is ready for requests.

        Raises:
            WorkerLost: it does not start.
            NotImplementedError: the system is not Linux or another POSIX system.
        """
        if os.name != "posix":
            raise NotImplementedError(
                "Measuring in a process of its own needs Linux or another POSIX system: a worker "
                "inherits a socket."
            )
        ours, theirs = socket.socketpair()
        watched, life = (
            os.fdopen(end, mode) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
        )
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        with theirs, watched:
            inherited = [theirs.fileno(), watched.fileno()]
            process = Popen(
                module_command("spaces.backend.measuring.worker", *map(str, inherited)),
                pass_fds=inherited,
                stdin=DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,  # Ctrl-C is for the process that measures
                env=module_environment(),
            )
        worker = Worker(process, ours, life, errors)
        _workers.add(worker)
        try:
            with contextlib.suppress(OSError):  # it was killed, as whoever waits will see
                worker._send(task, STARTING)
            worker._await_answer(time.monotonic() + STARTING, STARTING, "start", is_run=False)
        except BaseException:
            worker.close()
            raise
        return worker

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether its process is gone."""
        return self._process.poll() is not None

    def ask(self, request: Request, seconds: float) -> Callable[[], RunAnswer]:
        """Sends a request. Call what this returns, before the next request, to wait for the answer
        up to that many seconds from now. It raises :class:`WorkerLost` if the process ended, did
        not answer in time or wrote something else; the process is killed then.
        """
        end = time.monotonic() + seconds
        with contextlib.suppress(OSError):  # the process ended, as whoever waits will see
            self._send(request, seconds)
        is_run = isinstance(request, TimeRequest)
        return lambda: self._await_answer(end, seconds, "answer", is_run=is_run)

    def _send(self, request: object, seconds: float) -> None:
        try:
            send_request(self._requests, request, seconds)
        except TimeoutError:
            raise self._hung("take a request", seconds) from None

    def _await_answer(self, end: float, seconds: float, what: str, *, is_run: bool) -> RunAnswer:
        """The answer that comes until the moment ``end``, which is that many seconds after the
        request.
        """
        try:
            line = receive_line(self._requests, end, lambda: self.has_ended)
            return answer_of(line, is_run=is_run)
        except NoAnswer as error:
            self.close()
            raise WorkerLost(RunOutcome.CRASHED, str(error)) from None
        except TimeoutError:
            raise self._hung(what, seconds) from None
        except (OSError, EOFError):
            raise self._crashed() from None

    def _hung(self, what: str, seconds: float) -> WorkerLost:
        self.close()
        return WorkerLost(RunOutcome.HUNG, f"It did not {what} within {seconds:g} s.")

    def _crashed(self) -> WorkerLost:
        try:
            ending = _ending(self._process.wait(ENDING))
        except subprocess.TimeoutExpired:
            ending = "a closed socket"
        end = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, end - _TOLD))
        told = self._errors.read(_TOLD).decode(errors="replace").strip().splitlines()
        self.close()
        said = f" It said: {told[-1]}" if told else ""
        reason = f"Its process ended with {ending}.{said}"
        was_killed = ending.removeprefix("signal ") in FOREIGN
        return WorkerLost(RunOutcome.CRASHED, reason, was_killed=was_killed)

    def close(self) -> None:
        """Ends the process and those that it started, at once."""
        if self._life.closed:
            return
        with contextlib.suppress(OSError):  # the group is gone
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._close_files()

    def _close_files(self) -> None:
        for one in (self._requests, self._life, self._errors):
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """Closes the files of all workers in a process that this one forks. The workers belong to this
    process; they would live on with the other one.
    """
    for worker in list(_workers):
        worker._close_files()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
