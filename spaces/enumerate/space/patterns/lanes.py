"""Along which dimension the lanes of vectors go, and the storage that fits them."""

from __future__ import annotations

from collections.abc import Iterable

from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.expressions.expr import Call, Expr, Op, Variable
from spaces.model.schedules.domain_order import DomainOrder, LoopKind

_EVEN = ("add", "sub", "mul", "div", "shift_left", "shift_right", "min", "max")
"""Operators of coordinates at which neighbors in a row read neighbors, or values at equal
distances, but for the ends of a boundary condition.
"""


def storage_along_lanes(
    args: tuple[str, ...], orders: Iterable[DomainOrder]
) -> tuple[tuple[str, ...], ...]:
    """The ``storage_orders`` of a Func in which the values of a vector are neighbors. None if they
    are neighbors as written, or if the stages have lanes along several dimensions.

    Args:
        args: the Vars of the Func.
        orders: the domain orders of its stages.
    """
    along = {name for order in orders for name in _dimensions_of_lanes(order)}
    if len(along) != 1 or along.isdisjoint(args[1:]):
        return ()
    return ((*along, *(name for name in args if name not in along)),)


def _dimensions_of_lanes(order: DomainOrder) -> frozenset[str]:
    """The dimensions that the vectorized loops of a stage are made from."""
    found = frozenset(loop.name for loop in order.loops if loop.kind is LoopKind.VECTORIZED)
    for record in reversed(order.splits):
        if not found.isdisjoint(record.made):
            found = found.difference(record.made).union(record.taken)
    return found


def funcs_off_rows(pipeline: Pipeline) -> frozenset[str]:
    """The Funcs whose neighbors in a row are no neighbors where they are read or written. Some go
    along rows in order, as running sums do. Some read a line in jumps, as a butterfly or a mirror
    does, and some are read in jumps.
    """
    found: set[str] = set()
    for function in pipeline.functions:
        for stage in function.stages:
            jumping = {call.target for call in stage.calls if _jumps(call, function)}
            if jumping or goes_along_rows(function, stage):
                found |= {function.name, *jumping}
    return frozenset(found)


def goes_along_rows(function: Function, stage: Stage) -> bool:
    """Whether RVars alone give the first coordinate at which a stage writes."""
    rvars = {r.name for r in stage.rvars}
    return any(
        not one.loads and not rvars.isdisjoint(one.names) and one.names.isdisjoint(function.args)
        for one in stage.args[:1]
    )


def _jumps(call: Call, function: Function) -> bool:
    """Whether a read has a first coordinate that moves along a row in jumps. Coordinates that are
    read from elsewhere are not known to.
    """
    return any(_is_uneven(first, function.args[0]) for first in call.args[:1] if function.args)


def _is_uneven(coordinate: Expr, row: str) -> bool:
    if row not in coordinate.names or isinstance(coordinate, (Variable, Call)):
        return False
    if isinstance(coordinate, Op) and coordinate.name not in _EVEN:
        return not coordinate.loads
    return any(_is_uneven(one, row) for one in coordinate.children)
