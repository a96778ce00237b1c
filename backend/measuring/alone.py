"""One measurement at a time on a machine: two at once would make each other slower."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spaces.backend.measuring.session import MeasuringError
from spaces.model.deadline import ask_clock, time_left

if sys.platform != "win32":
    import fcntl

log = logging.getLogger("spaces.measuring")

_POLL = 0.1
"""Seconds between two looks at whether the other process is done."""


@contextmanager
def alone_on_machine(seconds: float) -> Iterator[None]:
    """Waits until no other process of this user on this machine measures, up to so many seconds and
    up to the time limit of the caller; a warning of the logger ``spaces.measuring`` says so. Does
    not wait on systems that have no locks of this kind.

    Raises:
        MeasuringError: the other process still measures, or the file of the lock is not a plain
            file of this user.
        OutOfTime: the time limit of the caller is over.
    """
    if sys.platform == "win32":
        yield
        return
    path = lock_path()
    lock = _open_file(path)
    try:
        if not _is_taken(lock):
            _wait(lock, path, seconds)
        os.truncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(lock)  # which gives the lock back, too


def lock_path() -> Path:
    """The file whose lock a measuring process of this user has. It is in the user's runtime folder,
    which is closed to other users, or else in the folder for temporary files.
    """
    return (runtime_folder() or Path(tempfile.gettempdir())) / f"spaces-measuring-{os.getuid()}"


def runtime_folder() -> Path | None:
    """The folder for what a user's processes share while they run: ``$XDG_RUNTIME_DIR``, or
    ``/run/user/UID`` for a process without a login. None if neither is a
    folder that is this user's alone.
    """
    for named in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}"):
        with contextlib.suppress(OSError):
            found = os.stat(named)
            is_own = found.st_uid == os.getuid() and not found.st_mode & 0o077
            if is_own and stat.S_ISDIR(found.st_mode) and os.access(named, os.W_OK | os.X_OK):
                return Path(named).absolute()
    return None


def _open_file(path: Path) -> int:
    """The descriptor of the file, which is made if it is not there. Everybody may write to the
    folder for temporary files, so the file may be a link that somebody else has put there; it is
    not followed.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        lock = os.open(path, flags, 0o600)
    except OSError as error:
        raise _unfit(path, error.strerror or "it does not open") from None
    found = os.fstat(lock)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_nlink != 1:
        os.close(lock)
        raise _unfit(path, "it is not a plain file of this user with one name")
    return lock


def _unfit(path: Path, why: str) -> MeasuringError:
    return MeasuringError(
        f"{path} cannot be the lock of measuring processes ({why}). Remove it, or set "
        "XDG_RUNTIME_DIR to a folder of your own that others cannot read."
    )


def _is_taken(lock: int) -> bool:
    """Whether this process has the lock now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(lock: int, path: Path, seconds: float) -> None:
    limit = min(seconds, time_left())
    log.warning("%s measures on this machine; waiting for it up to %.0f s", _holder(lock), limit)
    end = time.monotonic() + seconds
    while not _is_taken(lock):
        ask_clock()
        if time.monotonic() >= end:
            raise MeasuringError(
                f"{_holder(lock)} still measures on this machine after {seconds:g} s. Wait for it "
                "or end it, or raise the limit: MeasuringLimits(waiting_seconds=...). Its lock is "
                f"{path}."
            )
        time.sleep(_POLL)


def _holder(lock: int) -> str:
    """The process that has the lock, as far as it has told its number."""
    with contextlib.suppress(OSError):
        told = os.pread(lock, 20, 0).decode(errors="replace").strip()
        if told.isdecimal():
            return f"Process {told}"
    return "Another process"
