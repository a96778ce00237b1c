"""Schedules by number, for commands that need many and do not run them."""

from __future__ import annotations

from spaces.apps.catalog import find
from spaces.constraints.devices.device import device
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule

APP = "blur"

FACTORS = 500
"""How many factors of one split are taken."""


def made_up_space() -> ScheduleSpace:
    """The space of the studies of these schedules; a small one, for nobody searches it."""
    cpu = device("cpu")
    return ScheduleSpace(find(APP).pipeline(), cpu, Options.small(cpu))


def numbered_schedule(number: int) -> Schedule:
    """The schedule with a number; different numbers give different schedules, all legal."""
    pipeline = find(APP).pipeline()
    (output,) = pipeline.outputs
    outer, inner = divmod(number, FACTORS)
    text = f"{output}.split(x, x, xi, {2 + inner}).split(y, y, yi, {2 + outer})"
    return parse_schedule(text, pipeline)
