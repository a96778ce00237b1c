"""The process that runs candidates: it reads requests and writes answers until its pipe ends.

``python -m spaces.backend.measuring.worker FD`` takes the number of an inherited socket.
"""

from __future__ import annotations

import ctypes
import resource
import signal
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

from attrs import define, field

from spaces.backend.arguments import ArgumentError, Array
from spaces.backend.measuring.agreement import disagreement
from spaces.backend.measuring.pinning import Pinning
from spaces.backend.measuring.task import (
    BuildRequest,
    CheckRequest,
    ForgetRequest,
    MeasuringTask,
    NotLegalError,
    Request,
    RunAnswer,
    TimedProgram,
    TimeRequest,
)
from spaces.constraints.devices.device import CpuDevice
from spaces.cost.measurer import RunOutcome


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
                self.programs[request.key] = self.task.make(self.task, request.schedule)
        except NotLegalError as error:
            return RunAnswer(RunOutcome.ILLEGAL, str(error))
        except ArgumentError:
            raise
        except Exception as error:  # whatever a compiler raises concerns this candidate alone
            return RunAnswer(RunOutcome.NOT_COMPILED, f"{type(error).__name__}: {error}")
        return RunAnswer(seconds=time.perf_counter() - start)

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


def end_with_parent() -> None:
    """Asks Linux to kill this process when its parent ends, also in the middle of a run."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def main() -> None:
    """Answers requests until there are no more."""
    end_with_parent()
    requests = Connection(int(sys.argv[1]))
    try:
        task: MeasuringTask = requests.recv()
        if task.memory_bytes is not None:
            limit_memory(task.memory_bytes)
        bench = Bench(task)
        requests.send(RunAnswer())
        while True:
            requests.send(bench.answer(requests.recv()))
    except EOFError:
        return


if __name__ == "__main__":
    main()
