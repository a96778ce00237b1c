"""Waiting for a process to end, within limits of processor time and memory."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from attrs import frozen

MOST_BYTES = 3 << 30
"""Memory that a process may take: a bug may fill any amount."""

_WAITING = 20.0
"""A process that waits, or that a busy machine lets wait, may take so many times its time."""


@frozen
class Ended:
    """How a process ended.

    Attributes:
        code: what it exited with; None where it did not.
        stopped: why it did not: a signal, or a limit.
        seconds: processor time, with that of the processes that it started and waited for.
    """

    code: int | None
    stopped: str
    seconds: float


def watched(pid: int, seconds: float) -> Ended:
    """Wait until a child process ends, or takes more than ``seconds`` of processor time.

    The child leads a group of processes; a limit ends all of them. Other work of a busy machine
    brings no limit nearer, as its own time would: a bug must not count as noticed by that.
    """
    latest = time.monotonic() + _WAITING * seconds
    while True:
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            taken = used.ru_utime + used.ru_stime
            if code < 0:
                return Ended(None, f"died of {signal.Signals(-code).name}", taken)
            return Ended(code, "", taken)
        taken = processor_seconds(pid)
        if taken >= seconds or time.monotonic() >= latest:
            return _stopped(pid, "out of time")
        if _resident_bytes(pid) >= MOST_BYTES:
            return _stopped(pid, "out of memory")
        time.sleep(0.02)


def _stopped(pid: int, why: str) -> Ended:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    _, _, used = os.wait4(pid, 0)
    return Ended(None, why, used.ru_utime + used.ru_stime)


def own_seconds() -> float:
    """Processor time of this process, with that of the processes that it waited for."""
    return sum(os.times()[:4])


def processor_seconds(pid: int) -> float:
    """The same of another process; 0 where the system does not tell."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        # The name of the program, in brackets, may hold spaces.
        ticks = text.rpartition(")")[2].split()[11:15]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


def _resident_bytes(pid: int) -> int:
    """The memory of a process; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
