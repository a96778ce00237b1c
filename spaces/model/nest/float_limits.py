"""What the floats must fulfil from which a call computes the regions of a loop nest."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.model.expressions.expr import Expr
from spaces.model.formulas.float_values import limits_of_floats
from spaces.model.formulas.regions import Ranges
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.traversal import LoopVar, loop_ranges


def float_limits(bounds: Bounds, func: str) -> tuple[Expr, ...]:
    """The conditions on parameters and sizes under which the region of a computed Func has the
    limits that its formulas tell; also those of all images, with the first output. Empty if no
    float decides them.
    """
    return limits_of_floats(*_ends(bounds, func))


def _ends(bounds: Bounds, func: str) -> Iterator[Expr]:
    placement = bounds.placements[func]
    boxes = [(placement.required, placement.path), (placement.storage.computed, placement.path)]
    if func == bounds.pipeline.outputs[0]:
        boxes += ((box, ()) for box in bounds.inputs.values())
    for box, loops in boxes:
        for interval in box:
            for end in (interval.min, interval.max):
                if end is not None and end.has_floats:
                    yield end
                    yield from _around(end, loops, bounds)


def _around(end: Expr, loops: tuple[LoopVar, ...], bounds: Bounds) -> Iterator[Expr]:
    """The limits of an end while loops run."""
    found = Ranges(bounds.simplify, loop_ranges(loops, bounds.simplify)).of(end)
    yield from (limit for limit in (found.min, found.max) if limit is not None)
