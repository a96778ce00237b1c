"""Features in which each fused loop is the nest of the loops that ``fuse`` joined.

A fused loop moves through memory as this nest does: its inner Var goes through all its values
before the outer one moves. So a cache may hold what one turn of the inner Var touches, or may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from attrs import evolve

from spaces.features.features import Features
from spaces.features.records import (
    FuncFeatures,
    LoopFeatures,
    LoopKey,
    StageFeatures,
    volume,
)


def unfuse(features: Features) -> Features:
    """The same features with a nest in place of each fused loop. The innermost loop of the nest
    goes along the innermost Var, and keeps the name and the number of runs. All have the kind of
    the fused loop.
    """
    counts: dict[LoopKey, int] = {}
    for stage in features.stages:
        for loop in stage.loops:
            if len(loop.dimensions) > 1:
                counts[loop.key] = max(counts.get(loop.key, 1), len(loop.dimensions))
    if not counts:
        return features
    return evolve(features, funcs=tuple(_of_func(func, counts) for func in features.funcs))


def _of_func(func: FuncFeatures, counts: Mapping[LoopKey, int]) -> FuncFeatures:
    path = func.stages[0].loops
    return evolve(
        func,
        depth=_depth(path[: func.depth], counts),
        store_depth=_depth(path[: func.store_depth], counts),
        stages=tuple(_of_stage(stage, counts) for stage in func.stages),
    )


def _of_stage(stage: StageFeatures, counts: Mapping[LoopKey, int]) -> StageFeatures:
    loops = chain.from_iterable(_nest(loop, counts.get(loop.key, 1)) for loop in stage.loops)
    return evolve(stage, loops=tuple(loops), depth=_depth(stage.loops[: stage.depth], counts))


def _depth(path: Sequence[LoopFeatures], counts: Mapping[LoopKey, int]) -> int:
    """The number of loops that these ones become."""
    return sum(counts.get(loop.key, 1) for loop in path)


def _nest(loop: LoopFeatures, count: int) -> list[LoopFeatures]:
    """The nest that replaces one loop, outermost first. It has ``count`` loops, as in all stages
    that share the loop: loops without a Var of this stage run once.
    """
    if count == 1:
        return [loop]
    nest = []
    for place in reversed(range(count)):
        inner = volume(loop.covers[:place])
        trips = loop.covers[place] if place < len(loop.covers) else 1
        nest.append(
            evolve(
                loop,
                loop=f"{loop.loop}/{place}" if place else loop.loop,
                dimensions=loop.dimensions[place : place + 1],
                covers=loop.covers[place : place + 1],
                trips=trips,
                runs=loop.runs / inner,
            )
        )
    return nest
