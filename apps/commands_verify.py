"""``spaces verify``: whether a schedule is legal for a device, and everything that is wrong."""

from __future__ import annotations

import json

import typer

from apps.catalog import find
from apps.checking import refusal
from apps.commands import command
from apps.console import line
from apps.options import AppName, AsJson, DeviceName, ScheduleFile, find_device, read_schedule
from spaces.constraints.verdict import Illegal
from spaces.constraints.verify import verify as verify_schedule


@command("verify")
def verify(
    app: AppName, schedule: ScheduleFile, device: DeviceName = "cpu", as_json: AsJson = False
) -> None:
    """Say whether a schedule is legal for a device, at the sizes estimated; exit 1 if not."""
    found = find(app)
    pipeline = found.pipeline()
    target = find_device(device)
    verdict = verify_schedule(pipeline, read_schedule(found, pipeline, schedule), target)
    if as_json:
        line(json.dumps(verdict.json(), indent=2))
    elif isinstance(verdict, Illegal):
        line(refusal(verdict, target))
    else:
        line(f"The schedule is legal for {target.name}.")
        if verdict.advice:
            line("\n".join(["What has no effect in it:", *(f"  {a}" for a in verdict.advice)]))
    raise typer.Exit(0 if verdict.legal else 1)
