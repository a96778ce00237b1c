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
    """How many compilations the collector waits for, of which the last one lets it run again."""

    lock: threading.Lock = field(factory=threading.Lock)
    count: int = 0
    was_enabled: bool = False


_wait = _Wait()


@contextmanager
def collector_waits() -> Iterator[None]:
    """No cycles are collected until the end, in any thread; then again if they were before."""
    with _wait.lock:
        if _wait.count == 0:
            _wait.was_enabled = gc.isenabled()
            gc.disable()
        _wait.count += 1
    try:
        yield
    finally:
        with _wait.lock:
            _wait.count -= 1
            if _wait.count == 0 and _wait.was_enabled:
                gc.enable()
