"""Tails that nobody has written.

Halide decides `TailStrategy::Auto` where a split is made, and keeps what it has decided. A schedule
that shows all of these tails hides those that its author has chosen.
"""

from __future__ import annotations

from attrs import evolve

from spaces.model.algorithm.pipeline import Pipeline, Stage
from spaces.model.nest.splits import automatic_tails
from spaces.model.schedules.domain_order import DomainOrder, Split, Tail
from spaces.model.schedules.schedule import Schedule


def with_automatic_tails(schedule: Schedule, pipeline: Pipeline) -> Schedule:
    """The same schedule without tails that splits have anyway."""
    entries = []
    for entry in schedule.funcs:
        stages = pipeline.function(entry.name).stages
        orders = tuple(
            _automatic(stage, order, number > 0)
            for number, (stage, order) in enumerate(zip(stages, entry.stages, strict=True))
        )
        cases = tuple(
            evolve(case, order=_automatic(stages[case.stage], case.order, case.stage > 0))
            for case in entry.specializations
        )
        entries.append(evolve(entry, stages=orders, specializations=cases))
    return schedule.with_funcs(entries)


def _automatic(stage: Stage, order: DomainOrder, is_update: bool) -> DomainOrder:
    if not order.splits:
        return order
    pairs = zip(order.splits, automatic_tails(stage, order, is_update), strict=True)
    splits = (
        evolve(record, tail=Tail.AUTO)
        if isinstance(record, Split) and record.tail is automatic
        else record
        for record, automatic in pairs
    )
    return evolve(order, splits=tuple(splits))
