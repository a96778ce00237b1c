"""The process that runs candidates: it reads requests and writes answers until its socket ends.

``python -m spaces.backend.measuring.worker FD LIFE`` takes the numbers of an inherited socket and
of an inherited pipe, whose other end the process that measures holds as long as it runs.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import sys
import time
from pathlib import Path

from attrs import define, field

from spaces.backend.arguments import ArgumentError, Array
from spaces.backend.measuring.agreement import disagreement
from spaces.backend.measuring.messages import receive_request, send_answer
from spaces.backend.measuring.pinning import Pinning
from spaces.backend.measuring.task import (
    BuildRequest,
    CheckRequest,
    ForgetRequest,
    MeasuringTask,
    NotedProgram,
    NotLegalError,
    Request,
    RunAnswer,
    TimedProgram,
    TimeRequest,
)
from spaces.constraints.devices.device import CpuDevice
from spaces.cost.measurer import RunOutcome

if sys.platform != "win32":
    import fcntl


@define
class Bench:
    """The programs of a worker, and the results that they must have."""

    task: MeasuringTask
    programs: dict[int, TimedProgram] = field(factory=dict)
    expected: dict[str, Array] | None = None
    pinning: Pinning = field(factory=Pinning)

    def answer(self, request: Request) -> RunAnswer:
        """Does what is asked."""
        try:
            match request:
                case BuildRequest():
                    return self._built(request)
                case CheckRequest(key):
                    return self._check(self.programs[key])
                case TimeRequest(key):
                    return RunAnswer(seconds=self.programs[key].seconds())
                case ForgetRequest(key):
                    self.programs.pop(key, None)
        except MemoryError as error:
            return RunAnswer(RunOutcome.OUT_OF_MEMORY, str(error) or "There is not enough memory.")
        except ArgumentError as error:
            return RunAnswer(RunOutcome.REFUSED, str(error))
        return RunAnswer()

    def _built(self, request: BuildRequest) -> RunAnswer:
        start = time.perf_counter()
        try:
            with self.pinning.loosen():
                made = self.programs[request.key] = self.task.make(self.task, request.schedule)
        except NotLegalError as error:
            return RunAnswer(RunOutcome.ILLEGAL, str(error))
        except ArgumentError:
            raise
        except Exception as error:  # whatever a compiler raises concerns this candidate alone
            return RunAnswer(RunOutcome.NOT_COMPILED, f"{type(error).__name__}: {error}")
        metrics = made.metrics if isinstance(made, NotedProgram) else ()
        return RunAnswer(seconds=time.perf_counter() - start, metrics=metrics)

    def _check(self, program: TimedProgram) -> RunAnswer:
        found = program.run()
        if isinstance(self.task.device, CpuDevice):
            self.pinning.pin()  # the run started the threads
        if self.expected is None:
            self.expected = {name: array.copy() for name, array in found.items()}
        allowed = self.task.allowed
        differences = (
            disagreement(name, found[name], wanted, allowed)
            for name, wanted in self.expected.items()
        )
        wrong = next(filter(None, differences), "")
        return RunAnswer(RunOutcome.WRONG, wrong) if wrong else RunAnswer()


def limit_memory(extra_bytes: int) -> None:
    """Lets this process have so much memory beside what it has now, where Linux tells how much."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return
    limit = pages * resource.getpagesize() + extra_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def end_with_parent(life: int) -> None:
    """Asks Linux to kill this process and those that it starts when nobody holds the other end of a
    pipe, also in the middle of a run. The request stands for the group of this process, which is
    its leader; what starts here and leaves the group stays.
    """
    if sys.platform != "linux":
        return
    fcntl.fcntl(life, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([life], [], [], 0)[0]:
        sys.exit()  # the other end was closed before


def main() -> None:
    """Answers requests until there are no more."""
    end_with_parent(int(sys.argv[2]))
    requests = socket.socket(fileno=int(sys.argv[1]))
    try:
        task: MeasuringTask = receive_request(requests)
        if task.cores and sys.platform == "linux":
            os.sched_setaffinity(0, task.cores)  # before there are threads
        if task.memory_bytes is not None:
            limit_memory(task.memory_bytes)
        bench = Bench(task)
        send_answer(requests, RunAnswer())
        while True:
            send_answer(requests, bench.answer(receive_request(requests)))
    except (EOFError, ConnectionError):
        return


if __name__ == "__main__":
    main()
