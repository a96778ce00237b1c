"""Tails that nobody has written.

Halide decides `TailStrategy::Auto` where a split is made, and keeps what it has decided. A schedule
that shows all of these tails hides those that its author has chosen.
"""

from __future__ import annotations

from attrs import evolve

from spaces.model.algorithm.pipeline import Pipeline, Stage
from spaces.model.nest.splits import resolved_tails
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
    for place, record in enumerate(order.splits):
        if isinstance(record, Split):
            automatic = evolve(record, tail=Tail.AUTO)
            splits = (*order.splits[:place], automatic, *order.splits[place + 1 :])
            changed = evolve(order, splits=splits)
            if resolved_tails(stage, changed, is_update)[place] is record.tail:
                order = changed
    return order
