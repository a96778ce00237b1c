"""``spaces search``: the cheapest schedules of an app for a device."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import attrs
import typer

from spaces.apps.catalog import find
from spaces.apps.command_line.collected import Collected
from spaces.apps.command_line.completion import strategy_names
from spaces.apps.command_line.console import line, table
from spaces.apps.command_line.cost_models import Cost, given_model, json_cost
from spaces.apps.command_line.hand_schedules import hand_schedules
from spaces.apps.command_line.options import MOST, AppName, Seed
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.progress import Reporter
from spaces.apps.command_line.space import (
    SpaceArguments,
)
from spaces.apps.errors import CommandError, Interrupted, WrongUsage
from spaces.apps.files import check_writable, write_text
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.constraints.devices.device import GpuDevice
from spaces.cost.batch import Batch, BatchError
from spaces.cost.model import CostModel, UncertainModel
from spaces.cost.price import read_parts
from spaces.cost.registry import default_model
from spaces.enumerate.search.done_sentences import ending_sentence, proof_sentence
from spaces.enumerate.search.events import Done, Event, Expanded, Found, Improved, Scored
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.neighbours.optuna_search import OptunaUnavailableError
from spaces.enumerate.search.registry import DEFAULT, UnknownStrategyError
from spaces.enumerate.search.search import search as search_space
from spaces.enumerate.space.completing.emptiness import explain_empty
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.registry import PluginError
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule
from spaces.pages.search_report import search_report
from spaces.tuning.compiler_ranking import CompiledSchedule, rank_by_compiler

StrategyName = Annotated[
    str,
    typer.Option(
        "--strategy", help="A search strategy.", autocompletion=strategy_names, show_default=DEFAULT
    ),
]
Top = Annotated[int, typer.Option("--top", min=1, max=MOST, help="Find this many schedules.")]
Apart = Annotated[
    int,
    typer.Option(
        "--apart",
        min=1,
        max=MOST,
        help="Any two of them differ in this many decisions, split factors aside.",
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        "--seconds",
        min=0,
        help="Stop after this time with the best so far. The default strategy improves its result "
        "until then, or until no change that it tries is cheaper; without this option it ends "
        "after a quick search.",
    ),
]


Page = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Also write a page about what was found to this file, with the schedules of the app "
        "beside.",
        show_default="none",
    ),
]
Compiler = Annotated[
    bool,
    typer.Option(
        "--compiler",
        help="For a GPU: NVIDIA's compiler counts the registers and spills of what is found, and "
        "ranks it again; schedules that spill come last (the extra cuda-check).",
    ),
]


@command(
    "search",
    "Search for the cheapest schedules.",
    "search harris --top 3 --seconds 10",
    "search blur --device sm_80 --cost occupancy --strategy beam",
    "search toy_sum --cost my_model.py:price --strategy exhaustive",
    "search sgemm --options everything --seconds 30",
    "search unsharp --top 5 -o search.html",
    "search theirs.hlpipe:out=640x480 --keep own",
)
def search(
    app: AppName,
    asked: SpaceArguments,
    cost: Cost = "",
    strategy: StrategyName = "",
    seed: Seed = 0,
    top: Top = 5,
    apart: Apart = 1,
    seconds: Seconds = None,
    compiler: Compiler = False,
    output: Page = None,
    as_json: AsJson = False,
) -> None:
    """Search for the cheapest schedules."""
    if output is not None:
        check_writable(output)
    searched = find(app)
    space = asked.make_space(searched)
    if compiler and not isinstance(space.device, GpuDevice):
        raise WrongUsage(f"--compiler is for GPUs, and {space.device.name} is a CPU.")
    strategy = strategy or DEFAULT
    cost = cost or default_model(space.device)
    limits = Limits(top=top, apart=apart, seconds=seconds, seed=seed)
    chosen = given_model(cost, space.device)
    try:
        events = Collected(search_space(space, chosen, strategy, limits))
        done = follow(events, seconds)
    except (UnknownStrategyError, PluginError) as error:
        raise WrongUsage(str(error)) from None
    except (BatchError, OptunaUnavailableError) as error:
        raise CommandError(str(error)) from None
    except EmptySpaceError as error:
        why = "" if seconds is not None else f"\n{explain_empty(space)}"
        raise CommandError(f"{error}{why}") from None
    except ValueError as error:
        if not space.has_patterns:
            raise WrongUsage(f"Strategy {strategy}: {error}") from None
        raise
    compiled = _compiled(space, done, chosen) if compiler else ()
    if compiled:
        # What is proven, is proven of costs with estimated registers.
        best = tuple(one.found for one in compiled)
        done = attrs.evolve(done, best=best, certificate=None)
    chances = _chances(space.pipeline, done.best, chosen)
    page = None
    if output is not None:
        by_hand = hand_schedules(searched, space.pipeline, space.device)
        page = search_report(done, space, chosen, by_hand, model_name=cost)
        write_text(output, page.html)
    if as_json:
        counted = [_json_kernels(one) for one in compiled] or [{}] * len(done.best)
        found = [
            {
                "cost": json_cost(f.cost),
                "faster_than_first": chance,
                "schedule": _text(f.schedule, space.pipeline),
                **more,
            }
            for f, chance, more in zip(
                done.best, chances or [None] * len(done.best), counted, strict=True
            )
        ]
        report = {
            "app": app, "device": asked.device, "cost": cost, "strategy": strategy, "seed": seed,
            "structures": done.structures, "choices": done.choices, "complete": done.complete,
            "ending": done.ending,
            # Only a search that a limit cuts depends on the clock.
            "cut_after_seconds": None if done.complete else round(done.seconds, 3),
            "interrupted": events.interrupted,
            "certificate": done.certificate and attrs.asdict(done.certificate),
            "schedules": found,
        }  # fmt: skip
        if page is not None:
            report |= {"page": str(output), "bytes": len(page.html.encode())}
        line(json.dumps(report, indent=2))
    else:
        show_found(done, space.pipeline, chances)
        if compiled:
            show_compiled(compiled)
        if page is not None:
            line(f"Wrote {output} ({len(page.html.encode()) / 1000:.0f} KB).")
    events.stop()


def _compiled(space: ScheduleSpace, done: Done, model: CostModel) -> tuple[CompiledSchedule, ...]:
    """What the compiler makes of the result of a search, and in which order it puts it."""
    try:
        return rank_by_compiler(space, done.best, model)
    except CudaUnavailable as error:
        raise CommandError(f"--compiler: {error}.") from None


def _chances(pipeline: Pipeline, found: Sequence[Found], model: CostModel) -> list[float | None]:
    """The chance of each schedule to be faster than the first, None for the first itself; nothing
    if the model says none, or if there is one schedule.
    """
    is_known = len(found) > 1 and all(0 < one.cost < math.inf for one in found)
    if not (is_known and isinstance(model, UncertainModel)):
        return []
    prices = [read_parts(model, Batch.of(pipeline, one.schedule).features) for one in found]
    return [None, *(model.errors.chance_of_second(prices[0], other) for other in prices[1:])]


def _json_kernels(compiled: CompiledSchedule) -> dict[str, object]:
    kernels = compiled.kernels
    return {"kernels": kernels and {name: attrs.asdict(one) for name, one in kernels.items()}}


def follow(events: Iterable[Event], seconds: float | None = None) -> Done:
    """Watches a search with this time limit and shows its progress. Returns its last event; after
    Ctrl-C, the best schedule until then.

    Raises:
        Interrupted: Ctrl-C came before the first schedule.
    """
    scored, step = Scored(0, 0), Expanded(0, 0, "searching")
    found: Found | None = None
    with Reporter(seconds) as reporter:
        for event in events:
            match event:
                case Expanded():
                    step = event
                case Improved(best=found):
                    pass
                case Scored():
                    scored = event
                case Done():
                    return event
            funnel = {
                "structures considered": scored.considered,
                "legal": scored.legal,
                "scored": scored.structures,
            }
            if scored.pruned:
                funnel["pruned"] = scored.pruned
            best = "" if found is None else f"best {_cost(found)}"
            reporter.show(step.what, funnel, step=(step.step, step.steps), best=best)
        elapsed = reporter.elapsed
    if not (isinstance(events, Collected) and events.interrupted):
        raise CommandError("The search ended without a result; a strategy ends with Done.")
    if found is None:
        raise Interrupted
    return Done((found,), scored.structures, scored.choices, complete=False, seconds=elapsed)


def _cost(found: Found) -> str:
    return f"{found.cost:.4g}" if math.isfinite(found.cost) else "not priced in time"


def show_found(done: Done, pipeline: Pipeline, chances: Sequence[float | None] = ()) -> None:
    """Prints the result of a search, best first, and the chances to be faster than the first."""
    line(
        f"{amount(done.structures, 'structure')}, "
        f"{amount(done.choices, 'choice of tile sizes', 'choices of tile sizes')} scored"
    )
    line(ending_sentence(done))
    proven = proof_sentence(done)
    if proven:
        line(proven)
    show_ranking(done, pipeline, chances)


def show_ranking(done: Done, pipeline: Pipeline, chances: Sequence[float | None] = ()) -> None:
    """Prints the schedules that a search found, as a table, best first."""
    shown = ["-" if chance is None else f"{chance:.0%}" for chance in chances]
    told = [shown] if shown else []
    columns: list[Sequence[object]] = [
        range(1, len(done.best) + 1),
        [one.cost if math.isfinite(one.cost) else _cost(one) for one in done.best],
        *told,
        [_text(one.schedule, pipeline) for one in done.best],
    ]
    headers = ("rank", "cost", *("faster than 1" for _ in told), "schedule")
    table(headers, list(zip(*columns, strict=True)))


def show_compiled(compiled: Sequence[CompiledSchedule]) -> None:
    """Prints what the compiler counts for each schedule of a ranking, as a table."""
    rows: list[tuple[object, ...]] = []
    for rank, one in enumerate(compiled, start=1):
        if one.kernels is None:
            rows.append((rank, "not compiled", "", ""))
        for name, kernel in (one.kernels or {}).items():
            rows.append((rank, name, kernel.registers, kernel.spill_store_bytes))
    table(("rank", "kernel", "registers", "spilled bytes"), rows)


def _text(schedule: Schedule, pipeline: Pipeline) -> str:
    return format_schedule(schedule, pipeline)
