"""One measurement at a time on a machine, or on a core of it: two at once would make each other
slower.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
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
    """Waits until no other process of this user on this machine measures, up to that many seconds
    and up to the time limit of the caller. A warning of the logger ``spaces.measuring`` says that
    it waits. Does not wait on systems that have no locks of this kind.

    Raises:
        MeasuringError: the other process still measures, or the file of the lock is not a plain
            file of this user.
        OutOfTime: the time limit of the caller is over.
    """
    with _held(lock_path(), "this machine", seconds):
        yield


@contextmanager
def alone_on_cores(cores: Iterable[int], seconds: float) -> Iterator[None]:
    """The same for some cores: other processes may measure on other cores meanwhile, but none on
    the whole machine.

    Raises:
        MeasuringError, OutOfTime: as for :func:`alone_on_machine`.
    """
    with ExitStack() as held:
        held.enter_context(_held(lock_path(), "this machine", seconds, is_shared=True))
        for core in sorted(cores):
            held.enter_context(_held(core_lock_path(core), f"core {core}", seconds))
        yield


def take_core(core: int, held: ExitStack) -> bool:
    """Takes a core for this process until ``held`` ends. Returns whether no other process has it.

    Raises:
        MeasuringError: the file of the lock is not a plain file of this user.
    """
    lock = _open_file(core_lock_path(core))
    held.callback(os.close, lock)
    return _is_taken(lock)


@contextmanager
def keep_whole_machine_out() -> Iterator[None]:
    """Lets no process begin to measure on the whole machine, unless one does now.

    Raises:
        MeasuringError: the file of the lock is not a plain file of this user.
    """
    lock = _open_file(lock_path())
    try:
        _is_taken(lock, is_shared=True)
        yield
    finally:
        os.close(lock)


@contextmanager
def _held(path: Path, what: str, seconds: float, *, is_shared: bool = False) -> Iterator[None]:
    """Waits for a lock, and gives it back. Several processes may share one."""
    if sys.platform == "win32":
        yield
        return
    lock = _open_file(path)
    try:
        if not _is_taken(lock, is_shared=is_shared):
            _wait(lock, path, what, seconds, is_shared=is_shared)
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


def core_lock_path(core: int) -> Path:
    """The file whose lock a process of this user has that measures on some cores, one of them this
    one.
    """
    whole = lock_path()
    return whole.with_name(f"{whole.name}-core-{core}")


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


def _is_taken(lock: int, *, is_shared: bool = False) -> bool:
    """Whether this process has the lock now."""
    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(lock: int, path: Path, what: str, seconds: float, *, is_shared: bool) -> None:
    limit = min(seconds, time_left())
    log.warning("%s measures on %s; waiting for it up to %.0f s", _holder(lock), what, limit)
    end = time.monotonic() + seconds
    while not _is_taken(lock, is_shared=is_shared):
        ask_clock()
        if time.monotonic() >= end:
            raise MeasuringError(
                f"{_holder(lock)} still measures on {what} after {seconds:g} s. Wait for it "
                "or end it, or raise the limit: MeasuringLimits(waiting_seconds=...). Its lock is "
                f"{path}."
            )
        time.sleep(_POLL)


def _holder(lock: int) -> str:
    """The process that has the lock, as far as it has told its number."""
    with contextlib.suppress(OSError):
        told = os.pread(lock, 20, 0).decode(errors="replace").strip()
        if told.isdecimal():
            os.kill(int(told), 0)  # of several that share the lock, the last one may have ended
            return f"Process {told}"
    return "Another process"
