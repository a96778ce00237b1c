"""Families of schedules whose automatic tails are alike.

A split of a split rounds up if its factor is at most that of the earlier split, and shifts inwards
otherwise. So the members of a family of schedules do not all have the same tails.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Bool
from spaces.model.nest.splits import undecided_tail
from spaces.model.schedules.domain_order import DomainOrder, Split, Tail
from spaces.model.schedules.schedule import Schedule

_ALWAYS = constant(True, Bool)


@frozen
class TailFamily:
    """The members of a family of schedules with the same automatic tails.

    Attributes:
        condition: which members, a condition on factors.
        schedule: the family; tails that depend on factors are written out.
    """

    condition: Expr
    schedule: Schedule

    def holds(self, check: Expr) -> Expr:
        """Whether a member satisfies a check, or is in another family."""
        return check if self.condition is _ALWAYS else ~self.condition | check


def tail_families(pipeline: Pipeline, structure: Schedule) -> Iterator[TailFamily]:
    """The families of a structure; together they have each member once.

    Args:
        pipeline: what the derivations of the structure make of a pipeline.
        structure: without specializations, one domain order for each stage.
    """
    open_ = [TailFamily(_ALWAYS, structure)]
    while open_:
        family = open_.pop()
        parts = _parts(pipeline, family)
        if parts is None:
            yield family
        else:
            open_ += parts


def _parts(pipeline: Pipeline, family: TailFamily) -> tuple[TailFamily, TailFamily] | None:
    """The members of a family that round up in the first split whose tail depends on factors, and
    those that shift inwards. None if no tail does.
    """
    for function in pipeline.functions:
        entry = family.schedule.of(function.name)
        for index, (stage, order) in enumerate(zip(function.stages, entry.stages, strict=True)):
            found = undecided_tail(stage, order, index > 0)
            if found is not None:
                split, rounds_up = found
                kinds = ((rounds_up, Tail.ROUND_UP), (~rounds_up, Tail.SHIFT_INWARDS))
                first, second = (
                    TailFamily(
                        condition if family.condition is _ALWAYS else family.condition & condition,
                        family.schedule.with_funcs(
                            evolve(one, stages=_replaced(one.stages, index, split, tail))
                            if one is entry
                            else one
                            for one in family.schedule.funcs
                        ),
                    )
                    for condition, tail in kinds
                )
                return first, second
    return None


def _replaced(
    orders: tuple[DomainOrder, ...], stage: int, split: int, tail: Tail
) -> tuple[DomainOrder, ...]:
    """The orders of all stages, with another tail of one split."""
    order = orders[stage]
    record = order.splits[split]
    assert isinstance(record, Split)
    splits = (*order.splits[:split], evolve(record, tail=tail), *order.splits[split + 1 :])
    return (*orders[:stage], evolve(order, splits=splits), *orders[stage + 1 :])
