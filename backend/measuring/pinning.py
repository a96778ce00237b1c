"""Threads that stay on one core each, so that none moves while a run is timed."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import field, frozen


def _threads() -> frozenset[int]:
    """The threads of this process; none where the system does not list them."""
    if sys.platform != "linux":
        return frozenset()
    return frozenset(int(one.name) for one in Path("/proc/self/task").iterdir())


def _cores() -> tuple[int, ...]:
    """The cores that this process may use; none where the system does not tell."""
    return tuple(sorted(os.sched_getaffinity(0))) if sys.platform == "linux" else ()


@frozen
class Pinning:
    """Gives the calling thread, and those that start after this value is made, a core each. Where
    they are more than the cores, they move freely. It does nothing on systems other than Linux.
    """

    _others: frozenset[int] = field(init=False, factory=_threads)
    _cores: tuple[int, ...] = field(init=False, factory=_cores)

    def pin(self) -> None:
        """Pins the threads that there are now."""
        if sys.platform != "linux":
            return
        caller = threading.get_native_id()
        threads = [caller, *sorted(_threads() - self._others - {caller})]
        have_room = len(threads) <= len(self._cores)
        for place, thread in enumerate(threads):
            with contextlib.suppress(OSError):  # it ended, or the system does not allow it
                os.sched_setaffinity(thread, {self._cores[place]} if have_room else self._cores)

    @contextlib.contextmanager
    def loosen(self) -> Iterator[None]:
        """Lets the calling thread move while other processes work, and then back to its core."""
        if sys.platform != "linux":
            yield
            return
        before = os.sched_getaffinity(0)
        _allow(self._cores)
        try:
            yield
        finally:
            _allow(before)


def _allow(cores: Iterable[int]) -> None:
    """Lets the calling thread run on some cores, if the system does."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, cores)
