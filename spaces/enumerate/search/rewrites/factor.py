"""Factors reductions to fewer elements than a GPU has threads.

A thread adds up all terms of an element. The partial results of a factored reduction are as many
elements as one RVar has values, and their threads run at once; few updates combine them.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.devices.device import GpuDevice
from spaces.enumerate.search.rewrites.derive import Derive
from spaces.enumerate.search.rewrites.for_device import for_gpus
from spaces.enumerate.search.rewrites.rewrite import FoundSchedule
from spaces.enumerate.space.patterns.stage_shapes import stage_shapes
from spaces.enumerate.space.process.topics.deriving import derivations
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.derivations import RFactor
from spaces.model.schedules.derive import derivation
from spaces.model.schedules.domain_order import made_from
from spaces.model.schedules.schedule import Schedule


@for_gpus  # a CPU has few threads
def find_factors(found: FoundSchedule, gpu: GpuDevice) -> Iterator[Derive]:
    """The ways to factor an update into partial results along a long RVar; only updates without a
    long free dimension, which the space may factor. The last Funcs come first. It takes the
    innermost RVar of an update, so that neighboring threads read neighbors.
    """
    given = found.space
    if "rfactor" not in given.options.directives:
        return
    space = given.of_patterns.with_directive("rfactor")
    state = space.start().state
    shapes = stage_shapes(space.pipeline, space.device, space.options)
    for step in derivations(state, "rfactor"):
        if isinstance(step, RFactor):
            shape = shapes[step.func][step.update + 1]
            parts = made_from(shape.long_terms, step.splits)
            is_wanted = not shape.long and all(name in parts for name, _ in step.preserved)
            if is_wanted and _applies(space, step):
                yield Derive("rfactor", (step,))


def _applies(space: ScheduleSpace, step: RFactor) -> bool:
    """Whether a factored update keeps the order of the values: the first of equally good ones is
    the first only along the outermost RVars.
    """
    steps = (*space.pipeline.derivations, step)
    return not derivation(space.pipeline, Schedule((), steps)).refusals


REWRITES = (find_factors,)
