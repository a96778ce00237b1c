"""The cores on which this process measures: all, those that the user names, or free ones."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from spaces.backend.measuring.alone import (
    alone_on_cores,
    alone_on_machine,
    keep_whole_machine_out,
    take_core,
)
from spaces.backend.measuring.conditions import RunConditions
from spaces.backend.measuring.disturbance import busy_ticks
from spaces.backend.measuring.session import MeasuringError
from spaces.model.deadline import ask_clock, time_left

log = logging.getLogger("spaces.measuring")

LOOK = 0.25
"""Seconds for which a core is watched before it counts as free."""

FREE = 0.1
"""The share of its time that a free core works at most."""


@contextmanager
def measuring_cores(
    conditions: RunConditions, before: Sequence[int], seconds: float
) -> Iterator[tuple[int, ...]]:
    """Waits until no other process of this user measures on the same cores, and gives the cores;
    none if all may be used. It waits up to that many seconds, and up to the time limit of the
    caller.

    Args:
        conditions: which cores are wanted.
        before: free cores that are taken before others.
        seconds: how long to wait.

    Raises:
        MeasuringError: another process still measures there, this process may not use a core that
            the user names, or too few cores are free. Or cores are wanted on a system that is not
            Linux.
        OutOfTime: the time limit of the caller is over.
    """
    if not conditions.core_count:
        with alone_on_machine(seconds):
            yield ()
        return
    if sys.platform != "linux":
        raise MeasuringError("Measuring on cores of your choice needs Linux.")
    usable = os.sched_getaffinity(0)
    if conditions.cores:
        missing = set(conditions.cores) - usable
        if missing:
            raise MeasuringError(
                f"This process may not use core {min(missing)}; it may use {_listed(usable)}."
            )
        with alone_on_cores(conditions.cores, seconds):
            yield tuple(sorted(conditions.cores))
        return
    if conditions.free_cores > len(usable):
        raise MeasuringError(
            f"{conditions.free_cores} free cores are wanted, and this process may use "
            f"{len(usable)} ({_listed(usable)})."
        )
    with _on_free_cores(conditions.free_cores, before, seconds) as cores:
        yield cores


def _listed(cores: set[int]) -> str:
    return ", ".join(map(str, sorted(cores)))


@contextmanager
def _on_free_cores(count: int, before: Sequence[int], seconds: float) -> Iterator[tuple[int, ...]]:
    """Free cores, which no other process of this user takes meanwhile. A process that measures on
    the whole machine is not waited for, and none begins meanwhile.
    """
    end = time.monotonic() + seconds
    has_warned = False
    while True:
        free = find_free_cores(before)
        with ExitStack() as held:
            taken = [core for core in free if take_core(core, held)] if len(free) >= count else []
            if len(taken) >= count:
                held.enter_context(keep_whole_machine_out())
                yield tuple(sorted(taken[:count]))
                return
        if not has_warned:
            has_warned = True
            limit = min(seconds, time_left())
            log.warning(
                "%d cores are wanted and %d free; waiting up to %.0f s", count, len(free), limit
            )
        ask_clock()
        if time.monotonic() >= end:
            raise MeasuringError(
                f"Fewer than {count} cores were free for {seconds:g} s. End other programs, ask "
                "for fewer cores, or raise the limit: MeasuringLimits(waiting_seconds=...)."
            )


def find_free_cores(
    before: Sequence[int] = (), read: Callable[[], Mapping[int, int]] | None = None
) -> list[int]:
    """The cores of this process that do nothing else, one of each physical core, watched for
    :data:`LOOK` seconds.

    Args:
        before: cores that come first.
        read: the work of each core so far, in ticks; by default as the system tells it.
    """
    read = read or _work_of_cores
    first, began = read(), time.monotonic()
    time.sleep(LOOK)
    ticks = (time.monotonic() - began) * os.sysconf("SC_CLK_TCK")
    later = read()
    busy = {core for core in later if later[core] - first.get(core, 0) > FREE * ticks}
    usable = os.sched_getaffinity(0)
    found: list[int] = []
    for core in sorted(usable, key=lambda one: (one not in before, one)):
        siblings = _siblings(core)
        if not siblings & busy and not siblings.intersection(found):
            found.append(core)
    return found


def _work_of_cores() -> dict[int, int]:
    """The ticks in which each core has worked."""
    found = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name = line.split()[0]
        if name.startswith("cpu") and name[3:].isdecimal():
            found[int(name[3:])] = busy_ticks(line)
    return found


def _siblings(core: int) -> set[int]:
    """The hardware threads of the physical core of one of them."""
    found = {core}
    path = f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"
    with suppress(OSError, ValueError):
        for part in Path(path).read_text().strip().split(","):
            low, _, high = part.partition("-")
            found.update(range(int(low), int(high or low) + 1))
    return found
