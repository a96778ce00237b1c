"""``spaces train``: trains the cost models learned and hybrid on measured schedules."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from attrs import evolve

from spaces.apps.catalog import APPS, find
from spaces.apps.command_line.console import line, table
from spaces.apps.command_line.options import CPU, MOST, Seed
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.progress import Reporter
from spaces.apps.errors import CommandError, WrongUsage
from spaces.apps.files import is_there, write_text
from spaces.apps.user_functions import is_function_name, load_function
from spaces.constraints.devices.device import CpuDevice, device
from spaces.cost.learned.weights import write_network
from spaces.model.algorithm.pipeline import Pipeline
from spaces.tuning.learning.examples import (
    MeasuredSchedule,
    MeasurementsError,
    by_subject,
    examples,
    read_measurements,
)
from spaces.tuning.learning.held_out import FEWEST, HeldOut, leave_one_out, medians
from spaces.tuning.learning.log import training_log
from spaces.tuning.learning.losses import LOSSES
from spaces.tuning.learning.training import TRAININGS
from spaces.tuning.learning.training import train as fit


class Kind(StrEnum):
    """What a network predicts."""

    LEARNED = "learned"
    HYBRID = "hybrid"


Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Measured schedules, a JSON object a line.")
]
Out = Annotated[Path, typer.Option("--out", metavar="FILE.npz", help="Write the weights here.")]
KindOf = Annotated[
    Kind, typer.Option("--kind", help="hybrid corrects reuse; learned stands alone.")
]
Pipelines = Annotated[
    str,
    typer.Option(
        "--pipelines",
        metavar="FILE.PY:FUNCTION",
        help="A function from the name of a subject to its pipeline, for those that are no apps.",
        show_default="apps alone",
    ),
]
LossName = Annotated[
    str,
    typer.Option(
        "--loss", help=f"What training minimises: {', '.join(LOSSES)}.", show_default="logarithm"
    ),
]
Steps = Annotated[
    int | None,
    typer.Option("--steps", min=1, max=MOST, help="The steps of a training.", show_default="300"),
]
Judge = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        metavar="SUBJECT",
        help="Judge by this subject, without it in the training. May be given several times.",
        show_default="every app",
    ),
]
Processor = Annotated[
    str,
    typer.Option(
        "--processor",
        help="The CPU of the measurements, for the log.",
        show_default="what the files say",
    ),
]


@command(
    "train",
    "Train the cost models learned and hybrid.",
    "train blur.jsonl harris.jsonl --out mine.npz",
    "train measured/*.jsonl --kind learned --out mine.npz --json",
)
def train(
    files: Files,
    out: Out,
    kind: KindOf = Kind.HYBRID,
    pipelines: Pipelines = "",
    loss: LossName = "",
    steps: Steps = None,
    judge: Judge = None,
    processor: Processor = "",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a network on measured schedules. For each app, train without it first and report how
    well the network ranks its schedules; then train on all, and write the weights and beside them a
    log. Searches use the weights as a cost model: --cost FILE.npz.
    """
    options = evolve(TRAININGS[kind], seed=seed)
    options = evolve(options, loss=loss or options.loss, steps=steps or options.steps)
    if options.loss not in LOSSES:
        raise WrongUsage(f"There is no loss {loss!r}; there are {', '.join(LOSSES)}.")
    if out.suffix != ".npz":
        raise WrongUsage(f"The file of weights must end with .npz; {out} does not.")
    missing = [str(file) for file in files if not is_there(file, Path.is_file)]
    if missing:
        raise WrongUsage(f"There is no file {', '.join(missing)}.")
    cpu = device(CPU)
    assert isinstance(cpu, CpuDevice)
    own = load_function(pipelines) if pipelines else None
    with Reporter() as reporter:
        try:
            measured, sources = _read(files, own)
            found = examples(
                measured,
                cpu,
                kind,
                lambda count: reporter.show("reading features", {"schedules": count}),
            )
        except MeasurementsError as error:
            raise CommandError(str(error)) from None
        subjects = judge or [
            name
            for name, members in by_subject(found).items()
            if len(members) >= FEWEST and is_app(name)
        ]
        unknown = set(subjects) - set(found.subjects)
        if unknown:
            raise WrongUsage(f"The files have no schedules of {', '.join(sorted(unknown))}.")
        judged = leave_one_out(
            found, options, subjects, lambda name: reporter.show(f"training without {name}", {})
        )
        trained = fit(
            found,
            options,
            lambda step, _: reporter.show("training", {}, step=(step + 1, options.steps)),
        )
    write_network(trained.network, out)
    log = training_log(found, options, trained, judged, sources, processor or _processor(files))
    write_text(out.with_suffix(".json"), json.dumps(log, indent=2) + "\n")
    if as_json:
        line(json.dumps(log, indent=2))
    else:
        _show(judged, len(found.examples), out)


def _read(
    files: list[Path], made: Callable[[str], object] | None
) -> tuple[list[MeasuredSchedule], dict[str, int]]:
    """The schedules of all files, and how many each has."""

    def pipeline_of(subject: str) -> Pipeline:
        if made is None or is_app(subject):
            return find(subject).pipeline()
        pipeline = made(subject)
        if not isinstance(pipeline, Pipeline):
            raise WrongUsage(f"For {subject} the function of --pipelines gives no pipeline.")
        return pipeline

    measured: list[MeasuredSchedule] = []
    sources: dict[str, int] = {}
    for file in files:
        found = read_measurements(file, pipeline_of)
        measured += found
        sources[file.name] = len(found)
    return measured, sources


def is_app(subject: str) -> bool:
    """Whether a subject is an app, or a function of the user."""
    return subject in APPS or is_function_name(subject)


def _processor(files: list[Path]) -> str:
    """The processors that the records name."""
    named = {
        str(json.loads(text).get("cpu", "unknown"))
        for file in files
        for text in file.read_text("utf-8").splitlines()[:1]
    }
    return ", ".join(sorted(named))


def _show(judged: list[HeldOut], schedules: int, out: Path) -> None:
    rows: list[tuple[object, ...]] = [
        (
            one.subject,
            one.schedules,
            f"{one.rank_correlation:.2f}",
            f"{one.regret:.0%}",
            f"{one.analytic_rank_correlation:.2f}",
            f"{one.analytic_regret:.0%}",
        )
        for one in judged
    ]
    if judged:
        middle = medians(judged)
        rows.append(
            (
                "median",
                "",
                f"{middle['rank_correlation']:.2f}",
                f"{middle['regret']:.0%}",
                f"{middle['analytic_rank_correlation']:.2f}",
                f"{middle['analytic_regret']:.0%}",
            )
        )
    head = ("held out", "schedules", "rank correlation", "regret of top 5", "reuse", "its regret")
    table(head, rows)
    line(f"{out} has the weights of a training on all {schedules} schedules.")
