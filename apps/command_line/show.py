"""``spaces show``: the Funcs of an app and their readers, and the loop nest of a schedule."""

from __future__ import annotations

import json

from spaces.apps.catalog import find
from spaces.apps.command_line.console import heading, line, table, tree
from spaces.apps.command_line.options import DEFAULT, AppName, ScheduleFile, given_schedule
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.errors import CommandError
from spaces.constraints.legality.judge import ask_matching, judge
from spaces.constraints.rules.inlining import inline_size
from spaces.markup.card import Tree
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.nest_card import nest_tree
from spaces.model.nest.nest_text import format_nests
from spaces.model.nest.splits import OrderError
from spaces.model.nest.tree import format_tree, schedule_tree, tree_rows
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule


@command(
    "show",
    "Show an app, and the tree and loop nest of a schedule.",
    "show blur",
    "show blur --schedule cpu",
    "show my_pipelines.py:sobel",
)
def show(app: AppName, schedule: ScheduleFile = DEFAULT, as_json: AsJson = False) -> None:
    """Show an app: its Funcs and the Funcs that each reads, and the tree and loop nest of a
    schedule.
    """
    found = find(app)
    pipeline = found.pipeline()
    chosen = given_schedule(found, pipeline, schedule).faultless()
    if as_json:
        _check_size(pipeline, chosen)
        report = {
            "pipeline": pipeline.name,
            "functions": [
                {"name": f.name, "types": list(map(str, f.types)), "dimensions": list(f.args),
                 "stages": len(f.stages), "reads": list(f.callees)}
                for f in pipeline.functions
            ],
            "outputs": list(pipeline.outputs),
            "schedule": format_schedule(chosen, pipeline),
            "tree": format_tree(schedule_tree(pipeline, chosen)).splitlines(),
            "nest": _nest(pipeline, chosen).splitlines(),
        }  # fmt: skip
        line(json.dumps(report, indent=2))
        return
    heading(f"Pipeline {pipeline.name}")
    table(("Func", "type", "dimensions", "stages", "reads", ""), _functions(pipeline))
    heading(f"\nSchedule {schedule}")
    line(format_schedule(chosen, pipeline) or "(no directives: the default schedule)")
    _check_size(pipeline, chosen)
    heading("\nSchedule tree")
    made = schedule_tree(pipeline, chosen)
    tree(Tree(tuple(tree_rows(made))), format_tree(made))
    heading("\nLoop nest")
    nest = _nest(pipeline, chosen)
    tree(nest_tree(nest), nest)


def _check_size(pipeline: Pipeline, schedule: Schedule) -> None:
    """Ends the command if inlining makes expressions that are too large to print."""
    for violation in judge(ask_matching(pipeline, schedule), {}).violations:
        if violation.rule == inline_size.id:
            raise CommandError(f"The tree and the loop nest are too large to print: {violation}")


def _nest(pipeline: Pipeline, schedule: Schedule) -> str:
    try:
        return format_nests(pipeline, schedule)
    except (LevelError, OrderError, UnboundedError, KeyError) as error:
        raise CommandError(
            f"The schedule has no loop nest; `spaces verify` explains why: {error.args[0]}"
        ) from None


def _functions(pipeline: Pipeline) -> list[tuple[object, ...]]:
    """One row for each image and Func, producers first."""
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
