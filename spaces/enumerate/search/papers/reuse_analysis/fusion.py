"""Compute and store levels of the stages of a segment: Algorithms 1 and 2 of [S19]."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import TypeAlias

from attrs import frozen

from spaces.enumerate.search.papers.reuse_analysis.overlap import (
    Dependence,
    dependences,
    in_output,
    origins,
)
from spaces.features.work import stage_work
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, Split
from spaces.model.schedules.schedule import LoopLevel


@frozen
class TiledLoop:
    """A loop of a tiled nest.

    Attributes:
        dimension: the Var or RVar along which it moves.
        is_between: whether it moves from tile to tile.
        is_column: whether the lanes of vectors lie along its dimension.
        is_parallel: whether threads share its iterations.
        is_reduction: whether its dimension is an RVar.
    """

    level: LoopLevel
    dimension: str
    is_between: bool
    is_column: bool
    is_parallel: bool
    is_reduction: bool


Nest: TypeAlias = tuple[TiledLoop, ...]
"""The loops of the output at which its producers may be computed, outermost first: D of [S19] 4.1
in the opposite order. Loops over lanes and unrolled loops are no part of it.
"""


def nest_of(function: Function, stage: int, order: DomainOrder) -> Nest:
    """The nest of a stage with a domain order that only splits loops."""
    dimensions = {name: name for name in function.stages[stage].dimensions}
    kinds = {loop.name: loop.kind for loop in order.loops}
    between, columns = set(), set()
    for split in order.splits:
        if isinstance(split, Split):
            dimension = dimensions[split.old]
            dimensions |= {split.outer: dimension, split.inner: dimension}
            if kinds.get(split.inner) is LoopKind.VECTORIZED:
                columns.add(dimension)
            else:
                between.add(split.outer)
    reduced = {rvar.name for rvar in function.stages[stage].rvars}
    return tuple(
        TiledLoop(
            LoopLevel(function.name, loop.name),
            dimensions[loop.name],
            loop.name in between,
            dimensions[loop.name] in columns,
            loop.kind.is_concurrent,
            dimensions[loop.name] in reduced,
        )
        for loop in takewhile(lambda one: not one.kind.has_constant_extent, order.loops)
    )


@frozen
class Place:
    """Where a stage is computed and stored, as numbers of loops of the output around both: S of
    [S19] 4.1.
    """

    compute: int
    store: int


StagePlaces: TypeAlias = dict[str, Place | None]
"""The place of each producer of a segment; None if it is inlined."""


def stage_fusion(segment: Pipeline, output: str, nests: Mapping[int, Nest]) -> StagePlaces:
    """Compute and store levels for the most reuse: Algorithm 1 of [S19].

    A producer with overlap is computed at the outermost loop inside tiles along which it overlaps,
    and stored one loop further out, so that its window slides. Where this loop is the innermost one
    or runs along lanes or terms of a sum, it is computed one loop further out, too. Overlap along
    no loop of the output means the innermost loop. A producer without overlap is inlined.

    Args:
        segment: the pipeline.
        output: its last Func.
        nests: the loops of each stage of the output that reads others.
    """
    found = origins(segment, output)
    places: StagePlaces = {}
    for function in reversed(segment.functions):
        name = function.name
        if name == output or name not in found:
            continue
        (stage,) = found[name].stages
        nest = nests[stage]
        overlapping = dependences(segment, name)
        if not any(one.overlaps for one in overlapping):
            places[name] = None
            continue
        moved = {
            dimension
            for one in overlapping
            for var in one.overlaps
            for dimension in in_output(found, output, one.consumer, var)
        }
        places[name] = _fused_place(nest, moved)
    return places


def _fused_place(nest: Nest, overlapping: set[str]) -> Place:
    """The place of a producer that overlaps along some dimensions of the output."""
    depth = next(
        (
            depth
            for depth, loop in enumerate(nest, start=1)
            if loop.dimension in overlapping and not loop.is_between
        ),
        None,
    )
    if depth is None:
        return Place(len(nest), len(nest))
    loop = nest[depth - 1]
    store = depth if loop.is_parallel else depth - 1
    if depth == len(nest) or loop.is_column or loop.is_reduction:
        return Place(depth - 1, depth - 1)
    return Place(depth, store)


def inline_trivial_funcs(segment: Pipeline, output: str, places: StagePlaces) -> StagePlaces:
    """The places after trivial stages are inlined: Algorithm 2 of [S19]. Inlined producers of a
    trivial stage that are not trivial take its place.
    """
    places = dict(places)
    for function in reversed(segment.functions):
        place = places.get(function.name)
        if place is None or not is_trivial(function):
            continue
        for callee in function.callees:
            is_inlined = callee in places and places[callee] is None
            if is_inlined and not is_trivial(segment.function(callee)):
                places[callee] = place
        places[function.name] = None
    return places


def is_trivial(function: Function) -> bool:
    """Whether computing a value costs about as much as loading it [S19 4.1]: one read and at most
    one operation.
    """
    work = stage_work(function.stages[0])
    reads = sum(access.reads for access in work.accesses)
    return function.is_pure and reads <= 1 and work.operations.total <= 1


def move_where_possible(
    segment: Pipeline, output: str, places: StagePlaces, nests: Mapping[int, Nest]
) -> StagePlaces:
    """The nearest places that a loop nest can have: no producer is further in than a consumer, and
    a Func with updates, which cannot be inlined, is computed at the innermost loop.
    """
    found = origins(segment, output)
    made: StagePlaces = {}
    limits: dict[str, int] = {}
    for function in reversed(segment.functions):
        name = function.name
        if name not in places:
            continue
        (stage,) = found[name].stages
        innermost = len(nests[stage])
        limit = min([innermost, *(limits.get(one, innermost) for one in segment.consumers(name))])
        place = places[name]
        if place is None and not function.is_pure:
            place = Place(innermost, innermost)
        if place is not None:
            compute = min(place.compute, limit)
            place = Place(compute, min(place.store, compute))
            limit = compute
        made[name], limits[name] = place, limit
    return made


def greatest_overlaps(segment: Pipeline, output: str) -> dict[str, int]:
    """The greatest overlap along each dimension of the output: the right side of [S19] (15)."""
    found = origins(segment, output)
    greatest: dict[str, int] = {}
    for name in found:
        each: tuple[Dependence, ...] = dependences(segment, name)
        for one in each:
            for var, shared in one.overlaps.items():
                for dimension in in_output(found, output, one.consumer, var):
                    greatest[dimension] = max(greatest.get(dimension, 0), shared)
    return greatest
