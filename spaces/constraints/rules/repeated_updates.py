"""A rule about tails inside tiles, which would update elements twice."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.dependences.hazards import reads_itself
from spaces.constraints.rules.directive_text import split_directive
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, Quantity, check, own_rule
from spaces.model.algorithm.pipeline import Stage
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.nest.splits import exact_loops, factor_expr, resolved_tails
from spaces.model.schedules.domain_order import DomainOrder, Split, Tail

_ZERO = constant(0, Int32)


@own_rule(
    "order.repeated-update",
    "A rounded split of the inner loop of another split is illegal in an update if its factor "
    "does not divide that loop, because the last round would update values of the next tile "
    "twice.",
    "Halide's split refuses such a tail there, whatever the factor.",
    factor=Quantity("factor of the second split", "iterations"),
    extent=Quantity("iterations of the loop that it splits", "iterations"),
)
def repeated_update(records: Records, func: str) -> Iterator[Check]:
    """One check for each split of a loop inside a tile whose last round may go over its end."""
    for index, (stage, order, _) in enumerate(records.stages(func)):
        if index == 0 or not order.splits or not reads_itself(records.function(func), stage):
            continue
        for number, record, extent in _inside_tiles(stage, order):
            factor = factor_expr(record.factor)
            yield check(
                func,
                extent % factor == _ZERO,
                "{directive} makes rounds of {factor} of the loop {loop}, which has {extent} "
                "iterations in each tile: the last round reaches into the next tile, and "
                "{stage_name} would update values there twice.",
                "Choose a factor that divides {extent}, or the tail TailStrategy::GuardWithIf.",
                stage=index,
                loop=record.old,
                directive=split_directive(records, func, index, number),
                factor=factor,
                extent=extent,
            )


def _inside_tiles(stage: Stage, order: DomainOrder) -> Iterator[tuple[int, Split, Expr]]:
    """The splits that round up a loop inside a tile, with its extent (or what divides that).

    A loop that exceeds the end of a split's outer loop leaves the domain and repeats no element;
    one that exceeds the inner loop's end enters the next tile. A fused loop ends where its outer
    part does. RVars and loops without a dimension, whose tails are guarded anyway, are left to
    ``order.tail``.
    """
    inside: dict[str, Expr] = {}
    tails = resolved_tails(stage, order, is_update=True)
    steps = zip(order.splits, tails, exact_loops(stage, order), strict=True)
    for number, (record, tail, exact) in enumerate(steps):
        if not isinstance(record, Split):
            inner, outer = inside.pop(record.inner, None), inside.pop(record.outer, None)
            if outer is not None:
                inside[record.fused] = outer if inner is None else outer * inner
            continue
        extent, factor = inside.pop(record.old, None), factor_expr(record.factor)
        if extent is not None and record.old not in exact:
            if tail is Tail.ROUND_UP:
                yield number, record, extent
            # A guard ends the loop, too; but there is no guard if the factor divides.
            inside[record.outer] = (extent + factor - 1) / factor
        inside[record.inner] = factor
