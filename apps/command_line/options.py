"""Arguments that several commands share, and their readers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from attrs import frozen

from spaces.apps.app import App
from spaces.apps.command_line.completion import app_names, device_names
from spaces.apps.errors import WrongUsage
from spaces.apps.files import BYTE_ORDER_MARK, is_there, read_text
from spaces.backend.llvm.operators import FloatMode
from spaces.constraints.devices.device import CpuDevice, Device, device
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.suggestions import suggestion
from spaces.model.text_limits import LONGEST_SCHEDULE
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.text import format_schedule, parse_partial, read_schedule
from spaces.model.writing.written import WrittenSchedule

AppName = Annotated[
    str,
    typer.Argument(
        metavar="APP",
        help="The name of an app, file.py:function, or a file.hlpipe of Halide; estimates may "
        "follow it, as in file.hlpipe:out=640x480,in=642x482.",
        autocompletion=app_names,
    ),
]
ScheduleFile = Annotated[
    str,
    typer.Option(
        "--schedule",
        help="A .sched file, - for standard input, or the name of a schedule of the app.",
    ),
]
DeviceName = Annotated[
    str,
    typer.Option(
        "--device",
        help="cpu; a GPU such as h100, 'rtx 4090' or sm_80; or gpu, the one that is present.",
        autocompletion=device_names,
    ),
]
Exact = Annotated[
    bool,
    typer.Option(
        "--exact",
        help="Refuse a schedule that combines floats in another order than the algorithm.",
    ),
]
MOST = 10**9
"""The largest whole number that an option takes."""

Seed = Annotated[
    int, typer.Option("--seed", min=0, max=10**18, help="The seed of all random choices.")
]
Floats = Annotated[
    FloatMode,
    typer.Option(
        "--floats",
        help="strict: each operation rounds as written; contract: a product and a sum may round "
        "once; fast: sums may also be reordered, as in Halide by default.",
    ),
]

Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        max=1024,
        help="The number of threads on the CPU. Default: one for each core.",
    ),
]

Hardened = Annotated[
    bool,
    typer.Option(
        "--hardened",
        help="Test every access to memory; stop at an access outside its allocation and name the "
        "Func and the coordinates. Unwritten memory reads as poison.",
    ),
]

OWN = "own"
"""The name of the schedule that a pipeline of Halide has there."""

DEFAULT = "default"
"""The name of the default schedule, which every app has."""

CPU = "cpu"
"""The name of the hand-written schedule for the CPU, and of that device."""

GPU = "gpu"
"""The name of the hand-written schedule for GPUs."""


STANDARD_INPUT = "-"
"""The name of a schedule that the program reads from standard input."""


@frozen
class GivenSchedule:
    """A schedule as its text writes it.

    Attributes:
        source: the file, or another name of its origin.
        of_app: whether the app has it; else a user wrote it.
    """

    source: str
    written: WrittenSchedule
    of_app: bool = False

    def faultless(self) -> Schedule:
        """The schedule of a text without mistakes.

        Raises:
            WrongUsage: the text has mistakes.
        """
        try:
            return self.written.faultless().schedule
        except ScheduleSyntaxError as error:
            raise WrongUsage(f"{self.source}: {error}") from None


def given_schedule(app: App, pipeline: Pipeline, name: str) -> GivenSchedule:
    """The schedule called ``name``: a schedule of the app, or a file.

    Raises:
        WrongUsage: neither exists.
    """
    if name == DEFAULT and DEFAULT not in app.schedules:
        return GivenSchedule(name, WrittenSchedule(Schedule.default(pipeline)), of_app=True)
    source, text = _schedule_text(app, name)
    written = read_schedule(text, pipeline, _vector_bits())
    return GivenSchedule(source, written, of_app=name in app.schedules)


def _vector_bits() -> int:
    """The vector bits of this CPU, which ``natural_vector_size`` in a schedule uses."""
    cpu = device(CPU)
    assert isinstance(cpu, CpuDevice)
    return cpu.vector_bits


def read_partial(app: App, pipeline: Pipeline, name: str) -> Schedule:
    """The schedule of the Funcs that the text called ``name`` mentions; the others are open.

    Raises:
        WrongUsage: the text does not exist, or has mistakes.
    """
    if name == DEFAULT:
        return Schedule(())
    program = app.halide()
    if name == OWN and program is not None:
        return program.fixed
    path, text = _schedule_text(app, name)
    try:
        return parse_partial(text, pipeline, _vector_bits())
    except ScheduleSyntaxError as error:
        raise WrongUsage(f"{path}: {error}") from None


def _schedule_text(app: App, name: str) -> tuple[str, str]:
    """The origin of the schedule called ``name``, and its text."""
    if name == STANDARD_INPUT:
        text = sys.stdin.read(LONGEST_SCHEDULE + 1)
        return "standard input", text.removeprefix(BYTE_ORDER_MARK)
    program = app.halide()
    if name == OWN and program is not None:
        return f"the schedule in {app.name}", format_schedule(program.schedule, program.pipeline)
    path = _schedule_file(app, name)
    return str(path), read_text(path, "schedule", LONGEST_SCHEDULE)


def _schedule_file(app: App, name: str) -> Path:
    own = app.schedules
    if name not in own and "/" not in name and not (name and is_there(Path(name))):
        named = list(dict.fromkeys([DEFAULT, *own, *([OWN] if app.halide() else [])]))
        raise WrongUsage(
            f"There is no file {name or repr(name)}, and {app.name} has no schedule of that name"
            f"{suggestion(name, named)}; it has {', '.join(named)}."
        )
    return own.get(name, Path(name))


def find_device(name: str) -> Device:
    """The device called ``name``.

    Raises:
        WrongUsage: no device has this name.
    """
    try:
        return device(name)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
