"""Tails of updates in whole patterns.

The splits of an update round up, as Halide's do: the last vector goes over the end of what is asked
for. So the update reads more than it needs, and an image may end before. Where sizes are multiples
of vectors this never happens; where they are not, and no boundary condition limits the reads, an
update that guards its last vector stays inside the image.

A guard has a price, too: what is computed inside a guarded loop has no constant extents. So an
update that reads only the results of other updates has both tails to choose from.
"""

from __future__ import annotations

from functools import lru_cache

from attrs import evolve

from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.patterns.builder import Orders
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.domain_order import Split, Tail

LANES = 64
"""Extents that are multiples of this along rows need no tail for most vectors and tiles."""

SHORT = 16
"""Rows of at most so many values have vectors of their length."""


def guard_tails(orders: Orders) -> Orders:
    """The orders with a guard around the iterations beyond the end of each split loop."""
    return tuple(
        evolve(
            order,
            splits=tuple(
                evolve(one, tail=Tail.GUARD_WITH_IF) if isinstance(one, Split) else one
                for one in order.splits
            ),
        )
        for order in orders
    )


def with_guarded_updates(
    pipeline: Pipeline, function: Function, known: dict[str, Orders]
) -> dict[str, Orders]:
    """The orders of a Func, by name, with guards around the tails of its updates where an image
    would be read beyond its end: instead of the known orders if the Func reads images, and beside
    them if it reads the results of updates only.
    """
    if function.is_pure or not _may_overrun(pipeline):
        return known
    guarded = {name: (*one[:1], *guard_tails(one[1:])) for name, one in known.items()}
    if function.name in _readers_of_images(pipeline):
        return guarded
    others = (item for item in guarded.items() if item[1] not in known.values())
    return known | {f"guarded_{name}": one for name, one in others}


@lru_cache(maxsize=64)
def _may_overrun(pipeline: Pipeline) -> bool:
    """Whether a vector that goes over the end of a row may read beyond the end of an image."""
    known = sizes_of(pipeline)
    rows = [known.extent(f.name, f.args[0]) for f in pipeline.functions if f.args]
    return known.reads_on and any(one is None or (one > SHORT and one % LANES) for one in rows)


@lru_cache(maxsize=64)
def _readers_of_images(pipeline: Pipeline) -> frozenset[str]:
    """The Funcs that read an image, or a Func without updates that does and may be inlined."""
    images = {one.name for one in pipeline.images}
    found: set[str] = set()
    for function in pipeline.functions:
        pure = {name for name in found if pipeline.function(name).is_pure}
        if not (images | pure).isdisjoint(function.callees):
            found.add(function.name)
    return frozenset(found)
