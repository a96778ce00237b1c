"""Arguments that several commands share, and what is made of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from apps.app import App
from apps.errors import WrongUsage
from apps.files import read_text
from spaces.constraints.devices import Device, device
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.suggestions import suggestion
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.text import parse_partial, parse_schedule

AppName = Annotated[
    str, typer.Argument(metavar="APP", help="The name of an app, or file.py:function.")
]
ScheduleFile = Annotated[
    str,
    typer.Option(
        "--schedule",
        help="A .sched file, - for standard input, or the name of a schedule that comes with the "
        "app.",
    ),
]
DeviceName = Annotated[
    str, typer.Option("--device", help="cpu, or a GPU by compute capability such as sm_80.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option("--seed", help="Of all random choices.")]

DEFAULT = "default"
"""The name of the default schedule, which every app has."""

CPU = "cpu"
"""The name of the hand-written schedule for the CPU, and of that device."""


STANDARD_INPUT = "-"
"""The name of a schedule that is piped into the program."""


def read_schedule(app: App, pipeline: Pipeline, name: str) -> Schedule:
    """The schedule that ``name`` means: one of the app's own, or a file.

    Raises:
        WrongUsage: there is neither, or the text has mistakes.
    """
    if name == DEFAULT and DEFAULT not in app.schedules:
        return Schedule.default(pipeline)
    path, text = _schedule_text(app, name)
    try:
        return parse_schedule(text, pipeline)
    except ScheduleSyntaxError as error:
        raise WrongUsage(f"{path}: {error}") from None


def read_partial(app: App, pipeline: Pipeline, name: str) -> Schedule:
    """The schedule of the Funcs that the text called ``name`` names; the others are open.

    Raises:
        WrongUsage: there is no such text, or it has mistakes.
    """
    if name == DEFAULT:
        return Schedule(())
    path, text = _schedule_text(app, name)
    try:
        return parse_partial(text, pipeline)
    except ScheduleSyntaxError as error:
        raise WrongUsage(f"{path}: {error}") from None


def _schedule_text(app: App, name: str) -> tuple[str, str]:
    """Where the schedule called ``name`` is from, and its text."""
    if name == STANDARD_INPUT:
        return "standard input", sys.stdin.read()
    path = _schedule_file(app, name)
    return str(path), read_text(path, "schedule")


def _schedule_file(app: App, name: str) -> Path:
    own = app.schedules
    if name not in own and "/" not in name and not Path(name).exists():
        named = list(dict.fromkeys([DEFAULT, *own]))
        raise WrongUsage(
            f"There is no file {name}, and {app.name} has no schedule of that name"
            f"{suggestion(name, named)}; it has {', '.join(named)}."
        )
    return own.get(name, Path(name))


def find_device(name: str) -> Device:
    """The device called ``name``.

    Raises:
        WrongUsage: there is none.
    """
    try:
        return device(name)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
