"""Whether two stages of one Func may run in the same iterations of fused loops."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from spaces.constraints.rules.records import Records
from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.nest.splits import loop_dimensions, resolved_tails, tail_of_writes
from spaces.model.schedules.domain_order import DomainOrder, Fuse, Split, Tail
from spaces.model.schedules.fused_groups import FusedGroups
from spaces.model.schedules.schedule import LoopAlign, StageOf


def why_not_in_step(
    records: Records, groups: FusedGroups, earlier: StageOf, later: StageOf, shared: int
) -> str:
    """The reason why two stages must not share ``shared`` loops: in some iteration the earlier one
    has not finished the values that the later one needs, or it changes them afterwards. Empty if
    they may.
    """
    walks = []
    for stage in (earlier, later):
        definition, order, traced = records.stages(stage.func)[stage.stage]
        if traced.faults:
            return ""
        walks.append(_Walk(stage, records.function(stage.func), definition, order, shared))
    aligned = False
    for index, loop in enumerate(walks[0].shared):
        alignments = [_alignment(groups, stage, index) for stage in (earlier, later)]
        if alignments[0] != alignments[1]:
            return f"{earlier} and {later} are aligned differently along {loop}"
        aligned |= alignments[0] is not None
    reasons = (*(walk.overlaps for walk in walks), *(walk.strays for walk in walks))
    return next(filter(None, reasons), "") or walks[0].apart(walks[1], aligned)


def _alignment(groups: FusedGroups, stage: StageOf, index: int) -> tuple[StageOf, LoopAlign] | None:
    """How a stage's iterations are aligned with those of another stage's loop, and that stage; None
    if iterations of the same number run together.
    """
    one = groups.pairs[stage]
    loop = groups.schedule.of(stage.func).stages[stage.stage].names[index]
    align = one.align(loop)
    return (one.other, align) if align in (LoopAlign.ALIGN_START, LoopAlign.ALIGN_END) else None


@frozen
class _Walk:
    """The way a stage traverses its Func in its ``count`` outermost loops."""

    stage: StageOf
    function: Function
    definition: Stage
    order: DomainOrder
    count: int

    @property
    def shared(self) -> tuple[str, ...]:
        """The loops."""
        return self.order.names[: self.count]

    @property
    def along(self) -> tuple[tuple[str, ...], ...]:
        """The Vars and RVars that each loop traverses."""
        walks = loop_dimensions(self.definition, self.order)
        return tuple(walks[loop] for loop in self.shared)

    def places(self, name: str) -> frozenset[int]:
        """The dimensions of the Func along which every access of the stage to it is at a Var or an
        RVar. At a Var a definition reads its own Func only where it writes.
        """
        own = [c.args for c in self.definition.calls if c.target == self.function.name]
        if name in self.definition.pure_vars:
            own = []
        places = range(len(self.function.args))
        accesses = (self.definition.args, *own)
        return frozenset(d for d in places if all(_is(args[d], name) for args in accesses))

    @property
    def strays(self) -> str:
        """The reason why two iterations may touch the same element; empty if each has its own part
        of the Func.
        """
        for name in (name for names in self.along for name in names):
            if not self.places(name):
                func = self.function.name
                return f"{self.stage} runs over {name}, and also touches {func} elsewhere"
        return ""

    @property
    def making(self) -> list[Split | Fuse]:
        """The splits and fuses that make the loops."""
        names, making = set(self.shared), list[Split | Fuse]()
        for record in reversed(self.order.splits):
            if not names.isdisjoint(record.made):
                names = names.difference(record.made).union(record.taken)
                making.insert(0, record)
        return making

    @property
    def overlaps(self) -> str:
        """The reason why iterations of the loops visit the same values; empty if none do."""
        making, names = self.making, {name for names in self.along for name in names}
        tails = resolved_tails(self.definition, self.order, is_update=self.stage.stage > 0)
        for record, tail in zip(self.order.splits, tails, strict=True):
            if names.isdisjoint(record.taken):
                continue
            names.update(record.made)
            if record in making and tail_of_writes(tail) is Tail.SHIFT_INWARDS:
                return f"{self.stage} shifts tiles, which computes values again"
            inside = making and record not in making
            if inside and isinstance(record, Split) and tail_of_writes(tail) is Tail.ROUND_UP:
                return f"{self.stage} rounds up inside tiles, which computes values again"
        return ""

    def apart(self, other: _Walk, aligned: bool) -> str:
        """The reason why iterations of the same number are at different places; empty if they are
        at the same place.
        """
        mine, theirs = dict[str, str](), dict[str, str]()
        pairs = zip(self.along, other.along, strict=True)
        for loop, (first, second) in zip(self.shared, pairs, strict=True):
            places = [self.places(a) & other.places(b) for a, b in zip(first, second, strict=False)]
            if len(first) != len(second) or not all(places):
                return f"{self.stage} and {other.stage} traverse different dimensions in {loop}"
            for a, b, at in zip(first, second, places, strict=True):
                mine[a] = theirs[b] = str(min(at))
        if _made(self.making, mine) != _made(other.making, theirs):
            return f"the loops of {self.stage} are made in another way than those of {other.stage}"
        if (self.making or aligned) and self._ranges(mine) != other._ranges(theirs):
            return f"the loops of {self.stage} and {other.stage} begin or end at other places"
        return ""

    def _ranges(self, names: dict[str, str]) -> list[tuple[str, Expr, Expr]]:
        """The ends of each RVar; a Var has in each stage those of the Func."""
        return sorted(
            ((names[r.name], r.min, r.extent) for r in self.definition.rvars if r.name in names),
            key=lambda found: found[0],
        )


def _is(expr: Expr, name: str) -> bool:
    return isinstance(expr, Variable) and expr.name == name


def _made(making: Sequence[Split | Fuse], names: dict[str, str]) -> list[tuple[object, ...]]:
    """The splits and fuses, with neutral names for their dimensions."""
    known, found = dict(names), list[tuple[object, ...]]()
    for record in making:
        taken = tuple(known.pop(name, name) for name in record.taken)
        found.append((taken, record.made, record.factor if isinstance(record, Split) else None))
    return found
