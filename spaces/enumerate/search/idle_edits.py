"""Edits that leave out a directive which may do nothing.

Searches try numbers and directives that turn out to do nothing. Examples are a split by 1, a tile
longer than the extent, ``align_bounds`` of what is aligned, and a wrapper that is inlined. Another
is ``atomic`` where iterations that change the same element run one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias

from attrs import evolve, frozen

from spaces.enumerate.space.atomic_stages import atomic_stages
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.directives.edit import Edit
from spaces.model.schedules.derivations import RFactor, Wrap
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import DomainOrder, Fuse, OrderedLoop, Split
from spaces.model.schedules.schedule import Alignment, FuncSchedule, LoopLevel, Schedule

RunsOnce: TypeAlias = Callable[[Function, int, str], bool]
"""Whether a loop or a dimension of a stage of a Func has a single iteration."""


def leave_out_directives(
    pipeline: Pipeline, schedule: Schedule, kept: Collection[str]
) -> Iterator[Edit]:
    """Edits that each leave out a wrapper that is inlined, an ``align_bounds``, or an ``atomic``
    that no stage needs; none of the Funcs to keep.
    """
    whole = derived(pipeline, schedule)
    for step in reversed(schedule.derivations):
        if isinstance(step, Wrap) and step not in pipeline.derivations:
            yield from _leave_out_wrapper(schedule, step)
    for entry in schedule.funcs:
        if entry.name in kept:
            continue
        for bound in entry.bounds:
            if isinstance(bound, Alignment):
                others = tuple(one for one in entry.bounds if one is not bound)
                yield Edit(entry.name, schedule.replace(evolve(entry, bounds=others)))
        needed = atomic_stages(whole.function(entry.name), entry.stages) if entry.atomic else ()
        for stage in set(entry.atomic).difference(needed):
            atomic = tuple(one for one in entry.atomic if one != stage)
            yield Edit(entry.name, schedule.replace(evolve(entry, atomic=atomic)))


def leave_out_loops(
    pipeline: Pipeline, schedule: Schedule, runs_once: RunsOnce, kept: Collection[str]
) -> Iterator[Edit]:
    """Edits that each leave out a split or fuse with a loop of a single iteration, or a split whose
    loops are fused again; none of the Funcs to keep.
    """
    whole = derived(pipeline, schedule)
    for entry in schedule.funcs:
        if entry.name not in kept and _is_plain(schedule, entry):
            for stage in range(len(entry.stages)):
                function = whole.function(entry.name)
                yield from _StageEdits(schedule, function, stage, runs_once).leave_out_records()


def _leave_out_wrapper(schedule: Schedule, step: Wrap) -> Iterator[Edit]:
    """The edit that leaves out a wrapper which is inlined, if no other derivation builds on it."""
    others = tuple(one for one in schedule.derivations if one is not step)
    is_used = any(step.name in (one.func, *getattr(one, "consumers", ())) for one in others)
    if schedule.of(step.name).compute.is_inline and not is_used:
        entries = tuple(entry for entry in schedule.funcs if entry.name != step.name)
        yield Edit(step.name, Schedule(entries, others))


def _is_plain(schedule: Schedule, entry: FuncSchedule) -> bool:
    """Whether nothing but compute and store levels names the loops of a Func."""
    names = {name.other.func for one in schedule.funcs for name in one.companions}
    factored = {one.func for one in schedule.derivations if isinstance(one, RFactor)}
    return not (
        entry.specializations
        or entry.companions
        or entry.name in names | factored
        or any(order.prefetches or order.partitions or order.lanes for order in entry.stages)
    )


@frozen
class _StageEdits:
    """The edits of the domain order of a stage.

    Attributes:
        schedule: the schedule.
        function: the Func.
        stage: the number of the stage.
        runs_once: whether a loop or a dimension has a single iteration.
    """

    schedule: Schedule
    function: Function
    stage: int
    runs_once: RunsOnce

    @property
    def _order(self) -> DomainOrder:
        return self.schedule.of(self.function.name).stages[self.stage]

    def leave_out_records(self) -> Iterator[Edit]:
        """The edits that leave out a split, a fuse, or both."""
        for record in self._order.splits:
            if isinstance(record, Split):
                yield from self._leave_out_round_trip(record)
            for once, left in ((record.inner, record.outer), (record.outer, record.inner)):
                if not self.runs_once(self.function, self.stage, once):
                    continue
                if isinstance(record, Split):
                    yield from self._leave_out_split(record, once, left)
                else:
                    yield from self._leave_out_fuse(record, once, left)

    def _leave_out_round_trip(self, split: Split) -> Iterator[Edit]:
        """Leaves out a split and the fuse of its two loops in their order, unless something else
        takes one of these loops.
        """
        later = self._order.splits[self._order.splits.index(split) + 1 :]
        made = {split.outer, split.inner}
        fuse = next((one for one in later if made & {*one.taken, *one.made}), None)
        if isinstance(fuse, Fuse) and (fuse.inner, fuse.outer) == (split.inner, split.outer):
            yield from self._edit((split, fuse), fuse.fused, (split.old,))

    def _leave_out_fuse(self, fuse: Fuse, once: str, left: str) -> Iterator[Edit]:
        """Leaves out the fuse of a dimension of one iteration, which becomes a loop of its own,
        unless something else takes the fused loop.
        """
        if fuse.fused in self._order.names:
            yield from self._edit((fuse,), fuse.fused, (once, left))

    def _leave_out_split(self, split: Split, once: str, left: str) -> Iterator[Edit]:
        """Leaves out a split with the loop that runs once, unless something names this loop."""
        order = self._order
        later = order.splits[order.splits.index(split) + 1 :]
        level = LoopLevel(self.function.name, once)
        is_level = any(level in (f.compute, f.store, f.hoist) for f in self.schedule.funcs)
        is_named = is_level or any(once in (*one.taken, *one.made) for one in later)
        if once not in order.names or is_named:
            return
        if not (order.kind(once).is_gpu and not order.kind(left).is_gpu):
            yield from self._edit((split,), left, (split.old,), once)

    def _edit(
        self, records: tuple[Split | Fuse, ...], old: str, new: tuple[str, ...], lost: str = ""
    ) -> Iterator[Edit]:
        """Leaves out records and a loop. Another loop gets a new name, the last of ``new``; serial
        loops of the other names are around it. None if two loops then have the same name.
        """
        order, name = self._order, self.function.name
        last = max(map(order.splits.index, records))
        splits = tuple(
            record if place < last else _rename_loop(record, old, new[-1])
            for place, record in enumerate(order.splits)
            if record not in records
        )
        loops: list[OrderedLoop] = []
        for loop in order.loops:
            if loop.name == old:
                loops += [*map(OrderedLoop, new[:-1]), evolve(loop, name=new[-1])]
            elif loop.name != lost:
                loops.append(loop)
        if len({loop.name for loop in loops}) == len(loops):
            changed = evolve(order, splits=splits, loops=tuple(loops))
            after = self.schedule.with_stage(name, self.stage, changed)
            yield Edit(name, _rename_level(after, LoopLevel(name, old), new[-1]))


def _rename_loop(record: Split | Fuse, old: str, new: str) -> Split | Fuse:
    """A record with another name of one loop."""

    def of(name: str) -> str:
        return new if name == old else name

    if isinstance(record, Fuse):
        return Fuse(of(record.inner), of(record.outer), of(record.fused))
    return evolve(record, old=of(record.old), outer=of(record.outer), inner=of(record.inner))


def _rename_level(schedule: Schedule, level: LoopLevel, name: str) -> Schedule:
    """The schedule with another name of the loop of a level."""
    moved = evolve(level, loop=name)

    def of(one: LoopLevel) -> LoopLevel:
        return moved if one == level else one

    return schedule.with_funcs(
        evolve(entry, compute=of(entry.compute), store=of(entry.store), hoist=of(entry.hoist))
        for entry in schedule.funcs
    )
