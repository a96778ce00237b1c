"""How much of the machine other programs take while something is timed."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from attrs import frozen


@frozen
class ProcessorTimes:
    """What the processors of this machine have done so far.

    Attributes:
        wall: the moment, in seconds.
        busy: the seconds in which they worked, added over the processors. Time that a hypervisor
            gave to other machines counts.
        own: those of some processes.
        cores: the number of processors.
    """

    wall: float
    busy: float
    own: float
    cores: int

    @classmethod
    def now(cls, processes: Iterable[int], cores: Sequence[int] = ()) -> Self | None:
        """The times now; None where the system does not tell them.

        Args:
            processes: the processes whose time is counted apart.
            cores: the processors that count; by default all.
        """
        if sys.platform != "linux":
            return None
        try:
            lines = Path("/proc/stat").read_text().splitlines()
        except OSError:
            return None
        counted = {f"cpu{core}" for core in cores} or {"cpu"}
        ticks = os.sysconf("SC_CLK_TCK")
        busy = sum(busy_ticks(line) for line in lines if line.split()[0] in counted) / ticks
        own = sum(map(_ticks_of, processes)) / ticks
        return cls(time.monotonic(), busy, own, len(cores) or os.cpu_count() or 1)

    def share_of_others(self, later: ProcessorTimes) -> float:
        """The share of all processors, from 0 to 1, that other programs took from this moment to a
        later one.
        """
        seconds = (later.wall - self.wall) * self.cores
        others = (later.busy - self.busy) - (later.own - self.own)
        return min(1.0, max(0.0, others / seconds)) if seconds > 0 else 0.0


def busy_ticks(line: str) -> int:
    """The work of a processor by its line in ``/proc/stat``."""
    user, nice, system, _idle, _waiting, interrupts, soft, steal, *_ = map(int, line.split()[1:])
    return user + nice + system + interrupts + soft + steal


def _ticks_of(process: int) -> int:
    """The time that a process took, in ticks of the system; 0 if it is gone."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    return 0
