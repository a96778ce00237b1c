"""Edits of the call schedule of a Func: levels, memory, folds."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from attrs import evolve, frozen

from spaces.constraints.repairs.left_out import leave_out_directives
from spaces.constraints.repairs.ranked_edit import Rank, RankedEdit
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import (
    INLINE,
    ROOT,
    Fold,
    FuncSchedule,
    LoopLevel,
    MemoryType,
    Schedule,
)


@frozen
class CallEdits:
    """The edits of the call schedule of ``func``."""

    pipeline: Pipeline
    schedule: Schedule
    func: str

    @property
    def _entry(self) -> FuncSchedule:
        return self.schedule.of(self.func)

    def all(self) -> Iterator[RankedEdit]:
        """Every edit, in no order."""
        yield from self._move_compute()
        yield from self._move_storage()
        yield from self._change_memory()
        yield from self._change_folds()
        yield from self._make_atomic()
        yield from leave_out_directives(self.schedule, self.func)

    @property
    def _is_on_gpu(self) -> bool:
        """Whether a stage of the Func has GPU loops, which an inlined Func does not have."""
        stages = self._entry.stages
        return any(loop.kind.is_gpu for order in stages for loop in order.loops)

    def _edit(self, rank: Rank, unlike: float, entry: FuncSchedule) -> RankedEdit:
        return RankedEdit(self.func, self.schedule.replace(entry), rank, unlike)

    def place_at(self, to: Iterable[LoopLevel]) -> Iterator[RankedEdit]:
        """The edits that compute and store a Func, which is not inlined, at one of these levels."""
        entry = self._entry
        levels = self._levels()
        for level in to if not entry.compute.is_inline else ():
            if level != entry.compute:
                moved = evolve(entry, compute=level, store=level, hoist=INLINE)
                yield self._edit(Rank.COMPUTE, _unlike(entry.compute, level, levels), moved)

    def _move_compute(self) -> Iterator[RankedEdit]:
        """Other compute levels; the store level follows unless it was set separately."""
        entry = self._entry
        levels = self._levels()
        for level in (*levels, ROOT, INLINE):
            if level != entry.compute:
                follows = entry.store == entry.compute or level.is_inline
                moved = evolve(entry, compute=level, store=level if follows else entry.store)
                rank = Rank.LEAVE_GPU if level.is_inline and self._is_on_gpu else Rank.COMPUTE
                yield self._edit(rank, _unlike(entry.compute, level, levels), moved)

    def _move_storage(self) -> Iterator[RankedEdit]:
        entry = self._entry
        levels = self._levels()
        if entry.store != entry.compute:
            yield self._edit(Rank.STORE, 0.5, evolve(entry, store=entry.compute))
        for level in (*levels, ROOT):
            if level not in (entry.store, entry.compute):
                moved = evolve(entry, store=level)
                yield self._edit(Rank.STORE, _unlike(entry.store, level, levels), moved)

    def _levels(self) -> tuple[LoopLevel, ...]:
        """The loops of all direct and indirect consumers of the Func, consumers first."""
        found: dict[LoopLevel, None] = {}
        readers = set(self.pipeline.consumers(self.func))
        for function in reversed(self.pipeline.functions):
            if function.name not in readers:
                continue
            for order in self.schedule.of(function.name).stages:
                found |= {LoopLevel(function.name, name): None for name in order.names}
        waiting = list(readers)
        while waiting:
            for name in self.pipeline.consumers(waiting.pop()):
                if name not in readers:
                    readers.add(name)
                    waiting.append(name)
                    for order in self.schedule.of(name).stages:
                        found |= {LoopLevel(name, loop): None for loop in order.names}
        return tuple(found)

    def _change_memory(self) -> Iterator[RankedEdit]:
        entry = self._entry
        for memory in MemoryType:
            if memory is not entry.memory:
                unlike = 0.25 if memory is MemoryType.AUTO else 0.5
                yield self._edit(Rank.MEMORY, unlike, evolve(entry, memory=memory))

    def _make_atomic(self) -> Iterator[RankedEdit]:
        """Edits that make updates atomic."""
        entry = self._entry
        for stage in range(1, len(entry.stages)):
            if stage not in entry.atomic:
                atomic = tuple(sorted((*entry.atomic, stage)))
                yield self._edit(Rank.MEMORY, 0.75, evolve(entry, atomic=atomic))

    def _change_folds(self) -> Iterator[RankedEdit]:
        """Edits that leave a fold out, move it to another dimension, or reverse it."""
        entry = self._entry
        for fold in entry.folds:
            others = tuple(f for f in entry.folds if f != fold)
            yield self._edit(Rank.FOLD, 1.0, evolve(entry, folds=others))
            for name in self.pipeline.function(self.func).args:
                if all(name != f.dimension for f in entry.folds):
                    folds = (*others, Fold(name, fold.factor))
                    unlike = name_distance(fold.dimension, name)
                    yield self._edit(Rank.FOLD, unlike, evolve(entry, folds=folds))
            turned = evolve(fold, forward=not fold.forward)
            yield self._edit(Rank.FOLD, 0.1, evolve(entry, folds=(*others, turned)))


def name_distance(written: str, meant: str) -> float:
    """The distance of two names, from 0 for the same name to 1."""
    return 1 - difflib.SequenceMatcher(None, written, meant).ratio()


def _unlike(old: LoopLevel, new: LoopLevel, levels: tuple[LoopLevel, ...]) -> float:
    """The distance of two levels; by spelling if the old one names no existing loop."""
    if new.is_inline or new.is_root:
        return 0.9 if new.is_inline else 0.8
    if old in levels:
        return 0.7 * abs(levels.index(old) - levels.index(new)) / len(levels)
    if old.is_inline or old.is_root:
        return 0.5
    return 0.7 * (name_distance(old.func, new.func) + name_distance(old.loop, new.loop)) / 2
