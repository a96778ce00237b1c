"""Advice on Funcs with updates that a schedule does not mention: the same text means something else
in Halide.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import listed, stage_name
from spaces.constraints.rules.rule import Check, advice_rule, refuse
from spaces.model.schedules.schedule import FuncSchedule


@advice_rule(
    "advice.unnamed-updates",
    "A Func with updates and no directive is computed at root when other Funcs have directives, "
    "which is easy to overlook because Halide computes it in the innermost loop of its consumer.",
    "Halide computes a Func with updates and without a compute level around each store that reads "
    "it.",
)
def unnamed_updates(view: NestView, func: str) -> Iterator[Check]:
    """At most one check, for a Func without directives, or with ``compute_root()`` alone."""
    pipeline, levels = view.nest.pipeline, view.nest.levels
    function = view.records.function(func)
    if function.is_pure or func in pipeline.outputs or not _is_silent_on(view, func):
        return
    if not any(not _is_silent_on(view, other.name) for other in pipeline.functions):
        return
    stages = [(reader, stage) for reader, stage in levels.uses(func) if reader != func]
    loops = [levels.stage_path(reader, stage)[-1:] for reader, stage in stages]
    places = [f"compute_at({p.func}, {p.loop})" for path in loops for p in path]
    if len(stages) == 1 and places:
        advice = "Write {func}.{place} to do that here and in Halide."
    elif places:
        advice = (
            "To do that, give each reader a copy with clone_in, computed at its innermost loop."
        )
    else:
        return  # its consumer has no loops
    yield refuse(
        func,
        "{func} is computed at root, the default of a Func with updates; without a level, Halide "
        "computes it in the innermost loop of {readers}.",
        advice,
        readers=listed(stage_name(*stage) for stage in stages),
        place=places[0],
    )


def _is_silent_on(view: NestView, name: str) -> bool:
    """Whether the entry of a Func equals the entry of a Func without directives."""
    function = view.records.function(name)
    stored = name in view.nest.pipeline.outputs or not function.is_pure
    return view.records.entry(name) == FuncSchedule.default(function, stored)
