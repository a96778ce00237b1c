"""Edits of wrong names: unknown loops, repeated loops, and entries of unknown Funcs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from attrs import evolve, frozen

from spaces.constraints.dependences.hazards import ordering
from spaces.constraints.dependences.orders import Trace, trace
from spaces.constraints.repairs.calls import name_distance
from spaces.constraints.repairs.ranked_edit import Rank, RankedEdit
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derivation, derived
from spaces.model.schedules.domain_order import DomainOrder, Fuse, LoopKind, OrderedLoop, Split
from spaces.model.schedules.schedule import FuncSchedule, Schedule
from spaces.model.writing.calls import call_of
from spaces.model.writing.order_calls import trial


def edit_entries(pipeline: Pipeline, schedule: Schedule) -> Iterator[RankedEdit]:
    """Edits that add or remove entries so that they match the Funcs of the pipeline."""
    default = Schedule.default(pipeline)
    known = [f.name for f in default.funcs]
    for refusal in derivation(pipeline, schedule).refusals:
        kept = tuple(d for d in schedule.derivations if d is not refusal.step)
        name = refusal.step.name
        rest = tuple(e for e in schedule.funcs if e.name in known or e.name != name)
        text = f"{refusal.step} left out"
        yield RankedEdit(name, Schedule(rest, kept), Rank.NAME, 0.5, text=text)
    written = [f.name for f in schedule.funcs]
    missing = [name for name in known if name not in written]
    for i, entry in enumerate(schedule.funcs):
        others = (*schedule.funcs[:i], *schedule.funcs[i + 1 :])
        if entry.name not in known:
            for name in missing:
                renamed = (*schedule.funcs[:i], evolve(entry, name=name), *schedule.funcs[i + 1 :])
                text = f"the schedule of {entry.name} taken for that of {name}"
                unlike = name_distance(entry.name, name) / 2
                yield RankedEdit(name, schedule.with_funcs(renamed), Rank.NAME, unlike, text=text)
        if entry.name not in known or written.count(entry.name) > 1:
            text = f"an entry for {entry.name} left out"
            yield RankedEdit(entry.name, schedule.with_funcs(others), Rank.NAME, 0.5, text=text)
        elif len(entry.stages) != len(default.of(entry.name).stages):
            given, wanted = entry.stages, default.of(entry.name).stages
            stages = (*given[: len(wanted)], *wanted[len(given) :])
            whole = default.of(entry.name) if not given else evolve(entry, stages=stages)
            changed = (*schedule.funcs[:i], whole, *schedule.funcs[i + 1 :])
            text = f"{entry.name} with a domain order for each of its {len(wanted)} stages"
            yield RankedEdit(entry.name, schedule.with_funcs(changed), Rank.NAME, 0.5, text=text)
    for name in missing:
        entries = {f.name: f for f in schedule.funcs} | {name: default.of(name)}
        ordered = tuple(entries.pop(n) for n in known if n in entries)
        text = f"an entry for {name} added, as in the default schedule"
        after = schedule.with_funcs((*ordered, *entries.values()))
        yield RankedEdit(name, after, Rank.NAME, 0.6, text=text)


@frozen
class NameEdits:
    """The edits of names in the domain order of one stage of ``func``."""

    pipeline: Pipeline
    schedule: Schedule
    func: str
    stage: int

    @property
    def _order(self) -> DomainOrder:
        return self.schedule.of(self.func).stages[self.stage]

    def _trace(self, order: DomainOrder) -> Trace:
        function = self.pipeline.function(self.func)
        return trace(function.stages[self.stage], order, ordering(function, self.stage))

    def all(self) -> Iterator[RankedEdit]:
        """Every edit of a wrong name."""
        faults = self._trace(self._order).faults
        if any(fault.kind != "fuse-order" for fault in faults):
            yield from self._rename_in_records()
            yield from self._rename_in_loops()

    def _edit(self, unlike: float, order: DomainOrder, *loops: str) -> RankedEdit:
        after = self.schedule.with_stage(self.func, self.stage, order)
        touched = frozenset((self.stage, loop) for loop in loops)
        return RankedEdit(self.func, after, Rank.NAME, unlike, touched)

    def _rename_in_records(self) -> Iterator[RankedEdit]:
        order = self._order
        for i, record in enumerate(order.splits):
            before = self._trace(DomainOrder(order.splits[:i])).origins
            for part in ("old",) if isinstance(record, Split) else ("inner", "outer"):
                written = getattr(record, part)
                if written not in before:
                    for name in before:
                        yield self._rename(i, part, name, name_distance(written, name))
            taken = set(before) - set(record.taken)
            for part in ("inner", "outer") if isinstance(record, Split) else ("fused",):
                written = getattr(record, part)
                others = self._made(record) - {part}
                if written in taken or written in {getattr(record, o) for o in others}:
                    old = record.old if isinstance(record, Split) else written
                    yield self._rename(i, part, order.unused_name(f"{old}i"), 0.3)

    def _made(self, record: Split | Fuse) -> set[str]:
        return {"inner", "outer"} if isinstance(record, Split) else {"fused"}

    def _rename(self, index: int, part: str, name: str, unlike: float) -> RankedEdit:
        """Edits that replace one name in a split or fuse, with the loops that follow from it."""
        order = self._order
        record = order.splits[index]
        written = getattr(record, part)
        changed = _with_name(record, part, name)
        splits = (*order.splits[:index], changed, *order.splits[index + 1 :])
        place = self._place(record, part)
        if place is not None and not any(written in later.taken for later in splits[index + 1 :]):
            renamed = OrderedLoop(name, order.loops[place].kind)
            loops = (*order.loops[:place], renamed, *order.loops[place + 1 :])
            return self._edit(unlike, DomainOrder(splits, loops), written, name)
        into: dict[str, tuple[str, ...]]
        if isinstance(changed, Split):
            into = {changed.old: (changed.outer, changed.inner)}
        else:
            into = {changed.inner: (changed.fused,)}
        if part in self._made(record):
            into = {written: (written, name)}
        loops = self._fit_loops(splits, order.loops, into)
        return self._edit(unlike, DomainOrder(splits, loops), written, name)

    def _place(self, record: Split | Fuse, part: str) -> int | None:
        """The position, among two loops of one name, of the loop that a split makes: beside the
        other loop of this split. None if it is unclear.
        """
        names = self._order.names
        if not isinstance(record, Split) or part not in self._made(record):
            return None
        places = [i for i, name in enumerate(names) if name == getattr(record, part)]
        if len(places) != 2:
            return None
        if record.outer == record.inner:
            return places[part == "inner"]
        other = record.outer if part == "inner" else record.inner
        if names.count(other) != 1:
            return None
        beside = names.index(other)
        if part == "inner":
            return next((i for i in places if i > beside), None)
        return next((i for i in reversed(places) if i < beside), None)

    def _fit_loops(
        self,
        splits: tuple[Split | Fuse, ...],
        loops: tuple[OrderedLoop, ...],
        into: dict[str, tuple[str, ...]],
    ) -> tuple[OrderedLoop, ...]:
        """The loops after the splits, with the given order and kinds as far as the names match."""
        needed = self._trace(DomainOrder(splits)).origins
        kinds: dict[str, LoopKind] = {}
        for loop in loops:
            if kinds.get(loop.name, LoopKind.SERIAL) is LoopKind.SERIAL:
                kinds[loop.name] = loop.kind
        named = [n for loop in loops for n in into.get(loop.name, (loop.name,))]
        names = dict.fromkeys(name for name in (*named, *needed) if name in needed)
        return tuple(OrderedLoop(name, kinds.get(name, LoopKind.SERIAL)) for name in names)

    def _rename_in_loops(self) -> Iterator[RankedEdit]:
        """Edits that leave out, add or replace a name in the list of loops."""
        order = self._order
        there = self._trace(DomainOrder(order.splits)).origins
        missing = [name for name in there if name not in order.names]
        for i, loop in enumerate(order.loops):
            others = (*order.loops[:i], *order.loops[i + 1 :])
            if loop.name not in there or order.names.count(loop.name) > 1:
                left = others if loop.name in there else self._put_back(i, others)
                yield self._edit(0.9, evolve(order, loops=left), loop.name)
            if loop.name in there and order.names.count(loop.name) == 1:
                continue
            for name in there:
                unlike = name_distance(loop.name, name)
                renamed = (*order.loops[:i], OrderedLoop(name, loop.kind), *order.loops[i + 1 :])
                if name not in missing:
                    renamed = tuple(
                        OrderedLoop(o.name, loop.kind) if o.name == name else o for o in others
                    )
                yield self._edit(unlike, evolve(order, loops=renamed), loop.name, name)
        for name in missing:
            for place in range(len(order.loops), -1, -1):
                loops = (*order.loops[:place], OrderedLoop(name), *order.loops[place:])
                yield self._edit(0.5, evolve(order, loops=loops), name)

    def _put_back(self, index: int, others: tuple[OrderedLoop, ...]) -> tuple[OrderedLoop, ...]:
        """``others`` without the unknown loop at ``index``, in the order nearest to the splits.

        A reorder with an unknown loop puts it outermost, and may have moved another loop.
        """
        directives = trial(Schedule.default(self.pipeline).of(self.func).stages[self.stage])
        for record in self._order.splits:
            directives = call_of(record).on(directives)
        natural = directives.schedule.funcs[0].stages[0].names
        swapped = (*others[1:index], *others[:1], *others[index:]) if index else others
        return min(others, swapped, key=lambda loops: _inversions(loops, natural))


def _inversions(loops: tuple[OrderedLoop, ...], names: tuple[str, ...]) -> int:
    """The number of pairs of loops whose order differs from ``names``."""
    places = [names.index(loop.name) for loop in loops if loop.name in names]
    return sum(a > b for a, b in itertools.combinations(places, 2))


def _with_name(record: Split | Fuse, part: str, name: str) -> Split | Fuse:
    """The record with one of its names replaced."""
    either: Any = record
    changed: Split | Fuse = evolve(either, **{part: name})
    return changed


def is_covered(pipeline: Pipeline, schedule: Schedule) -> bool:
    """Whether a schedule has one entry for each Func, with a domain order for each stage."""
    if derivation(pipeline, schedule).refusals:
        return False
    stages = {f.name: len(f.stages) for f in derived(pipeline, schedule).functions}
    entries: tuple[FuncSchedule, ...] = schedule.funcs
    return len(entries) == len(stages) and all(
        stages.get(entry.name) == len(entry.stages) for entry in entries
    )
