"""Spaces of whole patterns, which tests list and count."""

from __future__ import annotations

from typing import Any

from spaces.constraints.devices.device import Device
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline


def small_space(pipeline: Pipeline, device: Device, **more: Any) -> ScheduleSpace:
    """The space with ``Options.small``."""
    return ScheduleSpace(pipeline, device, Options.small(device), **more)
