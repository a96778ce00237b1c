"""Atomic updates, and the elements for which threads wait.

An ``atomic`` update whose iterations run at once takes its element from the thread that changed it
last. The fewer elements there are, the more threads want the same one.
"""

from __future__ import annotations

from collections.abc import Collection

from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.features.features import Features
from spaces.features.records import LoopFeatures, StageFeatures, volume
from spaces.model.expressions.expr import Variable
from spaces.model.formulas.symbolic import SymbolicNumber, minimum
from spaces.model.schedules.domain_order import LoopKind


def contended_loops(
    features: Features, stage: StageFeatures, kinds: Collection[LoopKind]
) -> tuple[LoopFeatures, ...]:
    """The innermost loops of an atomic stage, from the outermost one on whose iterations run at
    once, by one of these kinds, and may change the same element. Empty without such a loop.
    """
    if (stage.func, stage.index) not in features.atomic:
        return ()
    racing = racing_dimensions(features.pipeline.function(stage.func), stage.index)
    for number, loop in enumerate(stage.own):
        if loop.kind in kinds and not racing.isdisjoint(loop.dimensions):
            return stage.own[number:]
    return ()


def shared_elements(
    features: Features, stage: StageFeatures, loops: tuple[LoopFeatures, ...]
) -> SymbolicNumber:
    """How many elements the iterations of some innermost loops of a stage may change. Along a Var,
    these are the values that the loops cover. Along a coordinate that depends on other values, they
    are all elements.
    """
    func = features.func(stage.func)
    coordinates = features.pipeline.function(stage.func).stages[stage.index].args
    elements: SymbolicNumber = 1
    for coordinate, whole in zip(coordinates, func.whole, strict=True):
        if isinstance(coordinate, Variable) and coordinate.name in func.args:
            along = tuple(v.positive_trips for v in loops if coordinate.name in v.dimensions)
            elements = elements * minimum(volume(along), whole)
        elif coordinate.names or coordinate.loads:
            elements = elements * whole
    return elements
