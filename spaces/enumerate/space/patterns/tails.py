"""Tails of updates in whole patterns.

The splits of an update round up, as Halide's do: the last vector goes over the end of what is asked
for. So the update reads more than it needs, and an image may end before. Where sizes are multiples
of vectors this never happens; where they are not, and no boundary condition limits the reads, an
update that guards its last vector stays inside the image.

A guard has a price, too: what is computed inside a guarded loop has no constant extents. So an
update that reads only the results of other updates has both tails to choose from.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from attrs import evolve

from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.patterns.builder import Orders
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.nest.splits import loop_dimensions
from spaces.model.schedules.domain_order import Split, Tail

LANES = 64
"""Extents that are multiples of this along rows need no tail for most vectors and tiles."""

LINES = 8
"""Extents that are multiples of this along other dimensions need none for most blocks."""


def guard_tails(function: Function, orders: Orders, dimensions: Collection[str]) -> Orders:
    """The orders of a Func with a guard around the iterations beyond the end of each loop that is
    split along some dimensions.
    """
    return tuple(
        evolve(
            order,
            splits=tuple(
                evolve(record, tail=Tail.GUARD_WITH_IF)
                if isinstance(record, Split)
                and not set(loop_dimensions(stage, order, place)[record.old]).isdisjoint(dimensions)
                else record
                for place, record in enumerate(order.splits)
            ),
        )
        for stage, order in zip(function.stages, orders, strict=True)
    )


def with_guarded_updates(
    pipeline: Pipeline, function: Function, long: int, known: dict[str, Orders]
) -> dict[str, Orders]:
    """The orders of a Func, by name, with guards around the tails of its updates where an image
    would be read beyond its end. They replace the known orders if the Func reads images, and join
    them if it reads only the results of updates.

    Args:
        pipeline: the pipeline.
        function: one of its Funcs.
        long: the smallest extent of a dimension that patterns split by their menus.
        known: the orders.
    """
    places = frozenset[int]() if function.is_pure else _places_with_tails(pipeline, long)
    along = {name for place, name in enumerate(function.args) if place in places}
    if not along:
        return known
    guarded = {
        name: (*one[:1], *guard_tails(function, one, along)[1:]) for name, one in known.items()
    }
    if function.name in _readers_of_images(pipeline):
        return guarded
    others = (item for item in guarded.items() if item[1] not in known.values())
    return known | {f"guarded_{name}": one for name, one in others}


@lru_cache(maxsize=64)
def _places_with_tails(pipeline: Pipeline, long: int) -> frozenset[int]:
    """The dimensions, 0 for the innermost, in which a vector or block of a Func may go over the end
    and read beyond the end of an image. If one Func computes more, its producers may have to
    compute and read more, too. So all have a tail where one has.
    """
    known = sizes_of(pipeline)
    if not known.reads_on:
        return frozenset()
    return frozenset(
        place
        for function in pipeline.functions
        for place, name in enumerate(function.args)
        if _has_tail(known.extent(function.name, name), LINES if place else LANES, long)
    )


def _has_tail(extent: int | None, multiple: int, long: int) -> bool:
    return extent is None or (extent >= long and extent % multiple != 0)


@lru_cache(maxsize=64)
def _readers_of_images(pipeline: Pipeline) -> frozenset[str]:
    """The Funcs that read an image, directly or through a Func without updates that may be
    inlined.
    """
    images = {one.name for one in pipeline.images}
    found: set[str] = set()
    for function in pipeline.functions:
        pure = {name for name in found if pipeline.function(name).is_pure}
        if not (images | pure).isdisjoint(function.callees):
            found.add(function.name)
    return frozenset(found)
