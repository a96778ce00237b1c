"""The reasonable starting points of [RK13] section 5."""

from __future__ import annotations

import random

from spaces.enumerate.search.neighbours.genetic.templates import parallelize_rows, tile_fully
from spaces.enumerate.space.process.state import ProcessState
from spaces.features.accesses import Course
from spaces.features.work import stage_work
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import ROOT, FuncSchedule, Schedule


def draw_reasonable(state: ProcessState, chosen: random.Random) -> Schedule:
    """A reasonable schedule: Funcs with a footprint of one are inlined, and all others are at root,
    either fully parallelized and tiled, or parallel over y. A coin decides for each Func; its
    weight is random for each schedule.

    Args:
        state: the first one of a space.
        chosen: makes the random choices.
    """
    weight = chosen.random()

    def entry(name: str) -> FuncSchedule:
        if has_footprint_one(state.pipeline, name):
            return FuncSchedule.default(state.function(name), stored=False)
        way = tile_fully if chosen.random() < weight else parallelize_rows
        found = way(state, name, chosen)
        return found or order_breadth_first(state, name)

    names = (function.name for function in state.pipeline.functions)
    return Schedule(tuple(map(entry, names)), state.pipeline.derivations)


def order_breadth_first(state: ProcessState, name: str) -> FuncSchedule:
    """The Func at root, in row-major loops."""
    plain = FuncSchedule.default(state.function(name), stored=True)
    return FuncSchedule(name, plain.stages, ROOT, ROOT)


def has_footprint_one(pipeline: Pipeline, name: str) -> bool:
    """Whether a Func may be inlined, and each evaluation of a stage that reads it needs one value
    of it, at coordinates that the loops determine.
    """
    if name in pipeline.outputs or not pipeline.may_inline(name):
        return False
    for reader in pipeline.consumers(name):
        for stage in pipeline.function(reader).stages:
            terms = {rvar.name for rvar in stage.rvars}
            work = stage_work(stage)
            if work.reads(name) > 1:
                return False
            for access in work.accesses:
                if access.buffer == name and (
                    access.moved_by & terms
                    or any(index.course > Course.ROUNDED for index in access.indices)
                ):
                    return False
    return True
