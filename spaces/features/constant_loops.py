"""Loops that have the same number of iterations for all sizes, as compilers see them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from attrs import frozen

from spaces.features.records import FuncFeatures, LoopFeatures, LoopKey, StageFeatures
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Const
from spaces.model.schedules.domain_order import (
    Fuse,
    Split,
    fuses_of_constant_extent,
    made_from,
    of_constant_extent,
)
from spaces.model.schedules.schedule import Bound, Schedule

_MovingLoops: TypeAlias = dict[str, dict[LoopKey, LoopFeatures]]
"""The loops that move what is read of a Func along each of its dimensions."""


@frozen
class FusedLoops:
    """The loops that splits and fuses make of a fused loop. In each iteration of the innermost one,
    a division finds the two Vars that ``fuse`` joined.

    Attributes:
        names: the names of the loops.
        has_constant_divisor: whether the divisor is the same for all sizes.
    """

    names: frozenset[str]
    has_constant_divisor: bool


@frozen
class ConstantLoops:
    """The loops of a nest that have the same number of iterations for all sizes.

    Attributes:
        loops: inner loops of splits, loops over dimensions with the same number of values in each
            visit, and loops over a constant number of terms.
        fused: what each stage makes of its fused loops, by Func and number.
    """

    loops: frozenset[LoopKey]
    fused: Mapping[tuple[str, int], tuple[FusedLoops, ...]]


def constant_loops(
    pipeline: Pipeline, schedule: Schedule, funcs: Sequence[FuncFeatures]
) -> ConstantLoops:
    """The loops of Funcs that have the same number of iterations for all sizes.

    Args:
        pipeline: the pipeline of the Funcs, with those that the schedule derives.
        schedule: where the Funcs are computed, and by which loops.
        funcs: its computed Funcs, producers first.
    """
    found: set[LoopKey] = set()
    fused: dict[tuple[str, int], tuple[FusedLoops, ...]] = {}
    moving: dict[str, _MovingLoops] = {}
    readers: dict[str, list[StageFeatures]] = {}
    for stage in (stage for one in funcs for stage in one.stages):
        for buffer in stage.work.buffers:
            if buffer != stage.func:
                readers.setdefault(buffer, []).append(stage)
    for func in reversed(funcs):
        moving[func.name] = _moving_loops(func, readers.get(func.name, ()), moving)
        entry = schedule.of(func.name)
        bounded = [one.dimension for one in entry.bounds if isinstance(one, Bound)]
        args = [*bounded, *_constant_args(func, moving[func.name], found)]
        for stage in func.stages:
            terms = pipeline.function(func.name).stages[stage.index].rvars
            counted = [rvar.name for rvar in terms if isinstance(rvar.extent, Const)]
            constant, records = [*args, *counted], entry.stages[stage.index].splits
            names = of_constant_extent(constant, records)
            fused[func.name, stage.index] = tuple(_fused_loops(constant, records))
            # A fused loop is the leader's.
            own = (loop for loop in stage.own if loop.key[:2] == (func.name, stage.index))
            found |= {loop.key for loop in own if loop.loop in names}
    return ConstantLoops(frozenset(found), fused)


def _fused_loops(constant: Sequence[str], records: Sequence[Split | Fuse]) -> Iterator[FusedLoops]:
    """What splits and fuses make of each fused loop; some dimensions are ``constant``."""
    known = fuses_of_constant_extent(constant, records)
    for place, record in enumerate(records):
        if isinstance(record, Fuse):
            names = made_from((record.fused,), records[place + 1 :])
            yield FusedLoops(names, record in known)


def _moving_loops(
    func: FuncFeatures, readers: Iterable[StageFeatures], known: Mapping[str, _MovingLoops]
) -> _MovingLoops:
    """For each dimension of a Func the loops that move what is read along it: loops of its
    ``readers``, and loops around a reader that move what the reader computes (``known``).
    """
    found: _MovingLoops = {arg: {} for arg in func.args}
    for reader in readers:
        around = {loop.key for loop in reader.loops[: reader.depth]}
        for access in (one for one in reader.work.accesses if one.buffer == func.name):
            for arg, index in zip(func.args, access.indices, strict=True):
                for loop in reader.own:
                    if not index.moved_by.isdisjoint(loop.dimensions):
                        found[arg][loop.key] = loop
                for name in index.moved_by:
                    outer = known[reader.func].get(name, {})
                    found[arg] |= {key: loop for key, loop in outer.items() if key in around}
    return found


def _constant_args(
    func: FuncFeatures, moving: _MovingLoops, constant: Collection[LoopKey]
) -> list[str]:
    """The dimensions of a Func with the same number of values in each visit: all loops inside the
    compute level that move what is read along them are ``constant``.
    """
    if func.depth == 0:
        return []
    outside = {loop.key for loop in func.stages[0].loops[: func.depth]}
    return [
        arg
        for arg, loops in moving.items()
        if all(
            key in outside or loop.kind.has_constant_extent or key in constant
            for key, loop in loops.items()
        )
    ]
