"""A rule about tails that keep the values of other tiles."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.directive_text import kind_directive, split_directive
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, own_rule, refuse
from spaces.model.nest.splits import BLENDING, loop_dimensions
from spaces.model.schedules.domain_order import Split


@own_rule(
    "order.blend",
    "A parallel or GPU loop is illegal if it comes from a Var whose split blends its tail, "
    "because a blend loads and stores values that another thread may compute meanwhile.",
    "Halide's split refuses it.",
)
def blended_by_threads(records: Records, func: str) -> Iterator[Check]:
    """One check for each loop whose iterations are threads, with the first such split."""
    for index, (stage, order, traced) in enumerate(records.stages(func)):
        blends = any(isinstance(r, Split) and r.tail in BLENDING for r in order.splits)
        if traced.faults or not blends:
            continue
        walks = loop_dimensions(stage, order)
        for number, record in enumerate(order.splits):
            if not isinstance(record, Split) or record.tail not in BLENDING:
                continue
            before = loop_dimensions(stage, order, number)
            dimensions = set(before[record.old])
            for loop in order.loops:
                if loop.kind.uses_threads and dimensions.intersection(walks[loop.name]):
                    yield refuse(
                        func,
                        "{directive} gives {stage_name} the tail {tail}, which stores values of "
                        "other tiles again, but {threads} lets other threads compute them.",
                        "Make {loop} serial, or guard the tail: TailStrategy::GuardWithIf.",
                        stage=index,
                        loop=loop.name,
                        directive=split_directive(records, func, index, number),
                        tail=record.tail.spelled,
                        threads=kind_directive(records, func, index, loop.name),
                    )
