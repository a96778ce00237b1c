"""The schedules by hand of an app that are for a device."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.apps.app import App
from spaces.apps.command_line.options import DEFAULT, OWN, given_schedule
from spaces.constraints.devices.device import Device, GpuDevice
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


def hand_schedules(app: App, pipeline: Pipeline, device: Device) -> dict[str, Schedule]:
    """The schedules by hand of an app by name: for a GPU those with GPU loops, for a CPU the
    others. A program of Halide has the one that is in its file.
    """
    is_gpu = isinstance(device, GpuDevice)
    found = {name: given_schedule(app, pipeline, name).faultless() for name in _names(app)}
    return {name: one for name, one in found.items() if one.has_gpu_loops == is_gpu}


def _names(app: App) -> Iterator[str]:
    yield from (name for name in app.schedules if name != DEFAULT)
    if app.halide() is not None:
        yield OWN
