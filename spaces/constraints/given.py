"""Seeing that what is given as a pipeline, a schedule or a device is one."""

from __future__ import annotations

from spaces.constraints.devices import CpuDevice, GpuDevice
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule

_KINDS = {
    "pipeline": ("Pipeline", Pipeline, "spaces.pipeline(f) makes one"),
    "schedule": (
        "Schedule",
        Schedule,
        "spaces.parse_schedule(text, pipeline) reads one, and .schedule is that of directives",
    ),
    "device": ("Device", GpuDevice | CpuDevice, "spaces.device(name) gives one"),
}
"""By parameter: its type's name, its type, and where one comes from."""


def check_given(function: str, **given: object) -> None:
    """See that the arguments ``pipeline``, ``schedule`` and ``device`` of a function are such.

    Raises:
        TypeError: one is something else.
    """
    for parameter, value in given.items():
        kind, classes, how = _KINDS[parameter]
        if not isinstance(value, classes):
            raise TypeError(f"{function} takes a {kind}, not a {type(value).__name__}; {how}.")
