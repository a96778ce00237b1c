"""Stages whose loops are fused by ``compute_with``: which, and in what order they run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from attrs import frozen

from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.schedule import Companion, Schedule, StageOf

_T = TypeVar("_T")


def companions(schedule: Schedule) -> dict[StageOf, Companion]:
    """What is said of each stage that is computed with one of another Func."""
    return {StageOf(f.name, one.stage): one for f in schedule.funcs for one in f.companions}


def leaders(schedule: Schedule) -> dict[str, list[str]]:
    """For each Func of which stages are computed with others the Funcs of these."""
    return {
        f.name: list(dict.fromkeys(one.other.func for one in f.companions))
        for f in schedule.funcs
        if f.companions
    }


def circle(schedule: Schedule, func: str) -> tuple[str, ...]:
    """Funcs, each computed with the next one and the last one with ``func``, which is the first;
    none where it is in no circle.
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
    """The Funcs that are computed with each other, each before those that it is computed with;
    where there are no circles.
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
    """Stages in fused loops: that whose loops are those of all, and the others, each behind the one
    that it is computed with, and those of one Func in their order.
    """

    root: StageOf
    children: tuple[StageOf, ...] = ()


def root_of(pairs: Mapping[StageOf, Companion], stage: StageOf) -> StageOf:
    """The stage whose loops are those in which ``stage`` is computed."""
    seen = {stage}
    while stage in pairs and pairs[stage].other not in seen:
        stage = pairs[stage].other
        seen.add(stage)
    return stage


def turns(
    schedule: Schedule, group: Sequence[str], counts: Mapping[str, int]
) -> tuple[Fused, ...] | None:
    """All stages of the Funcs of a group, of which there are ``counts``, in the order in which they
    run; None where fused loops leave no order in which stages of each Func follow each other.
    """
    pairs = companions(schedule)
    members: dict[StageOf, list[StageOf]] = {}
    for func in reversed(group):
        for index in range(counts[func]):
            stage = StageOf(func, index)
            members.setdefault(root_of(pairs, stage), []).append(stage)
    after: dict[StageOf, list[StageOf]] = {root: [] for root in members}
    for func in group:
        roots = [root_of(pairs, StageOf(func, index)) for index in range(counts[func])]
        for before, root in pairwise(roots):
            if before != root:
                after[before].append(root)
    order = _in_order(after, after)
    if order is None:
        return None
    return tuple(Fused(r, tuple(s for s in members[r] if s != r)) for r in order)


def _in_order(names: Iterable[_T], after: Mapping[_T, Sequence[_T]]) -> tuple[_T, ...] | None:
    """``names`` so that each is before those that are ``after`` it; None where some are in a
    circle. What need not be moved keeps its place.
    """
    left, order = list(names), list[_T]()
    while left:
        waiting = {later for name in left for later in after.get(name, ()) if later in left}
        free = next((name for name in left if name not in waiting), None)
        if free is None:
            return None
        order.append(free)
        left.remove(free)
    return tuple(order)


def depends(pipeline: Pipeline, reader: str, read: str) -> bool:
    """Whether a Func reads another, directly or through others."""
    known, found = {f.name: f for f in pipeline.functions}, set[str]()
    open_ = [reader]
    while open_:
        function = known.get(open_.pop())
        callees = [] if function is None else [c for c in function.callees if c not in found]
        found.update(callees)
        open_ += callees
    return read in found and reader != read


def in_turn(
    functions: Iterable[Function], groups: Iterable[tuple[str, ...]]
) -> tuple[str, ...] | None:
    """The names of Funcs, producers first, with those of a group one right after the other; None
    where there is no such order.
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
