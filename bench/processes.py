"""Contenders of a comparison, each in a process of its own: an autoscheduler may take all memory,
take for ever or crash, and then it alone is out.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from attrs import frozen

from spaces.backend.halide.errors import HalideFailure

_SHOWN = 200
"""The most characters of an error that a report has room for."""


class ContenderFailed(Exception):
    """A contender is out; ``str`` says why."""


@frozen
class Contender:
    """A process that works for one contender, and keeps what it made between two tasks."""

    name: str
    pool: ProcessPoolExecutor

    @staticmethod
    def started(name: str) -> Contender:
        """A contender with a fresh process."""
        fresh = multiprocessing.get_context("spawn")
        return Contender(name, ProcessPoolExecutor(1, mp_context=fresh))

    def ask(self, task: Callable[..., Any], *given: object, seconds: float) -> Any:
        """The result of a task in the process.

        Raises:
            ContenderFailed: the task takes too long, and this kills the process; or the process
                died, Halide refuses the schedule, or the task raises ValueError.
        """
        try:
            return self.pool.submit(task, *given).result(seconds)
        except TimeoutError:
            self.end()
            raise ContenderFailed("out of time") from None
        except BrokenProcessPool:
            raise ContenderFailed("its process died") from None
        except (HalideFailure, ValueError) as error:
            raise ContenderFailed(str(error)[:_SHOWN]) from error

    def end(self) -> None:
        """Ends the process."""
        for process in list((self.pool._processes or {}).values()):
            process.kill()
        self.pool.shutdown(wait=False, cancel_futures=True)
