"""Rewrites that help on one kind of device alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps

from spaces.constraints.devices.device import CpuDevice, GpuDevice
from spaces.enumerate.search.rewrites.rewrite import FindRewrites, FoundSchedule, Rewrite


def for_cpus(find: Callable[[FoundSchedule, CpuDevice], Iterator[Rewrite]]) -> FindRewrites:
    """Finds rewrites of schedules for a CPU, and none for GPUs."""

    @wraps(find)
    def find_on_cpu(found: FoundSchedule) -> Iterator[Rewrite]:
        device = found.space.device
        return find(found, device) if isinstance(device, CpuDevice) else iter(())

    return find_on_cpu


def for_gpus(find: Callable[[FoundSchedule, GpuDevice], Iterator[Rewrite]]) -> FindRewrites:
    """Finds rewrites of schedules for a GPU, and none for CPUs."""

    @wraps(find)
    def find_on_gpu(found: FoundSchedule) -> Iterator[Rewrite]:
        device = found.space.device
        return find(found, device) if isinstance(device, GpuDevice) else iter(())

    return find_on_gpu
