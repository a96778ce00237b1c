"""Whether two stages of one Func may run in the same iterations of fused loops."""

from __future__ import annotations

from attrs import evolve

from spaces.constraints.rules.records import Records
from spaces.model.nest.splits import loop_dimensions, resolved_tails, tail_of_writes
from spaces.model.schedules.domain_order import DomainOrder, Fuse, Split, Tail
from spaces.model.schedules.schedule import Companion, StageOf


def why_not_in_step(records: Records, func: str, earlier: Companion, later: Companion) -> str:
    """Why the earlier stage would not have done, in an iteration, all that matters to the later
    one there, and nothing that undoes it afterwards; empty where it has.
    """
    if evolve(earlier, stage=later.stage) != later:
        before = StageOf(func, earlier.stage)
        return f"{before} runs in the same loops, but is not computed with the same stage and loop"
    dimensions = set[str]()
    for index in (earlier.stage, later.stage):
        stage, order, traced = records.stages(func)[index]
        if traced.faults or later.loop not in order.names:
            return ""
        walks = loop_dimensions(stage, order)
        fused = order.names[: order.names.index(later.loop) + 1]
        names = [name for loop in fused for name in walks[loop]]
        if other := [name for name in names if name not in stage.pure_vars]:
            # At a Var an update reads its own Func only where it writes, so the definition says.
            return f"{StageOf(func, index)} goes over {other[0]}, which is no Var"
        dimensions.update(names)
    return _split_otherwise(records, func, (earlier.stage, later.stage), dimensions)


def _split_otherwise(
    records: Records, func: str, stages: tuple[int, int], dimensions: set[str]
) -> str:
    made = []
    for index in stages:
        stage, order, _ = records.stages(func)[index]
        tails = resolved_tails(stage, order, is_update=index > 0)
        related = _related(order, dimensions)
        for record, tail in zip(order.splits, tails, strict=True):
            if record in related and tail_of_writes(tail) is Tail.SHIFT_INWARDS:
                return f"{StageOf(func, index)} shifts tiles, which computes values once more"
        made.append([_plain(record) for record in related])
    if made[0] != made[1]:
        return f"the loops of {StageOf(func, stages[0])} are made in another way"
    return ""


def _related(order: DomainOrder, dimensions: set[str]) -> list[Split | Fuse]:
    """The splits and fuses of some dimensions and of what is made of them."""
    names, related = set(dimensions), []
    for record in order.splits:
        old = {record.old} if isinstance(record, Split) else {record.inner, record.outer}
        if not names.isdisjoint(old):
            related.append(record)
            names |= {record.outer, record.inner} if isinstance(record, Split) else {record.fused}
    return related


def _plain(record: Split | Fuse) -> Split | Fuse:
    return evolve(record, tail=Tail.AUTO) if isinstance(record, Split) else record
