"""``spaces tune``: measures schedules, and keeps every result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from spaces.apps.app import App
from spaces.apps.catalog import APPS, find
from spaces.apps.command_line.arguments import parse_params
from spaces.apps.command_line.completion import model_names, tuning_strategy_names
from spaces.apps.command_line.conditions import Cold, Cores, FreeCores, Inputs, conditions_of
from spaces.apps.command_line.console import complain, line, table
from spaces.apps.command_line.interrupting import twice_ends_at_once
from spaces.apps.command_line.options import (
    CPU,
    GPU,
    MOST,
    OWN,
    AppName,
    DeviceName,
    Floats,
    Seed,
    Threads,
    given_schedule,
)
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.space import (
    Inexact,
    Keep,
    OptionsName,
    Preset,
    Where,
    kept_of,
    space_of,
)
from spaces.apps.command_line.tuning_view import TuningView, outcomes, shown_ratio
from spaces.apps.errors import CommandError, Interrupted, WrongUsage
from spaces.apps.files import is_there
from spaces.apps.halide_programs import check_sizes, with_estimates
from spaces.apps.photographs import photograph
from spaces.backend.arguments import Array
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.conditions import RunConditions
from spaces.backend.measuring.inputs import random_inputs
from spaces.backend.measuring.over_dask import DaskUnavailable
from spaces.backend.measuring.session import MeasuringError
from spaces.constraints.devices.device import GpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.cost.measurer import RunOutcome
from spaces.cost.registry import UnknownModelError
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.registry import PluginError
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule
from spaces.tuning.schema import StoreError
from spaces.tuning.sources import START
from spaces.tuning.store import MEMORY, TuningStore, default_store
from spaces.tuning.strategies import DEFAULT, UnknownTuningStrategyError
from spaces.tuning.study import BusyStudyError, Study
from spaces.tuning.tune import tune as tune_pipeline

StoreFile = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="FILE",
        help="The file that keeps all results.",
        show_default="tuning.sqlite in your data folder",
    ),
]
Seconds = Annotated[float, typer.Option("--seconds", min=0, help="Stop after this time.")]
Trials = Annotated[
    int | None, typer.Option("--trials", min=1, max=MOST, help="Stop when so many have a result.")
]
Starts = Annotated[
    list[str] | None,
    typer.Option(
        "--schedule",
        help="A schedule to measure first: a .sched file, or the name of a schedule of the app. "
        "May be given several times.",
        show_default="the app's for this kind of device; that of a pipeline of Halide",
    ),
]

CostName = Annotated[
    str,
    typer.Option(
        "--cost",
        help="The cost model that chooses what is measured.",
        autocompletion=model_names,
        show_default="reuse on a CPU, occupancy on a GPU",
    ),
]
StrategyName = Annotated[
    str,
    typer.Option(
        "--strategy", help="What proposes schedules.", autocompletion=tuning_strategy_names
    ),
]
Scheduler = Annotated[
    str,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A Dask scheduler, such as tcp://host:8786: its workers measure.",
        show_default="this machine measures",
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=NUMBER",
        help="The value of a scalar parameter. May be given several times.",
        show_default="its default",
    ),
]

SHOWN = 5
"""How many of the fastest schedules the summary lists."""


@command(
    "tune",
    "Measure schedules, keep every result, and find the fastest.",
    "tune unsharp --minutes 2",
    "tune blur --minutes 30 --store blur.sqlite --seed 1",
    "tune harris --trials 20 --options small --strategy top",
    "tune blur --cold --cores 0-3",
    "tune theirs.hlpipe:strength=0.5 --minutes 10",
    "tune theirs.hlpipe:out=640x480 --keep own",
)
def tune(
    app: AppName,
    seconds: Seconds = 600.0,
    store: StoreFile = "",
    trials: Trials = None,
    device: DeviceName = "cpu",
    options: OptionsName = Preset.EXPERT,
    inexact: Inexact = False,
    where: Where = None,
    keep: Keep = "",
    cost: CostName = "",
    strategy: StrategyName = DEFAULT,
    schedule: Starts = None,
    params: Params = None,
    seed: Seed = 0,
    scheduler: Scheduler = "",
    threads: Threads = None,
    floats: Floats = FloatMode.STRICT,
    cold: Cold = False,
    inputs: Inputs = "",
    cores: Cores = "",
    free_cores: FreeCores = 0,
    as_json: AsJson = False,
) -> None:
    """Measure schedules until the time is over, and keep every result in a file. The same command
    goes on where it stopped, also after Ctrl-C or a crash.
    """
    found = find(app)
    space = space_of(found, device, options, inexact, kept_of(found, keep), where)
    if isinstance(space.device, GpuDevice) and (threads or floats is not FloatMode.STRICT):
        raise WrongUsage("--threads and --floats are for the CPU; --device names a GPU.")
    conditions = conditions_of(cold, inputs, cores, free_cores)
    if isinstance(space.device, GpuDevice) and (conditions.cold or conditions.core_count):
        raise WrongUsage("--cold, --cores and --free-cores are for the CPU; --device names a GPU.")
    values = _values(found, space.pipeline, params or ())
    starts = _starts(found, space, schedule)
    with opened_store(store) as opened:
        with twice_ends_at_once(), TuningView(seconds) as view:
            try:
                study = tune_pipeline(
                    space.pipeline,
                    space.device,
                    store=opened,
                    seconds=seconds,
                    trials=trials,
                    options=space.options,
                    fixed=space.fixed,
                    where=space.where,
                    model=cost,
                    strategy=strategy,
                    start=starts,
                    seed=seed,
                    inputs=_inputs(found, space.pipeline, conditions),
                    params=values,
                    scheduler=scheduler,
                    threads=threads,
                    float_mode=floats,
                    conditions=conditions,
                    callbacks=[view.show],
                    phase=view.tell_phase,
                    begin=view.begin,
                )
            except (UnknownModelError, UnknownTuningStrategyError, PluginError) as error:
                raise WrongUsage(str(error)) from None
            except (
                BusyStudyError,
                DaskUnavailable,
                EmptySpaceError,
                MeasuringError,
                StoreError,
            ) as error:
                raise CommandError(str(error)) from None
        if as_json:
            line(json.dumps(_report(app, study), indent=2))
        else:
            _summary(app, study, store)
            if found.halide() is not None:
                _next_steps(app, study, store)
        if study.was_interrupted:
            raise Interrupted


def opened_store(file: str) -> TuningStore:
    """The store in a file, or the one of the user.

    Raises:
        WrongUsage: the file is no store.
    """
    try:
        return TuningStore.open(file or default_store())
    except (StoreError, OSError) as error:
        raise WrongUsage(str(error)) from None


@contextmanager
def read_store(file: str) -> Iterator[TuningStore]:
    """The store in a file, or the one of the user, to look at what it has; nothing is made.

    Raises:
        WrongUsage: the file that the user names does not exist, or is no store.
        CommandError: the file is damaged.
    """
    if file and file != MEMORY and not is_there(Path(file).expanduser()):
        raise WrongUsage(f"There is no store {file}; spaces tune --store {file} makes one.")
    try:
        store = TuningStore.read(file or default_store())
    except (StoreError, OSError) as error:
        raise WrongUsage(str(error)) from None
    with store:
        try:
            yield store
        except StoreError as error:
            raise CommandError(str(error)) from None


def _values(app: App, pipeline: Pipeline, assignments: Iterable[str]) -> dict[str, int | float]:
    """The values of the parameters to measure with.

    Raises:
        WrongUsage: one has neither a value nor a default; or an image of a pipeline of Halide has
            no usual size.
    """
    program = app.halide()
    if program is not None:
        check_sizes(program, [image.name for image in pipeline.images], "Measuring")
    values = parse_params(assignments)
    for scalar in pipeline.scalars:
        if scalar.default is None and scalar.name not in values:
            example = f"--set {scalar.name}=1"
            if program is not None:
                example = with_estimates(app.name, {scalar.name: "1"})
            raise WrongUsage(
                f"Parameter {scalar.name} ({scalar.type}) has no default; say with which value to "
                f"measure, as in {example}."
            )
    return values


def _starts(app: App, space: ScheduleSpace, names: list[str] | None) -> list[Schedule]:
    """The schedules to measure first."""
    if names:
        return [given_schedule(app, space.pipeline, name).faultless() for name in names]
    own = GPU if isinstance(space.device, GpuDevice) else CPU
    if own in app.schedules:
        return [given_schedule(app, space.pipeline, own).faultless()]
    program = app.halide()
    if program is None or not program.scheduled:
        return []
    verdict = verify(space.pipeline, program.schedule, space.device)
    if not isinstance(verdict, CheckedSchedule):
        complain(
            f"The schedule that {space.pipeline.name} has in Halide is not measured: it is illegal "
            f"for {space.device.name}.\n{verdict}"
        )
        return []
    return [program.schedule]


def _inputs(app: App, pipeline: Pipeline, conditions: RunConditions) -> dict[str, Array] | None:
    """The inputs of an app at the estimated sizes, and the arrays inside a pipeline of Halide; None
    for random ones alone.
    """
    program = app.halide()
    if program is not None and program.arrays:
        arrays = dict(program.arrays)
        return arrays if conditions.draws_inputs else {**random_inputs(pipeline), **arrays}
    if app.name not in APPS or conditions.draws_inputs:
        return None
    return app.inputs(pipeline, photograph(*app.paper_size))


def _next_steps(app: str, study: Study, store: str) -> None:
    """What the owner of a pipeline of Halide can do with the result."""
    fastest_one = study.best
    if fastest_one is None:
        return
    for trial in study.of_source(START):
        if trial != fastest_one and trial.result is not None:
            line(
                f"Trial {trial.number}, the schedule that it has in Halide, takes "
                f"{trial.ratio / fastest_one.ratio:.2f} times as long as trial "
                f"{fastest_one.number}."
            )
    name, in_store = app.partition(":")[0], f" --store {store}" if store else ""
    line("Next:")
    line(f"  spaces best {app}{in_store} -o best.sched")
    line(f"  spaces explain {app} {OWN} best.sched")
    line(f"  spaces best {app}{in_store} --format header -o {Path(name).stem}_schedule.h")


def _summary(app: str, study: Study, store: str) -> None:
    """The fastest schedules, where everything is, and what to do next."""
    fastest = study.trial_log.ranked[:SHOWN]
    rows = [(trial.number, trial.proposal.source, shown_ratio(trial)) for trial in fastest]
    if rows:
        table(("trial", "source", "time"), rows)
    if len(rows) > 1:
        line("The fastest first: by the upper end of the interval (95 %) of time / reference.")
    if any(one.result is not None and one.result.is_disturbed for one in fastest):
        line("Disturbed: other programs were running, so these times are less exact.")
    best = study.best
    if best is not None:
        line(f"Trial {best.number}, the fastest one:")
        line(format_schedule(best.schedule, study.space.pipeline))
    line(f"{amount(study.told, 'trial')}: {outcomes(study)}.")
    line(f"Everything is in {study.store.path}, study {study.id}.")
    if best is None:
        line("No schedule has a time yet. The same command goes on; give it more time.")
    else:
        shown_by = f"spaces best {app}{_where_best(study, store)}"
        line(f"The same command goes on; {shown_by} shows the fastest schedule.")


def _where_best(study: Study, store: str) -> str:
    """The options with which ``spaces best`` finds the schedules of a study."""
    space = study.space
    parts = [
        f" --device {space.device.name}" if isinstance(space.device, GpuDevice) else "",
        "" if space.options.exact else " --inexact",
        f" --store {store}" if store else "",
    ]
    return "".join(parts)


def _report(app: str, study: Study) -> dict[str, Any]:
    best = study.best
    found: dict[str, Any] | None = None
    if best is not None and best.result is not None:
        found = {
            "trial": best.number,
            "source": best.proposal.source,
            "ratio": best.result.ratio,
            "interval": list(best.result.interval),
            "ms": best.result.median_seconds * 1e3,
            "schedule": format_schedule(best.schedule, study.space.pipeline),
        }
    return {
        "app": app,
        "store": study.store.path,
        "study": study.id,
        "trials": study.told,
        "correct": study.outcomes.get(RunOutcome.CORRECT, 0),
        "interrupted": study.was_interrupted,
        "best": found,
    }
