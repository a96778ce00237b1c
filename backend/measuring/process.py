"""A worker process and its end: candidates may crash it, hang, or take all memory."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from subprocess import DEVNULL, Popen
from typing import IO, Self

from attrs import define, field

from spaces.backend.measuring.task import MeasuringTask, Request, RunAnswer
from spaces.backend.python_process import module_command, module_environment
from spaces.cost.measurer import RunOutcome

STARTING = 60.0
"""Seconds in which a worker must be ready."""


class WorkerLost(Exception):
    """The worker did not answer. Its process is gone.

    Attributes:
        outcome: :attr:`RunOutcome.HUNG` or :attr:`RunOutcome.CRASHED`.
    """

    def __init__(self, outcome: RunOutcome, reason: str) -> None:
        """Say what happened, as a sentence."""
        super().__init__(reason)
        self.outcome = outcome


@define
class Worker:
    """A process that builds and runs schedules of one task. A context manager.

    >>> with Worker.start(task) as worker:
    ...     answer = worker.ask(BuildRequest(0, schedule), seconds=60)()
    """

    _process: Popen[bytes]
    _requests: Connection
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
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        with theirs:
            process = Popen(
                module_command("spaces.backend.measuring.worker", str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,  # Ctrl-C is for the process that measures
                env=module_environment(),
            )
        worker = Worker(process, Connection(ours.detach()), errors)
        try:
            worker._requests.send(task)
            worker._await_answer(STARTING, STARTING, "start")
        except (OSError, EOFError):
            raise worker._lost() from None
        except BaseException:
            worker.close()
            raise
        return worker

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ask(self, request: Request, seconds: float) -> Callable[[], RunAnswer]:
        """Sends a request. Call what this returns, before the next request, to wait for the answer
        up to so many seconds from now. It raises :class:`WorkerLost` if the process ended, or did
        not answer in time and was killed.
        """
        end = time.monotonic() + seconds
        with contextlib.suppress(OSError):  # the process ended, as whoever waits will see
            self._requests.send(request)

        def answer() -> RunAnswer:
            try:
                return self._await_answer(max(0.0, end - time.monotonic()), seconds, "answer")
            except (OSError, EOFError):
                raise self._lost() from None

        return answer

    def _await_answer(self, left: float, seconds: float, what: str) -> RunAnswer:
        """What comes in the time that is left of so many seconds."""
        if not self._requests.poll(left):
            self.close()
            raise WorkerLost(RunOutcome.HUNG, f"It did not {what} within {seconds:g} s.")
        answer: RunAnswer = self._requests.recv()
        return answer

    def _lost(self) -> WorkerLost:
        code = self._process.wait()
        self._errors.seek(0)
        told = self._errors.read()[-2000:].decode(errors="replace").strip().splitlines()
        self.close()
        said = f" It said: {told[-1]}" if told else ""
        return WorkerLost(RunOutcome.CRASHED, f"Its process ended with {_ending(code)}.{said}")

    def close(self) -> None:
        """Ends the process at once."""
        self._process.kill()
        self._process.wait()
        self._requests.close()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
