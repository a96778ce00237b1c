"""Verifies the given schedule: returns it, or ends the command with all its violations. Advice on a
user's schedule goes to the error stream.
"""

from __future__ import annotations

from collections.abc import Sequence

from spaces.apps.command_line.console import complain
from spaces.apps.command_line.options import GivenSchedule
from spaces.apps.errors import CommandError, WrongUsage
from spaces.constraints.devices.device import Device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify, verify_rest
from spaces.constraints.rules.findings import Finding, Violation
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.written import WrittenSchedule


class IllegalSchedule(CommandError):
    """The schedule is not legal for the device."""


def checked(
    pipeline: Pipeline, given: GivenSchedule, device: Device, *, exact: bool = False
) -> CheckedSchedule:
    """The verified schedule; ``exact`` is passed to ``verify``. Advice on a schedule that the app
    does not have goes to the error stream, with its place in the text.

    Raises:
        WrongUsage: its text has mistakes; the message lists them, and the violations of the rest.
        IllegalSchedule: it is not legal; the message lists all its violations.
    """
    schedule = faultless(pipeline, given, device)
    verdict = verify(pipeline, schedule, device, exact=exact)
    if isinstance(verdict, CheckedSchedule):
        for advice in () if given.of_app else verdict.advice:
            complain(f"Advice: {_placed(advice, given.written)}{advice}")
        return verdict
    raise IllegalSchedule(refusal(verdict.violations, device, given.written))


def faultless(pipeline: Pipeline, given: GivenSchedule, device: Device) -> Schedule:
    """The schedule of a text without mistakes.

    Raises:
        WrongUsage: the text has mistakes; the message lists them, and the violations for ``device``
            in the rest of the schedule.
    """
    written = given.written
    if not written.problems:
        return written.schedule
    rest = verify_rest(pipeline, written.schedule, device, written.unread)
    messages = [f"{given.source}: {ScheduleSyntaxError(written.problems)}"]
    if rest:
        messages.append(refusal(rest, device, written))
    raise WrongUsage("\n".join(messages))


def refusal(violations: Sequence[Violation], device: Device, written: WrittenSchedule) -> str:
    """All violations, one a line, each with its place in the text, under a head line."""
    count = len(violations)
    subject = "The readable part of the schedule" if written.problems else "The schedule"
    head = f"{subject} is illegal for {device.name}: {count} violation{'s' * (count != 1)}."
    return "\n".join([head, *(f"  {_placed(v, written)}{v}" for v in violations)])


def _placed(finding: Finding, written: WrittenSchedule) -> str:
    place = written.place(finding.func, finding.stage, finding.loop)
    return f"line {place[0]}, column {place[1]}: " if place else ""
