"""The processors of the measured schedules.

A cost model prices measured schedules for the processor that they ran on, wherever they are read:
on another one, other things fit its caches. ``bench/results/cost_quality/devices.json`` has the
caches, cores and vectors of each, by the name that the records have for it.
"""

from __future__ import annotations

import json
from pathlib import Path

from attrs import asdict

from bench.cost_quality.records import FOLDER
from spaces.apps.files import write_text
from spaces.constraints.devices.device import CpuDevice
from spaces.model.suggestions import suggestion

FILE = FOLDER / "devices.json"


class UnknownProcessorError(Exception):
    """Schedules ran on a processor that nobody described."""


class OtherProcessorError(Exception):
    """Measurements of different processors were to be taken as those of one."""


def described(path: Path = FILE) -> dict[str, CpuDevice]:
    """The processors by the names that records have for them."""
    document = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return {name: CpuDevice(**limits) for name, limits in document.items()}


def device_named(processor: str, path: Path = FILE) -> CpuDevice:
    """The processor that records call by a name.

    Raises:
        UnknownProcessorError: the file does not have it.
    """
    known = described(path)
    if processor not in known:
        raise UnknownProcessorError(
            f"Schedules were measured on {processor}{suggestion(processor, known)}, and "
            f"{path.name} does not say what caches and vectors that has; it has "
            f"{', '.join(known) or 'none'}. Describe it there, or leave these records out."
        )
    return known[processor]


def describe(processor: str, device: CpuDevice, path: Path) -> None:
    """Writes down a processor that schedules are about to be measured on.

    Raises:
        OtherProcessorError: the file has one of this name with other limits.
    """
    known = described(path)
    if known.setdefault(processor, device) != device:
        old, new = asdict(known[processor]), asdict(device)
        differing = ", ".join(
            f"{name} of {old[name]} and not {new[name]}" for name in old if old[name] != new[name]
        )
        raise OtherProcessorError(
            f"{path.name} has a {processor} with {differing}: times of both do not compare. "
            "Measure on a processor like that one, or remove its measurements and its description."
        )
    document = {name: asdict(one) for name, one in known.items()}
    write_text(path, json.dumps(document, indent=1) + "\n")
