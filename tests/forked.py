"""Processes forked from one that has imported what they need, which takes each 2 s else."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.reduction import DupFd
from typing import IO, Any

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "tests.backend.measuring.ready",
        "tests.halide_corpus.halide_side",
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
        *_, module, _ = command
        assert module == _WORKER
        (socket,) = pass_fds
        with Connection(os.dup(socket)) as requests:
            self._process = SERVER.Process(
                target=_measure,
                args=(requests, _Duplicated(stdout.fileno()), dict(env), os.getcwd()),
                daemon=True,
            )
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        self._process.join()
        assert self._process.exitcode is not None
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


def _measure(requests: Connection, output: int, environment: dict[str, str], folder: str) -> None:
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = environment["PYTHONPATH"].split(os.pathsep)
    sys.argv = [_WORKER, str(os.dup(requests.fileno()))]
    requests.close()
    import_module(_WORKER).main()
