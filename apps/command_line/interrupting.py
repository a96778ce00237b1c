"""Ctrl-C: the first one lets a command hand over what it has, the second one ends it at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from spaces.apps.errors import Interrupted

_SHOW_CURSOR = "\x1b[?25h"
"""What makes a terminal show its cursor again, which a table that changes hides."""


@contextmanager
def twice_ends_at_once() -> Iterator[None]:
    """The first Ctrl-C inside raises KeyboardInterrupt. A second one, also while the command hands
    over its results, ends the process without a traceback; workers end with it.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (
        signal.SIG_IGN,
        None,
    ):
        yield
        return

    def first(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, _end_at_once)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_at_once(number: int, frame: FrameType | None) -> None:
    shown = _SHOW_CURSOR if sys.stderr.isatty() else ""
    os.write(2, f"{shown}{Interrupted()}\n".encode())
    os._exit(Interrupted.status)
