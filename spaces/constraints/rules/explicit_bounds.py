"""Rules about ``bound``, ``bound_extent``, ``align_bounds`` and ``align_extent``."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from spaces.constraints.rules.directive_text import bound_directive
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, Quantity, check, nest_rule, own_rule, refuse
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Bool, Int32
from spaces.model.nest.allocation import Allocation
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.explicit_bounds import Declared, declared
from spaces.model.schedules.schedule import Alignment, Bound


@own_rule(
    "bounds.explicit-dimension",
    "A `bound` or `align_bounds` along a name that is not a dimension of the Func is illegal, "
    "because there is nothing to bound.",
    "Halide's bound and align_bounds take a Var of the Func.",
)
def explicit_dimension(records: Records, func: str) -> Iterator[Check]:
    """One check for each bound along a name that is not a dimension."""
    args = records.function(func).args
    for bound in records.entry(func).bounds:
        if bound.dimension not in args:
            yield refuse(
                func,
                "{directive} names {dimension}, which is no dimension of {func}.",
                "Its dimensions are {legal}.",
                loop=bound.dimension,
                directive=bound_directive(func, bound),
                dimension=bound.dimension,
                legal=listed(args),
            )


@own_rule(
    "bounds.explicit-range",
    "An extent or modulus below 1 or above 2147483647, or a bound beyond int32, is illegal, "
    "because coordinates are int32 and a region has at least one.",
    "Halide's coordinates are int32, too.",
)
def explicit_range(records: Records, func: str) -> Iterator[Check]:
    """One check for each bound."""
    for bound in records.entry(func).bounds:
        yield check(
            func,
            constant(_is_in_range(bound), Bool),
            "{directive} gives {dimension} of {func} impossible bounds.",
            "Extents and moduli are at least 1, and all coordinates from -2147483648 to "
            "2147483647.",
            loop=bound.dimension,
            directive=bound_directive(func, bound),
            dimension=bound.dimension,
        )


def _is_in_range(bound: Bound | Alignment) -> bool:
    if isinstance(bound, Alignment):
        return 1 <= bound.modulus <= Int32.max_value and Int32.holds(bound.remainder or 0)
    low = bound.min or 0
    ends = (low, low + bound.extent - 1)
    return 1 <= bound.extent <= Int32.max_value and all(map(Int32.holds, ends))


@nest_rule(
    "bounds.explicit-too-small",
    "A `bound` that holds less than what is required of the Func is illegal, because the values "
    "outside it would not be computed.",
    "Halide computes with whatever memory holds there, or refuses when the pipeline runs.",
    required=Quantity(
        "farthest required coordinate, or number of required values for an extent alone",
        "coordinate or values",
    ),
    end=Quantity("first or last coordinate of the bound", "coordinate"),
    extent=Quantity("extent of the bound", "values"),
)
def explicit_too_small(view: NestView, func: str) -> Iterator[Check]:
    """One check for each side of each bound that may be too narrow."""
    entry, placement = view.nest.schedule.of(func), view.placement(func)
    if not entry.bounds:
        return
    args = placement.function.args
    _, limits = declared(args, entry, placement.demanded, view.nest.simplify)
    for claim in limits:
        for side in _sides(view, claim, placement.path):
            yield check(
                func,
                side.holds,
                side.message,
                "Give bounds that hold all that is required.",
                loop=args[claim.d],
                directive=bound_directive(func, claim.bound),
                dimension=args[claim.d],
                end=side.end,
                extent=claim.bound.extent,
                required=side.required,
            )


_FROM = (
    "{directive} lets {func} be computed from {dimension} = {end} on only, but it is required from "
    "{required} on."
)
_UP_TO = (
    "{directive} lets {func} be computed up to {dimension} = {end} only, but it is required up to "
    "{required}."
)
_EXTENT = (
    "{directive} lets {extent} coordinates of {func} be computed along {dimension}, but {required} "
    "are required."
)


@frozen
class _Side:
    """An end of a bound; the Func may be required beyond it."""

    holds: Expr
    message: str
    end: Expr
    required: Expr


def _sides(view: NestView, claim: Declared, path: tuple[LoopVar, ...]) -> Iterator[_Side]:
    low, high = claim.required.min, claim.required.max
    if low is None or high is None:
        return
    zero = constant(0, Int32)
    if claim.bound.min is None:
        extent = view.largest(view.simplify(high - low + 1), path)
        holds = extent <= constant(claim.bound.extent, Int32)
        yield _Side(holds, _EXTENT, claim.high, extent)
        return
    if low is not claim.low:
        first = view.simplify(zero - view.largest(view.simplify(zero - low), path))
        yield _Side(first >= claim.low, _FROM, claim.low, first)
    if high is not claim.high:
        last = view.largest(high, path)
        yield _Side(last <= claim.high, _UP_TO, claim.high, last)


def example_bounds(view: NestView, allocation: Allocation) -> str:
    """Directives that give constant limits to the extents of an allocation that have none:
    ``f.bound(x, 0, 64)``; the numbers are examples.
    """
    args = view.placement(allocation.func).function.args
    open_ended = [
        Bound(arg, 0, 64)
        # Behind the dimensions is the number of places of a ring buffer.
        for arg, extent in zip(args, allocation.extents, strict=False)
        if not view.is_constant(extent)
    ]
    return ", ".join(bound_directive(allocation.func, bound) for bound in open_ended)


RULES = (explicit_dimension, explicit_range, explicit_too_small)
