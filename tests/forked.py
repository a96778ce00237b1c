"""Processes forked from one that has imported what they need, which takes each 2 s else."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from multiprocessing.reduction import DupFd
from typing import IO, Any

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "tests.backend.measuring.ready",
        "tests.halide_corpus.ready",
    ]
)

_WORKER = "spaces.backend.measuring.worker"


class ForkedWorker:
    """Stands for the ``Popen`` of a process that measures: the same program in a process with the
    same environment, folder, socket and files.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        pass_fds: Sequence[int],
        stdout: IO[bytes],
        env: Mapping[str, str],
        **_: Any,
    ) -> None:
        assert _WORKER in command
        given = [_Duplicated(one) for one in (*pass_fds, stdout.fileno())]
        self._process = SERVER.Process(
            target=_measure, args=(*given, dict(env), os.getcwd()), daemon=True
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def kill(self) -> None:
        self._process.kill()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(_WORKER, timeout or 0.0)
        return self._process.exitcode


class _Duplicated:
    """An open file that a new process gets."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __reduce__(self) -> tuple[Any, ...]:
        return _detached, (DupFd(self.fd),)


def _detached(passed: Any) -> int:
    number: int = passed.detach()
    return number


def _measure(
    requests: int, life: int, output: int, environment: dict[str, str], folder: str
) -> None:
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = environment["PYTHONPATH"].split(os.pathsep)
    sys.argv = [_WORKER, str(requests), str(life)]
    import_module(_WORKER).main()
