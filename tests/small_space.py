"""Spaces of whole patterns, which tests list and count."""

from __future__ import annotations

from typing import Any

from spaces import Device, Options, Pipeline, ScheduleSpace


def small_space(pipeline: Pipeline, device: Device, **more: Any) -> ScheduleSpace:
    """The space with ``Options.small``."""
    return ScheduleSpace(pipeline, device, Options.small(device), **more)
