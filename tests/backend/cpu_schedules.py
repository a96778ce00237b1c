"""Hypothesis strategies for CPU schedules: every kind of loop wherever it is legal."""

from __future__ import annotations

from hypothesis import strategies as st

from spaces import DomainOrder, LoopKind, OrderedLoop, Pipeline, Schedule, loop_nest
from spaces.model.expressions.expr import Const
from spaces.model.schedules.levels import Levels, LoopOf
from tests.drawn_pipelines import schedules


@st.composite
def cpu_schedules(draw: st.DrawFn, algorithm: Pipeline) -> Schedule:
    """A schedule that draws each loop's kind from the kinds it may have."""
    schedule = draw(schedules(algorithm, kinds=False))
    nest = loop_nest(algorithm, schedule)
    levels = Levels(algorithm, schedule)
    kept = _kept_across(levels)
    for name, placement in nest.placements.items():
        reduced = [{r.name for r in stage.rvars} for stage in placement.function.stages]
        for index, traversal in enumerate(placement.stages):
            loops = []
            for loop in traversal.loops:
                kinds = [LoopKind.SERIAL]
                named = LoopOf(name, index, loop.loop)
                if isinstance(loop.extent, Const) and 1 <= loop.extent.value <= 16:
                    kinds += [LoopKind.UNROLLED]
                independent = named not in kept and loop.loop not in reduced[index]
                if independent and index == 0:
                    kinds += [LoopKind.PARALLEL]
                    if len(kinds) == 3:
                        kinds += [LoopKind.VECTORIZED] * 2
                loops.append(OrderedLoop(loop.loop, draw(st.sampled_from(kinds))))
            order = DomainOrder(schedule.of(name).stages[index].splits, tuple(loops))
            schedule = schedule.with_stage(name, index, order)
    return schedule


def _kept_across(levels: Levels) -> set[LoopOf]:
    """Loops with a Func that is stored outside and computed inside: their order matters."""
    kept: set[LoopOf] = set()
    for function in levels.functions:
        path = levels.compute_path(function.name)
        kept |= set(path[len(levels.store_path(function.name)) :])
    return kept
