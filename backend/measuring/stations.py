"""What workers of a cluster tell about their machines, and which of them measure alike."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from attrs import fields, frozen

from spaces.backend.measuring.machine import TuningMachine, this_machine
from spaces.constraints.devices.device import CpuDevice, GpuDevice, device


@frozen
class WorkerDescription:
    """What a worker tells about itself.

    Attributes:
        place: a text that is equal for workers of one physical machine.
        machine: the machine, with its versions: times of different ones are not compared.
    """

    place: str
    machine: TuningMachine


def describe_worker(target: CpuDevice | GpuDevice) -> WorkerDescription:
    """The machine of the process that runs this."""
    here = device("cpu") if isinstance(target, CpuDevice) else target
    assert isinstance(here, CpuDevice | GpuDevice)
    return WorkerDescription(_place(), this_machine(here))


def _place() -> str:
    """All containers of a machine see one start of its system."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return platform.node() or str(os.getpid())


def difference(found: TuningMachine, wanted: TuningMachine) -> str:
    """How a machine differs from another one; empty if it does not."""
    names = [one.name for one in fields(TuningMachine)]
    parts = [
        f"{name} is {getattr(found, name)!r} and not {getattr(wanted, name)!r}"
        for name in names
        if getattr(found, name) != getattr(wanted, name)
    ]
    return ", ".join(parts)


def most_common(machines: Iterable[TuningMachine]) -> TuningMachine | None:
    """The kind of machine that most are of; of equally common ones the first."""
    counted = Counter(machines).most_common(1)
    return counted[0][0] if counted else None
