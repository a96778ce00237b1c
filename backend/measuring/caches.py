"""Empties the caches of cores, so that a run finds its data in memory."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from spaces.constraints.devices.device import CpuDevice
from spaces.constraints.devices.host_caches import described_caches

TIMES = 2
"""A buffer of this many times the largest cache takes the place of all that was there."""


@define(eq=False)
class CacheFlush:
    """Fills the caches of cores with data that no program uses.

    Attributes:
        cores: the cores.
    """

    cores: tuple[int, ...]
    _buffer: NDArray[np.uint8] = field(repr=False)

    @staticmethod
    def of(device: CpuDevice) -> CacheFlush:
        """A flush of the caches of the cores that this process may use now."""
        described = (one.bytes for one in described_caches().levels.values())
        largest = max(device.l1_bytes, device.l2_bytes, device.l3_bytes, *described)
        cores = tuple(sorted(os.sched_getaffinity(0))) if sys.platform == "linux" else ()
        return CacheFlush(cores, np.zeros(TIMES * largest, np.uint8))

    def __call__(self) -> None:
        """Writes the buffer on each core in turn: a cache that only one core has is reached from
        there alone. The calling thread is where it was afterwards.
        """
        if sys.platform != "linux":
            self._write()
            return
        before = os.sched_getaffinity(0)
        try:
            for core in self.cores:
                _move({core})
                self._write()
        finally:
            _move(before)

    def _write(self) -> None:
        self._buffer += 1


def _move(cores: Iterable[int]) -> None:
    """Moves the calling thread to some cores, if the system does."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, cores)
