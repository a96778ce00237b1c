"""Schedules of array pipelines as values: enumerate, count, rank, verify and compile them."""

from spaces.constraints.devices import Device, device, device_names
from spaces.constraints.lattice import legal_mask
from spaces.constraints.universe import Decision, Universe
from spaces.constraints.verdict import (
    CheckedSchedule,
    Illegal,
    Requirement,
    Verdict,
    Violation,
)
from spaces.constraints.verify import verify

__all__ = [
    # Which schedules are legal
    "verify",
    "legal_mask",
    "Verdict",
    "CheckedSchedule",
    "Illegal",
    "Violation",
    "Requirement",
    "Device",
    "device",
    "device_names",
    "Decision",
    "Universe",
]
