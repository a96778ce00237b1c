"""Stages whose loops are fused by ``compute_with``: which, and in what order they run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import permutations, takewhile
from typing import TypeVar

from attrs import frozen

from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.schedule import Companion, Schedule, StageOf

_T = TypeVar("_T")


def companions(schedule: Schedule) -> dict[StageOf, Companion]:
    """The record of each stage that ``compute_with`` fuses with a stage of another Func."""
    return {StageOf(f.name, one.stage): one for f in schedule.funcs for one in f.companions}


def leaders(schedule: Schedule) -> dict[str, list[str]]:
    """For each Func with fused stages: the Funcs that its stages are computed with."""
    return {
        f.name: list(dict.fromkeys(one.other.func for one in f.companions))
        for f in schedule.funcs
        if f.companions
    }


def circle(schedule: Schedule, func: str) -> tuple[str, ...]:
    """A circle of Funcs: ``func`` first, each computed with the next, the last with ``func``. Empty
    if ``func`` is in no circle.
    """
    led = leaders(schedule)
    open_: list[tuple[str, ...]] = [(func,)]
    seen = set[str]()
    while open_:
        path = open_.pop()
        for leader in led.get(path[-1], ()):
            if leader == func:
                return path
            if leader not in seen:
                seen.add(leader)
                open_.append((*path, leader))
    return ()


def groups(schedule: Schedule) -> tuple[tuple[str, ...], ...]:
    """The Funcs that are computed with each other, each before those that it is computed with.
    There must be no circles.
    """
    led = leaders(schedule)
    joined: list[dict[str, None]] = []
    for func, others in led.items():
        members = dict.fromkeys((func, *others))
        beside = [g for g in joined if not g.keys().isdisjoint(members)]
        joined = [g for g in joined if g not in beside]
        joined.append(dict.fromkeys(name for g in (*beside, members) for name in g))
    return tuple(_in_order(group, led) or tuple(group) for group in joined)


@frozen
class Fused:
    """A stage, or several stages that share a loop.

    Attributes:
        root: the stage, or the stage that owns the shared loop.
        inside: what an iteration of the shared loop runs, in order; empty for one stage.
    """

    root: StageOf
    inside: tuple[Fused, ...] = ()

    @property
    def stages(self) -> tuple[StageOf, ...]:
        """All stages, in the order in which an iteration runs them."""
        return tuple(s for one in self.inside for s in one.stages) or (self.root,)


@frozen
class FusedGroups:
    """Which loops the stages of ``schedule`` have in common.

    Attributes:
        pairs: the record of each stage that is computed with another one.
        depths: how many loops, from the outermost, each stage shares with the stage that it is
        computed with; empty if the rules about fused stages are broken.
    """

    schedule: Schedule
    pairs: dict[StageOf, Companion]
    depths: dict[StageOf, int]

    @classmethod
    def of(cls, schedule: Schedule) -> FusedGroups:
        """The fused stages of a schedule."""
        pairs = companions(schedule)
        names = {
            StageOf(f.name, i): o.names for f in schedule.funcs for i, o in enumerate(f.stages)
        }
        rings = {name for name in leaders(schedule) if circle(schedule, name)}
        depths = {}
        for stage, one in pairs.items():
            mine, theirs = names.get(stage, ()), names.get(one.other, ())
            depth = mine.index(one.loop) + 1 if one.loop in mine else 0
            if depth and stage.func not in rings and mine[:depth] == theirs[:depth]:
                depths[stage] = depth
        return cls(schedule, pairs, depths)

    def others(self, stage: StageOf, index: int) -> tuple[StageOf, ...]:
        """The stages along which loop ``index`` is fused: ``stage``, the stage that its loop is
        fused with, and so on. The last one owns the loop.
        """
        found = [stage]
        while self.depths.get(found[-1], 0) > index:
            found.append(self.pairs[found[-1]].other)
        return tuple(found)

    def owner(self, stage: StageOf, index: int) -> StageOf:
        """The stage that owns loop ``index`` of ``stage``, counted from the outermost loop."""
        return self.others(stage, index)[-1]

    def shared(self, stage: StageOf, other: StageOf) -> int:
        """How many loops two stages have in common that are computed with others."""
        depth = min(self.depths[stage], self.depths[other])
        owners = ((self.owner(stage, index), self.owner(other, index)) for index in range(depth))
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], owners))

    def units(self, stages: Sequence[StageOf], depth: int = 0) -> tuple[Fused, ...] | None:
        """Stages with ``depth`` loops in common, in the order in which an iteration runs them. None
        if no order keeps the stages of each Func in sequence.
        """
        members: dict[StageOf, list[StageOf]] = {}
        last: dict[str, StageOf] = {}
        after: dict[StageOf, list[StageOf]] = {}
        for stage in stages:
            root = self.owner(stage, depth)
            members.setdefault(root, []).append(stage)
            before = last.get(stage.func, root)
            if before != root:
                after.setdefault(before, []).append(root)
            last[stage.func] = root
        order, units = _in_order(members, after), list[Fused]()
        if order is None:
            return None
        for root in order:
            inside = () if members[root] == [root] else self.units(members[root], depth + 1)
            if inside is None:
                return None
            units.append(Fused(root, inside))
        return tuple(units)


def turns(schedule: Schedule, group: Sequence[str]) -> tuple[Fused, ...] | None:
    """All stages of the Funcs of a group in the order in which they run; None if no order keeps the
    stages of each Func in sequence.
    """
    counts = {func: len(schedule.of(func).stages) for func in group}
    stages = [StageOf(func, index) for func in reversed(group) for index in range(counts[func])]
    if len(group) == 1 and not schedule.of(group[0]).companions:
        return tuple(Fused(stage, ()) for stage in stages)  # as of all Funcs of most schedules
    return FusedGroups.of(schedule).units(stages)


def _in_order(names: Iterable[_T], after: Mapping[_T, Sequence[_T]]) -> tuple[_T, ...] | None:
    """``names`` in an order in which each comes before those ``after`` it; None if some are in a
    circle. A name moves only if it must.
    """
    places = {name: place for place, name in enumerate(names)}
    waits = dict.fromkeys(places, 0)
    for name in places:
        for later in after.get(name, ()):
            if later in waits:
                waits[later] += 1
    free = [(place, name) for name, place in places.items() if not waits[name]]
    order: list[_T] = []
    while free:
        _, first = heappop(free)
        order.append(first)
        for later in after.get(first, ()):
            if later in waits:
                waits[later] -= 1
                if not waits[later]:
                    heappush(free, (places[later], later))
    return tuple(order) if len(order) == len(places) else None


def dependent(pipeline: Pipeline, group: Iterable[str]) -> tuple[str, str] | None:
    """Two Funcs of a group, if one reads another: the reader first. None otherwise."""
    producers, pairs = pipeline.producers, permutations(group, 2)
    return next((pair for pair in pairs if pair[1] in producers.get(pair[0], ())), None)


def in_turn(
    functions: Iterable[Function], groups: Iterable[tuple[str, ...]]
) -> tuple[str, ...] | None:
    """The names of Funcs, producers first, with the Funcs of a group next to each other; None if
    there is no such order.
    """
    of = {name: group for group in groups for name in group}
    callees = {f.name: f.callees for f in functions}
    units = dict.fromkeys(of.get(name, (name,)) for name in callees)
    after: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for name, read in callees.items():
        mine = of.get(name, (name,))
        for unit in (of.get(callee, (callee,)) for callee in read):
            if unit != mine:
                after.setdefault(unit, []).append(mine)
    order = _in_order(units, after)
    return None if order is None else tuple(name for unit in order for name in unit)
