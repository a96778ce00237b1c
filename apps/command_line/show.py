"""``spaces list`` and ``spaces show``: what there is, and what a schedule means."""

from __future__ import annotations

from apps.catalog import APPS, find
from apps.command_line.console import heading, line, table
from apps.command_line.options import DEFAULT, AppName, ScheduleFile, given_schedule
from apps.command_line.program import command
from apps.errors import Stop
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.loopnest import loop_nest
from spaces.model.nest.nest_text import format_nest
from spaces.model.nest.tree import format_tree, schedule_tree
from spaces.model.schedules.levels import LevelError
from spaces.model.writing.text import format_schedule


@command("list")
def list_apps() -> None:
    """List the apps that come with the library."""
    rows = []
    for app in APPS.values():
        pipeline = app.pipeline()
        size = " x ".join(str(e) for _, e in pipeline.estimate(pipeline.outputs[0]) or ())
        schedules = ", ".join(app.schedules)
        sized = f"{size} {app.sized_by}".strip()
        rows.append((app.name, app.paper, len(pipeline.functions), sized, schedules, app.summary))
    table(("app", "paper", "Funcs", "size", "schedules", "what it computes"), rows)


@command("show")
def show(app: AppName, schedule: ScheduleFile = DEFAULT) -> None:
    """Show an app: who reads whom, and the tree and loop nest of a schedule."""
    found = find(app)
    pipeline = found.pipeline()
    chosen = given_schedule(found, pipeline, schedule).faultless()
    heading(f"Pipeline {pipeline.name}")
    table(("Func", "type", "dimensions", "stages", "reads", ""), _functions(pipeline))
    heading(f"\nSchedule {schedule}")
    line(format_schedule(chosen, pipeline) or "(nothing written: the default)")
    heading("\nSchedule tree")
    line(format_tree(schedule_tree(pipeline, chosen)))
    heading("\nLoop nest")
    try:
        line(format_nest(loop_nest(pipeline, chosen)))
    except (LevelError, UnboundedError, KeyError) as error:
        raise Stop(f"There is none, as `spaces verify` explains: {error.args[0]}") from None


def _functions(pipeline: Pipeline) -> list[tuple[object, ...]]:
    """One row an image and Func, producers first."""
    images = [(i.name, i.type, i.dimensions, 0, "", "input") for i in pipeline.images]
    funcs = [
        (
            f.name,
            ", ".join(map(str, f.types)),
            ", ".join(f.args),
            len(f.stages),
            ", ".join(f.callees),
            "output" if f.name in pipeline.outputs else "",
        )
        for f in pipeline.functions
    ]
    return [*images, *funcs]
