"""``spaces studies``, ``best`` and ``export``: what the store has."""

from __future__ import annotations

import json
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import asdict

from spaces.apps.app import App
from spaces.apps.catalog import find
from spaces.apps.command_line.conditions import Cold, Cores, FreeCores, Inputs, conditions_of
from spaces.apps.command_line.console import line, table
from spaces.apps.command_line.options import (
    MOST,
    AppName,
    DeviceName,
    Floats,
    Threads,
    find_device,
)
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.space import Inexact
from spaces.apps.command_line.trial_tables import (
    described,
    find_pareto,
    show_pareto,
    show_trials,
)
from spaces.apps.command_line.tune import StoreFile, read_store
from spaces.apps.command_line.tuning_view import shown_ratio
from spaces.apps.errors import CommandError, WrongUsage
from spaces.apps.files import write_atomically, write_text
from spaces.backend.halide.errors import DirectiveError, HalideFailure
from spaces.backend.halide.outgoing.entry_points import write_hlpipe
from spaces.backend.halide.schedule_source import halide_schedule_source
from spaces.backend.halide.source import halide_source
from spaces.backend.llvm.operators import FloatMode
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import to_json
from spaces.model.writing.text import format_schedule
from spaces.tuning.best_known import best_known
from spaces.tuning.damage import find_damage
from spaces.tuning.export import TablesUnavailable, csv_text, t4_text, write_parquet
from spaces.tuning.schema import StoreError
from spaces.tuning.store import TuningStore
from spaces.tuning.study_key import StudySummary
from spaces.tuning.trial import Trial, fastest


class ExportFormat(StrEnum):
    """What ``spaces export`` writes."""

    SCHED = "sched"
    JSON = "json"
    HALIDE = "halide"
    T4 = "t4"
    CSV = "csv"
    PARQUET = "parquet"


class BestFormat(StrEnum):
    """What ``spaces best`` writes."""

    SCHED = "sched"
    HEADER = "header"
    HLPIPE = "hlpipe"


StudyNumber = Annotated[
    int,
    typer.Argument(
        metavar="STUDY", min=1, max=MOST, help="The number of a study, as spaces studies lists it."
    ),
]
WrittenFormat = Annotated[
    ExportFormat,
    typer.Option(
        "--format",
        help="The fastest schedule as directives (sched), JSON or Halide C++ source, or all "
        "results as T4, CSV or Parquet.",
    ),
]
BestAs = Annotated[
    BestFormat,
    typer.Option(
        "--format",
        help="The schedule as directives (sched), as a C++ header for a Halide generator that has "
        "the algorithm already (header), or with the algorithm as a file of Halide (hlpipe).",
    ),
]
OutputFile = Annotated[
    str, typer.Option("-o", "--output", help="The file to write.", show_default="standard output")
]


Check = Annotated[
    bool, typer.Option("--check", help="List all damaged rows instead, and fail if there are some.")
]


ListedStudy = Annotated[
    int | None,
    typer.Argument(
        metavar="[STUDY]",
        min=1,
        max=MOST,
        help="The number of a study, to list its fastest trials.",
        show_default="all studies, a line each",
    ),
]
Pareto = Annotated[
    str,
    typer.Option(
        "--pareto",
        metavar="NAMES",
        help="List the trials of the study that no other one beats in all these objectives: time, "
        "memory_bytes, code_bytes, own metrics; or all, for the first three.",
    ),
]
TRIALS = 20
"""How many trials of a study are listed at most."""


@command(
    "studies",
    "List the studies of a store, or the trials of one.",
    "studies",
    "studies 1",
    "studies 1 --pareto time,memory_bytes",
    "studies --check --store blur.sqlite",
)
def studies(
    study: ListedStudy = None,
    store: StoreFile = "",
    check: Check = False,
    pareto: Pareto = "",
    as_json: AsJson = False,
) -> None:
    """List the studies of a store, the fastest trials of one, or what is damaged in it."""
    if pareto and study is None:
        raise WrongUsage("--pareto is for the trials of one study: give its number.")
    with read_store(store) as opened:
        if study is not None:
            _list_trials(opened, study, pareto, as_json)
            return
        if check:
            _check(opened, as_json)
            return
        found = opened.studies()
        if as_json:
            line(json.dumps([asdict(one) for one in found], indent=2))
            return
        rows = [
            (
                one.id, one.pipeline, one.device, one.machine.gpu or one.machine.processor,
                one.model, one.told, "" if one.best is None else f"{one.best:.2f}", one.created,
                _code_and_runs(one),
            )
            for one in found
        ]  # fmt: skip
        columns = (
            "study", "pipeline", "device", "machine", "model", "results", "best / reference",
            "created", "runs",
        )  # fmt: skip
        shown = len(columns) if any(row[-1] for row in rows) else -1
        table(columns[:shown], [row[:shown] for row in rows])
        line(f"{amount(len(rows), 'study', 'studies')} in {opened.path}.")


def _list_trials(store: TuningStore, study: int, pareto: str, as_json: bool) -> None:
    """Lists the fastest trials of a study, or those that no other one beats.

    Raises:
        CommandError: there is no such study.
    """
    try:
        store.device_of(study)
    except StoreError as error:
        raise CommandError(f"{error} spaces studies lists what there is.") from None
    if pareto:
        trials, objectives = find_pareto(store, study, pareto)
    else:
        trials, objectives = list(islice(store.fastest(study), TRIALS)), ()
    if as_json:
        line(json.dumps([described(one) for one in trials], indent=2))
    elif pareto:
        show_pareto(study, trials, objectives)
    else:
        show_trials(store, study, trials)


def _code_and_runs(line: StudySummary) -> str:
    """How the schedules of a study were compiled and timed, where it was not as usual."""
    parts = [amount(line.threads, "thread")] if line.threads else []
    if line.float_mode != FloatMode.STRICT:
        parts.append(f"{line.float_mode} floats")
    return ", ".join([*parts, *filter(None, [line.conditions])])


def _check(store: TuningStore, as_json: bool) -> None:
    """Lists the damage of a store.

    Raises:
        CommandError: there is some.
    """
    found = find_damage(store)
    if as_json:
        line(json.dumps([asdict(one) for one in found], indent=2))
    elif found:
        table(("table", "row", "damage"), [(one.table, one.row, one.why) for one in found])
    if found:
        raise CommandError(
            f"{store.path} has {amount(len(found), 'damaged row')}; commands leave them out, and "
            "read everything else."
        )
    if not as_json:
        line(f"{store.path} is whole.")


@command(
    "best",
    "Show the fastest schedule that the store has.",
    "best blur",
    "best blur -o best.sched",
    "best blur --pareto time,memory_bytes",
    "best theirs.hlpipe --format header -o schedule.h",
    "best theirs.hlpipe --format hlpipe -o best.hlpipe",
)
def best(
    app: AppName,
    device: DeviceName = "cpu",
    store: StoreFile = "",
    inexact: Inexact = False,
    format: BestAs = BestFormat.SCHED,
    threads: Threads = None,
    floats: Floats = FloatMode.STRICT,
    cold: Cold = False,
    inputs: Inputs = "",
    cores: Cores = "",
    free_cores: FreeCores = 0,
    pareto: Pareto = "",
    output: OutputFile = "",
    as_json: AsJson = False,
) -> None:
    """Show the fastest schedule that the store has and that is legal here, or write it to a file.
    Times of this processor come first.
    """
    if format is BestFormat.HLPIPE and not output:
        raise WrongUsage("--format hlpipe writes a file; name it by -o.")
    found = find(app)
    pipeline, target = found.pipeline(), find_device(device)
    conditions = conditions_of(cold, inputs, cores, free_cores)
    with read_store(store) as opened:
        known = best_known(
            opened,
            pipeline,
            target,
            exact=not inexact,
            threads=threads,
            float_mode=floats,
            conditions=conditions,
        )
        path = opened.path
        found_pareto = find_pareto(opened, known[0], pareto) if known and pareto else None
    if known is None:
        raise CommandError(
            f"{path} has no schedule of {pipeline.name} that is legal on {target.name}; "
            f"spaces tune {app} measures some."
        )
    study, trial = known
    if found_pareto is not None:
        _show_pareto(study, *found_pareto, as_json)
        return
    text = format_schedule(trial.schedule, pipeline)
    if format is BestFormat.HEADER:
        text = _header(found, pipeline, trial.schedule)
    if format is BestFormat.HLPIPE:
        _write_hlpipe(Path(output), pipeline, trial.schedule)
    elif output:
        write_text(Path(output), f"{text}\n")
    if as_json:
        report: dict[str, Any] = {"app": app, "study": study, "trial": trial.number}
        report |= {"ratio": trial.ratio, "schedule": text}
        line(json.dumps(report | ({"file": output} if output else {}), indent=2))
        return
    line(f"Wrote {output}." if output else text)
    line(f"Trial {trial.number} of study {study}: {shown_ratio(trial)}.")


def _show_pareto(
    study: int, trials: list[Trial], objectives: tuple[str, ...], as_json: bool
) -> None:
    """The trials of the study with the fastest schedule that no other one beats."""
    if as_json:
        found = {"study": study, "trials": [described(one) for one in trials]}
        line(json.dumps(found, indent=2))
        return
    show_pareto(study, trials, objectives)


def _write_hlpipe(file: Path, pipeline: Pipeline, schedule: Schedule) -> None:
    """Writes the pipeline with the schedule as a file of Halide.

    Raises:
        CommandError: Halide is not installed, or has no such schedule; or the file cannot be
            written.
    """
    try:
        write_atomically(file, lambda temporary: write_hlpipe(temporary, pipeline, schedule))
    except HalideFailure as error:
        raise CommandError(str(error)) from None


def _header(app: App, pipeline: Pipeline, schedule: Schedule) -> str:
    """The schedule as a C++ header.

    Raises:
        CommandError: it has no counterpart in Halide.
    """
    program = app.halide()
    try:
        return halide_schedule_source(pipeline, schedule, program.names if program else {}).rstrip()
    except DirectiveError as error:
        raise CommandError(str(error)) from None


@command(
    "export",
    "Write the best schedule of a study, or all its results.",
    "export 1",
    "export 1 --format halide -o blur.cpp",
    "export 1 --format t4 -o results.json --store blur.sqlite",
)
def export(
    study: StudyNumber,
    format: WrittenFormat = ExportFormat.SCHED,
    output: OutputFile = "",
    store: StoreFile = "",
    as_json: AsJson = False,
) -> None:
    """Write the best schedule of a study, or all its results."""
    with read_store(store) as opened:
        try:
            pipeline = opened.pipeline_of(study)
        except StoreError as error:
            raise CommandError(f"{error} spaces studies lists what there is.") from None
        trials = opened.trials(study)
    if format is ExportFormat.PARQUET:
        _write_parquet(output, trials, pipeline)
        text = ""
    else:
        text = _written(format, trials, pipeline, study)
    if output and text:
        write_text(Path(output), text)
    if as_json:
        report: dict[str, Any] = {"study": study, "format": str(format)}
        line(json.dumps(report | ({"file": output} if output else {"text": text}), indent=2))
    elif output:
        line(f"Wrote {output}.")
    else:
        line(text.rstrip("\n"))


def _write_parquet(output: str, trials: list[Trial], pipeline: Pipeline) -> None:
    if not output:
        raise WrongUsage("A Parquet file is no text: give the file to write, -o FILE.")
    try:
        write_parquet(output, trials, pipeline)
    except TablesUnavailable as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"Cannot write {output}: {error.strerror}.") from None


def _written(format: ExportFormat, trials: list[Trial], pipeline: Pipeline, study: int) -> str:
    if format is ExportFormat.T4:
        return t4_text(trials, pipeline)
    if format is ExportFormat.CSV:
        return csv_text(trials, pipeline)
    ranked = fastest(trials)
    if not ranked:
        raise CommandError(f"Study {study} has no schedule with times yet.")
    schedule: Schedule = ranked[0].schedule
    match format:
        case ExportFormat.SCHED:
            return format_schedule(schedule, pipeline) + "\n"
        case ExportFormat.JSON:
            return to_json(schedule) + "\n"
        case _:
            return halide_source(pipeline, schedule)
