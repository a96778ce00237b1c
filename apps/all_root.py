"""A schedule without choices, to compare others with: all Funcs at root, in serial loops."""

from __future__ import annotations

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.directives import schedule as directives
from spaces.model.schedules.schedule import Schedule


def all_root(pipeline: Pipeline) -> Schedule:
    """Computes every Func whole, in row-major serial loops, before the next Func."""
    chosen = directives(pipeline)
    for function in pipeline.functions:
        chosen = chosen.func(function.name).compute_root()
    return chosen.schedule
