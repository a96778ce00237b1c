"""The spaces that are measured: all apps, on a CPU and on a GPU, by preset."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule

PRESETS = ("small", "expert", "everything")
DEVICES = ("cpu", "sm_80")
THREE = ("harris", "camera_pipe", "local_laplacian")
"""Apps of 13, 32 and 99 stages."""


@frozen
class Subject:
    """An app on a device."""

    app: str
    device: str

    def __str__(self) -> str:
        return f"{self.app} {self.device}"

    def space(self, preset: str) -> ScheduleSpace:
        """Its space with a preset of options, made anew."""
        target = device(self.device)
        return ScheduleSpace(APPS[self.app].pipeline(), target, getattr(Options, preset)(target))


SUBJECTS = tuple(Subject(app, name) for app in APPS for name in DEVICES)


def hand_schedules() -> Iterator[tuple[str, Subject]]:
    """The names of the hand schedules of all apps, each with its app and device."""
    for app in APPS:
        for kind in APPS[app].schedules:
            if kind.startswith(("cpu", "gpu")):
                yield kind, Subject(app, "cpu" if kind.startswith("cpu") else "sm_80")


def hand_schedule(kind: str, space: ScheduleSpace, app: str) -> Schedule:
    """A hand schedule of the pipeline of a space."""
    return parse_schedule(APPS[app].schedules[kind].read_text("utf-8"), space.pipeline)
