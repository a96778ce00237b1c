"""The gate before compiling: a checked schedule, or a stop that says what is illegal."""

from __future__ import annotations

from apps.errors import Stop
from spaces.constraints.devices import Device
from spaces.constraints.verdict import CheckedSchedule, Illegal
from spaces.constraints.verify import verify
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


class IllegalSchedule(Stop):
    """A schedule that is not legal for the device it is asked for."""


def checked(pipeline: Pipeline, schedule: Schedule, device: Device) -> CheckedSchedule:
    """The schedule, verified.

    Raises:
        IllegalSchedule: it is not legal; the message lists everything that is wrong with it.
    """
    verdict = verify(pipeline, schedule, device)
    if isinstance(verdict, CheckedSchedule):
        return verdict
    raise IllegalSchedule(refusal(verdict, device))


def refusal(illegal: Illegal, device: Device) -> str:
    """All violations, one a line, under a head line."""
    count = len(illegal.violations)
    head = f"The schedule is illegal for {device.name}: {count} violation{'s' * (count != 1)}."
    return "\n".join([head, *(f"  {v.rule}: {v.message}" for v in illegal.violations)])
