"""``spaces verify``: whether a schedule is legal for a device, all its violations, and the nearest
legal schedule.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import attrs
import typer

from spaces.apps.catalog import find
from spaces.apps.command_line.checking import faultless, refusal
from spaces.apps.command_line.console import complain, line
from spaces.apps.command_line.options import (
    AppName,
    DeviceName,
    Exact,
    ScheduleFile,
    find_device,
    given_schedule,
)
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.errors import CommandError, WrongUsage
from spaces.apps.files import check_writable, write_text
from spaces.constraints.devices.device import Device
from spaces.constraints.legality.preconditions import Precondition, size_preconditions
from spaces.constraints.legality.verdict import CheckedSchedule, Illegal, Verdict
from spaces.constraints.legality.verify import verify as verify_schedule
from spaces.constraints.legality.verify import verify_rest
from spaces.constraints.repairs.repair import Repair
from spaces.constraints.repairs.repair import repair as repair_schedule
from spaces.constraints.rules.findings import Violation
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule
from spaces.model.writing.written import WrittenSchedule

WithRepair = Annotated[
    bool, typer.Option("--repair", help="Find the nearest legal schedule, and print the changes.")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the repaired schedule to this file.")
]
Seconds = Annotated[
    float,
    typer.Option("--seconds", min=0, help="Search for the nearest schedule at most this long."),
]


@command(
    "verify",
    "Say whether a schedule is legal for a device, and why not.",
    "verify blur --schedule cpu",
    "verify blur --schedule my.sched --device sm_80 --json",
    "verify blur --schedule my.sched --repair -o mended.sched",
    "verify hist --schedule cpu --exact",
)
def verify(
    app: AppName,
    schedule: ScheduleFile,
    device: DeviceName = "cpu",
    exact: Exact = False,
    with_repair: WithRepair = False,
    output: Output = None,
    seconds: Seconds = 2.0,
    as_json: AsJson = False,
) -> None:
    """Say whether a schedule is legal for a device, at the estimated sizes; exit 1 if not."""
    if output is not None and not with_repair:
        raise WrongUsage(
            "--output names the file for the schedule of --repair; give --repair, too."
        )
    if exact and with_repair:
        raise WrongUsage(
            "--repair finds the nearest legal schedule, exact or not; give only one of the two."
        )
    if output is not None:
        check_writable(output)  # before the repair, which may take long
    found = find(app)
    pipeline = found.pipeline()
    target = find_device(device)
    given = given_schedule(found, pipeline, schedule)
    if as_json and given.written.problems:
        line(json.dumps(_unreadable(pipeline, given.written, target), indent=2))
        raise typer.Exit(WrongUsage.status)
    chosen = faultless(pipeline, given, target)
    verdict = verify_schedule(pipeline, chosen, target, exact=exact)
    legal_where = _legal_where(verdict, pipeline, chosen, target)
    repaired: Repair | None = None
    if with_repair:
        text = given.written.text
        repaired = repair_schedule(pipeline, chosen, target, seconds=seconds, text=text)
    if as_json:
        report = verdict.json() | {
            "violations": _placed(verdict.violations, given.written),
            "mistakes": [],
            "preconditions": [p.json() for p in legal_where],
        }
        if repaired is not None:
            report["repair"] = _report(repaired, pipeline)
        line(json.dumps(report, indent=2))
    else:
        _tell(verdict, legal_where, target, given.written)
        if repaired is not None:
            _tell_repair(repaired, pipeline)
    if output is not None and repaired is not None:
        if repaired.schedule is None:
            raise CommandError(f"Did not write {output}: there is no legal schedule to write.")
        write_text(output, format_schedule(repaired.schedule, pipeline) + "\n")
        complain(f"Wrote {output}.")
    raise typer.Exit(0 if verdict.legal else 1)


def _legal_where(
    verdict: Verdict, pipeline: Pipeline, schedule: Schedule, device: Device
) -> tuple[Precondition, ...]:
    """The sizes for which a schedule is legal; empty if it is legal for none."""
    if isinstance(verdict, CheckedSchedule):
        return size_preconditions(verdict)
    anywhere = verify_schedule(attrs.evolve(pipeline, estimates=()), schedule, device)
    return size_preconditions(anywhere) if isinstance(anywhere, CheckedSchedule) else ()


def _unreadable(pipeline: Pipeline, written: WrittenSchedule, device: Device) -> dict[str, Any]:
    """The mistakes in a text, and the violations in the rest, as a dictionary of JSON's types."""
    rest = verify_rest(pipeline, written.schedule, device, written.unread)
    mistakes = [
        {"line": p.line, "column": p.column, "length": p.length, "message": p.message}
        for p in written.problems
    ]
    violations = _placed(rest, written)
    return {"legal": False, "violations": violations, "mistakes": mistakes, "preconditions": []}


def _placed(violations: Sequence[Violation], written: WrittenSchedule) -> list[dict[str, Any]]:
    """Violations as dictionaries of JSON's types, with their lines and columns in the text."""
    places = [written.place(v.func, v.stage, v.loop) or (None, None) for v in violations]
    return [
        v.json() | {"line": row, "column": column}
        for v, (row, column) in zip(violations, places, strict=True)
    ]


def _tell(
    verdict: Verdict,
    legal_where: tuple[Precondition, ...],
    device: Device,
    written: WrittenSchedule,
) -> None:
    if isinstance(verdict, Illegal):
        line(refusal(verdict.violations, device, written))
    else:
        line(f"The schedule is legal for {device.name}.")
        if verdict.advice:
            line("\n".join(["Advice:", *(f"  {a}" for a in verdict.advice)]))
    if legal_where:
        line("\n".join(["It is legal for sizes where:", *(f"  {p}" for p in legal_where)]))


def _tell_repair(repaired: Repair, pipeline: Pipeline) -> None:
    line(str(repaired))
    if repaired.edits and repaired.schedule is not None:
        line("The repaired schedule:")
        text = format_schedule(repaired.schedule, pipeline) or "# the default schedule"
        line("\n".join(f"  {directives}" for directives in text.splitlines()))


def _report(repaired: Repair, pipeline: Pipeline) -> dict[str, Any]:
    """A repair as a dictionary of JSON's types."""
    schedule = repaired.schedule
    return {
        "answer": repaired.answer,
        "changes": repaired.changes,
        "distance": repaired.distance,
        "exhausted": repaired.exhausted,
        "edits": [{"func": edit.func, "text": edit.text} for edit in repaired.edits],
        "schedule": None if schedule is None else format_schedule(schedule, pipeline),
    }
