"""``spaces explain``: why one schedule of an app costs more than another."""

from __future__ import annotations

import json
from typing import Annotated

import attrs
import typer

from spaces.apps.catalog import find
from spaces.apps.command_line.checking import IllegalSchedule, checked
from spaces.apps.command_line.console import line
from spaces.apps.command_line.cost_models import Cost, given_model, json_cost
from spaces.apps.command_line.options import (
    STANDARD_INPUT,
    AppName,
    DeviceName,
    GivenSchedule,
    find_device,
    given_schedule,
)
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.errors import CommandError, WrongUsage
from spaces.constraints.devices.device import Device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.cost.batch import BatchError
from spaces.cost.explain import PartDifference, PriceDifference
from spaces.cost.explain import explain as explain_difference
from spaces.cost.registry import default_model
from spaces.model.algorithm.pipeline import Pipeline

First = Annotated[
    str,
    typer.Argument(
        metavar="A",
        help="A .sched file, - for standard input, or the name of a schedule of the app.",
    ),
]
Second = Annotated[
    str, typer.Argument(metavar="B", help="The schedule to compare it with, in the same way.")
]


@command(
    "explain",
    "Say why one schedule costs more than another.",
    "explain blur cpu_tiles cpu",
    "explain unsharp gpu my.sched --device sm_80",
    "explain harris default cpu --cost weighted --json",
)
def explain(
    app: AppName,
    first: First,
    second: Second,
    device: DeviceName = "cpu",
    cost: Cost = "",
    as_json: AsJson = False,
) -> None:
    """Say why schedule A costs more than schedule B, or less, at the estimated sizes. This lists
    the differences of their costs by Func and kind of cost, and what differs in their loop nests.
    """
    if first == second == STANDARD_INPUT:
        raise WrongUsage("Only one of the two schedules can come from standard input.")
    found = find(app)
    pipeline = found.pipeline()
    target = find_device(device)
    cost = cost or default_model(target)
    model = given_model(cost, target)
    both = [given_schedule(found, pipeline, name) for name in (first, second)]
    one, other = _checked(pipeline, both, target)
    try:
        told = attrs.evolve(explain_difference(one, other, model), model=cost)
    except BatchError as error:
        raise CommandError(str(error)) from None
    if as_json:
        report = {"app": app, "device": device, "schedules": [first, second], **_report(told)}
        line(json.dumps(report, indent=2))
    else:
        line(f"The first schedule is {first}, the second {second}.")
        line(str(told))


def _checked(
    pipeline: Pipeline, both: list[GivenSchedule], device: Device
) -> list[CheckedSchedule]:
    """The verified schedules, or an error with the violations of each that is illegal."""
    legal, refused = [], []
    for given in both:
        try:
            legal.append(checked(pipeline, given, device))
        except IllegalSchedule as error:
            refused.append(f"{given.source}: {error}")
    if refused:
        raise IllegalSchedule("\n".join(refused))
    return legal


def _report(told: PriceDifference) -> dict[str, object]:
    """An explanation as a dictionary of JSON's types."""
    return {
        "cost": told.model,
        "first": json_cost(told.first),
        "second": json_cost(told.second),
        "ratio": json_cost(told.ratio),
        "chance_of_second": told.chance_of_second,
        "has_parts": told.has_parts,
        "parts": [_part(part) for part in told.parts],
        "reasons": list(told.reasons),
    }


def _part(part: PartDifference) -> dict[str, object]:
    return {
        "func": part.func,
        "stage": part.stage,
        "what": part.what,
        "first": json_cost(part.first),
        "second": json_cost(part.second),
        "share": part.share,
    }
