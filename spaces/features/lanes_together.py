"""Features in which the lanes of a vector go through memory together.

The loops inside a vectorized loop run once for all its lanes: at each of their iterations, the
lanes read and write side by side. So a vectorized loop moves through memory as if it was the
innermost one, wherever a schedule has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import evolve

from spaces.features.features import Features
from spaces.features.records import FuncFeatures, LoopFeatures, LoopKey, StageFeatures
from spaces.model.schedules.domain_order import LoopKind


def join_lanes(features: Features) -> Features:
    """The same features with each vectorized loop of a stage inside its other loops. One that
    several stages share stays where it is: the others are computed for each lane.
    """
    if not any(_vectors_outside(stage.own) for stage in features.stages):
        return features
    stages = Counter(loop.key for stage in features.stages for loop in stage.loops)
    funcs = tuple(_of_func(func, stages) for func in features.funcs)
    return evolve(features, funcs=funcs)


def _of_func(func: FuncFeatures, stages: Counter[LoopKey]) -> FuncFeatures:
    found = tuple(_of_stage(stage, stages) for stage in func.stages)
    is_same = all(new is old for new, old in zip(found, func.stages, strict=True))
    return func if is_same else evolve(func, stages=found)


def _of_stage(stage: StageFeatures, stages: Counter[LoopKey]) -> StageFeatures:
    own = stage.own
    if not _vectors_outside(own) or any(
        stages[loop.key] > 1 for loop in own[_first_vectorized(own) :]
    ):
        return stage
    return evolve(stage, loops=(*stage.loops[: stage.depth], *_inwards(own)))


def _vectors_outside(own: Sequence[LoopFeatures]) -> bool:
    """Whether a loop that is not vectorized stands in a vectorized one."""
    return any(loop.kind is not LoopKind.VECTORIZED for loop in own[_first_vectorized(own) :])


def _first_vectorized(own: Sequence[LoopFeatures]) -> int:
    """The place of the outermost vectorized loop; the number of loops if none is vectorized."""
    kinds = [loop.kind for loop in own]
    return kinds.index(LoopKind.VECTORIZED) if LoopKind.VECTORIZED in kinds else len(kinds)


def _inwards(own: Sequence[LoopFeatures]) -> list[LoopFeatures]:
    """The loops with the vectorized ones innermost, each with the runs that it has there."""
    others: list[LoopFeatures] = []
    vectors: list[LoopFeatures] = []
    for loop in own:
        if loop.kind is LoopKind.VECTORIZED:
            vectors.append(loop)
            continue
        runs = loop.runs
        for vector in vectors:
            runs = runs / vector.positive_trips
        others.append(evolve(loop, runs=runs))
    runs = others[-1].runs
    inner = []
    for vector in vectors:
        runs = runs * vector.positive_trips
        inner.append(evolve(vector, runs=runs))
    return [*others, *inner]
