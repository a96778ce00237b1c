"""Python's collector of cycles waits while code is made.

All that is made is in use until the end; to look through it for garbage again and again took a
quarter of the time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field


@define
class _Wait:
    """The compilations that the collector waits for, of which the last one lets it run again."""

    lock: threading.Lock = field(factory=threading.Lock)
    running: set[object] = field(factory=set)
    was_enabled: bool = False

    def begin(self, one: object) -> None:
        with self.lock:
            if not self.running:
                self.was_enabled = gc.isenabled()
            self.running.add(one)
            gc.disable()

    def end(self, one: object) -> None:
        """Nothing more is done for a compilation that has ended, or not begun."""
        with self.lock:
            self.running.discard(one)
            if not self.running and self.was_enabled:
                gc.enable()


_wait = _Wait()


@contextmanager
def collector_waits() -> Iterator[None]:
    """No cycles are collected until the end, in any thread; then again if they were before."""
    one = object()
    try:
        _wait.begin(one)
        yield
    finally:
        try:
            _wait.end(one)
        except BaseException:  # Ctrl-C comes between any two steps, these among them
            _wait.end(one)
            raise
