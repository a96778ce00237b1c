"""One measurement at a time on a machine: two at once would make each other slower."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl
    import os


@contextmanager
def alone_on_machine() -> Iterator[None]:
    """Waits until no other process of this user on this machine measures. Does not wait on systems
    that have no locks of this kind.
    """
    if sys.platform == "win32":
        yield
        return
    path = Path(tempfile.gettempdir()) / f"spaces-measuring-{os.getuid()}"
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
