"""``spaces report``: a page about a schedule, about two side by side, or about a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from spaces.apps.app import App
from spaces.apps.catalog import find
from spaces.apps.command_line.checking import faultless
from spaces.apps.command_line.completion import app_names
from spaces.apps.command_line.console import complain, line
from spaces.apps.command_line.options import (
    CPU,
    GPU,
    STANDARD_INPUT,
    ScheduleFile,
    find_device,
    given_schedule,
)
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.study_choice import (
    StudyChoice,
    check_no_options,
    is_store,
    read_study,
)
from spaces.apps.errors import WrongUsage
from spaces.apps.files import check_writable, write_text
from spaces.backend.arguments import ArgumentError
from spaces.backend.profiling.profile import Profile
from spaces.backend.profiling.run import profile
from spaces.constraints.devices.device import CpuDevice, Device, device
from spaces.constraints.legality.verdict import CheckedSchedule, Verdict
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import ProofReport
from spaces.constraints.proofs.prove import prove
from spaces.cost.batch import BatchError
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.loopnest import loop_nest
from spaces.model.nest.splits import OrderError
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.schedule import Schedule
from spaces.pages.facts import schedule_facts
from spaces.pages.report import report
from spaces.pages.study_report import study_report

PAGE = Path("report.html")
"""The page of those who name no file."""

_MOST_STEPS = 1e10
"""The most operations of a schedule that is run for its page; these take some seconds."""

_ANY_GPU = "sm_80"
"""The device of a schedule with GPU loops where no GPU is present."""

Output = Annotated[Path, typer.Option("--output", "-o", help="Write the page to this file.")]
Against = Annotated[
    str,
    typer.Option(help="Another schedule to show beside, in the same way; none by default."),
]
OneDevice = Annotated[
    str,
    typer.Option(
        "--device",
        help="The device of the schedule; by default cpu, or a GPU if the schedule has GPU loops.",
    ),
]
OtherDevice = Annotated[
    str, typer.Option("--against-device", help="The device of the other schedule, likewise.")
]
Run = Annotated[
    bool,
    typer.Option(
        "--run/--no-run", help="Run schedules for this CPU, and show measured times beside prices."
    ),
]
Proofs = Annotated[
    bool, typer.Option("--prove", help="Prove the schedule, and show what is not proven.")
]
Seconds = Annotated[
    float,
    typer.Option("--seconds", min=0, help="The longest time for proofs, or to repair a schedule."),
]


Reported = Annotated[
    str,
    typer.Argument(
        metavar="APP|STORE",
        help="The name of an app, file.py:function or a file.hlpipe of Halide; or the file of a "
        "store of studies.",
        autocompletion=app_names,
    ),
]


@command(
    "report",
    "Write a page about a schedule, two side by side, or a study.",
    "report unsharp --schedule cpu -o report.html",
    "report unsharp --schedule cpu --against gpu",
    "report my_pipelines.py:sobel --schedule my.sched --prove",
    "report blur.sqlite --study 1",
)
def report_on(
    app: Reported,
    schedule: ScheduleFile = "",
    against: Against = "",
    device: OneDevice = "",
    against_device: OtherDevice = "",
    output: Output = PAGE,
    run: Run = True,
    proofs: Proofs = False,
    seconds: Seconds = 10.0,
    study: StudyChoice = None,
    as_json: AsJson = False,
) -> None:
    """Write a page about a schedule: Funcs, loops, storage, costs and measured times, rules, code;
    or the violations of an illegal one (exit 1) and the nearest legal schedule. Of a store: a page
    about a study, with what it found and how.
    """
    if is_store(app):
        given = {"--schedule": schedule, "--against": against, "--device": device}
        check_no_options(app, *(name for name, value in given.items() if value))
        _report_study(app, study, output, as_json)
        return
    if study is not None:
        raise WrongUsage(f"--study is a study of a store, and {app} is no store.")
    if not schedule:
        raise WrongUsage(f"Say which schedule, as in spaces report {app} --schedule cpu.")
    if schedule == against == STANDARD_INPUT:
        raise WrongUsage("Only one of the two schedules can come from standard input.")
    if against_device and not against:
        raise WrongUsage("--against-device is the device of the schedule of --against; give both.")
    check_writable(output)
    found = find(app)
    pipeline = found.pipeline()
    first = _judged(found, pipeline, schedule, device)
    second = _judged(found, pipeline, against, against_device) if against else None
    times = [_timed(one) if run and one is not None else None for one in (first, second)]
    proven = _proven(pipeline, first, seconds) if proofs else None
    made = report(
        first,
        second,
        names=_names(schedule, against),
        profiles=(times[0], times[1]),
        proofs=proven,
        seconds=seconds,
    )
    write_text(output, made.html)
    size = len(made.html.encode())
    if as_json:
        line(json.dumps({"page": str(output), "bytes": size, "schedules": made.json()}, indent=2))
    else:
        line(f"Wrote {output} ({size / 1000:.0f} KB).")
    raise typer.Exit(0 if first.legal else 1)


def _names(schedule: str, against: str) -> tuple[str, str]:
    """What the page calls the schedules: files without their folders, unless they are called the
    same.
    """
    short = [_STDIN if one == STANDARD_INPUT else Path(one).name for one in (schedule, against)]
    first, second = short if short[0] != short[1] else (schedule, against)
    return first, second


_STDIN = "standard input"


def _report_study(store: str, study: int | None, output: Path, as_json: bool) -> None:
    """Writes the page about a study."""
    check_writable(output)
    made = study_report(read_study(store, study))
    write_text(output, made.html)
    size = len(made.html.encode())
    if as_json:
        line(json.dumps({"page": str(output), "bytes": size, **made.json()}, indent=2))
    else:
        line(f"Wrote {output} ({size / 1000:.0f} KB) about study {made.record.about.id}.")


def _judged(app: App, pipeline: Pipeline, name: str, on: str) -> Verdict:
    given = given_schedule(app, pipeline, name)
    target = find_device(on) if on else _device_of(given.written.schedule)
    return verify(pipeline, faultless(pipeline, given, target), target)


def _device_of(schedule: Schedule) -> Device:
    """The CPU; for a schedule with GPU loops the GPU that is present, or a usual one."""
    if not schedule.has_gpu_loops:
        return device(CPU)
    try:
        return device(GPU)
    except ValueError:
        return device(_ANY_GPU)


def _timed(verdict: Verdict) -> Profile | None:
    """Where the time of a run goes; None of a schedule that does not run here."""
    if not isinstance(verdict, CheckedSchedule) or not isinstance(verdict.device, CpuDevice):
        return None
    facts = schedule_facts(verdict)
    steps = sum(stage.steps for func in facts.funcs for stage in func.stages)
    if steps > _MOST_STEPS:
        complain(
            f"The page has no measured times: a run takes about {steps:,.0f} operations. "
            "`spaces run` runs it nevertheless."
        )
        return None
    try:
        return profile(verdict)
    except (ArgumentError, BatchError, MemoryError, ValueError) as error:
        complain(f"The page has no measured times: {error}")
        return None


def _proven(pipeline: Pipeline, verdict: Verdict, seconds: float) -> ProofReport | None:
    """The proofs about a schedule; of an illegal one about its nest, if it has one."""
    if isinstance(verdict, CheckedSchedule):
        return prove(verdict, seconds=seconds)
    judged = verdict.judged
    if judged is None:
        return None
    try:
        return prove(loop_nest(pipeline, judged.schedule), seconds=seconds)
    except (LevelError, OrderError, UnboundedError, KeyError):
        return None
