"""Checks the types of arguments: pipeline, schedule and device."""

from __future__ import annotations

from collections.abc import Callable

from spaces.constraints.devices.device import CpuDevice, GpuDevice
from spaces.model.articles import with_article
from spaces.model.schedules.argument_checks import check_pipeline, check_schedule


def check_device(function: str, value: object) -> None:
    """Checks that a function gets a Device.

    Raises:
        TypeError: it gets something else.
    """
    if not isinstance(value, GpuDevice | CpuDevice):
        given = type(value).__name__
        raise TypeError(
            f"{function} takes a Device, not {with_article(given)}; spaces.device(name) gives one."
        )


_CHECKS: dict[str, Callable[[str, object], None]] = {
    "pipeline": check_pipeline,
    "schedule": check_schedule,
    "device": check_device,
}


def check_given(function: str, **given: object) -> None:
    """Checks the types of the arguments ``pipeline``, ``schedule`` and ``device`` of a function.

    Raises:
        TypeError: one has another type.
    """
    for parameter, value in given.items():
        _CHECKS[parameter](function, value)
