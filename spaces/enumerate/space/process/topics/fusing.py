"""Decisions about loops that stages of several Funcs share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial

from attrs import evolve, frozen

from spaces.constraints.rules.rule import RESTRICTION, VIOLATED, Check, SpaceRule
from spaces.enumerate.space.process.decision import DecisionOption
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topic import Change, in_universe, unchanged
from spaces.enumerate.space.process.topics.orders import every_orders
from spaces.model.schedules.domain_order import DomainOrder
from spaces.model.schedules.fused_groups import dependent, groups, in_turn
from spaces.model.schedules.schedule import (
    Companion,
    FuncSchedule,
    LoopAlign,
    Schedule,
    StageOf,
)


@frozen
class WithTopic:
    """Whether a Func is computed with one that is decided already, or that one with it."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} with"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        # It claims nothing: a Func decided later may be computed with this one.
        yield DecisionOption(f"{self.func} is computed with none of the Funcs before", {}, state)
        if not state.entry.companions:
            for other in state.entries:
                if other.compute == state.entry.compute and not other.companions:
                    yield from _joins(state, state.entry, other)
                    if all(one.name != other.name for one in state.given):
                        yield from _joins(state, other, state.entry)

    def decisions(self, start: ProcessState) -> Mapping[str, Mapping[str, Change]]:
        """With which stage of another Func one of this Func is computed, to what depth, and which
        iterations of each fused loop run together.
        """
        found: dict[str, Change] = {"none": unchanged}
        for one, depth in dict.fromkeys(self._companions(start)):
            for aligns in itertools.product(start.choices.alignments, repeat=depth):
                is_auto = all(align is LoopAlign.AUTO for align in aligns)
                shown = () if is_auto else (align.qualified for align in aligns)
                label = ", ".join((_label(self.func, one), *shown))
                found[label] = partial(_fused, one, aligns)
        return {in_universe(self.name): found}

    def _companions(self, start: ProcessState) -> Iterator[tuple[Companion, int]]:
        """The stages of other Funcs that may lead one of this Func, each with a loop and its depth,
        whatever is decided.
        """
        producers = start.pipeline.producers
        for other in (function.name for function in start.pipeline.functions):
            if other == self.func or other in producers[self.func] or self.func in producers[other]:
                continue
            for stage, order in _stage_orders(start, self.func):
                for number, led in _stage_orders(start, other):
                    for depth, loop in enumerate(order.names[: _shared(order, led)], start=1):
                        yield Companion(StageOf(other, number), loop, stage=stage), depth


def _stage_orders(start: ProcessState, func: str) -> Iterator[tuple[int, DomainOrder]]:
    """All domain orders that the stages of a Func may have, each with the number of the stage."""
    return itertools.chain.from_iterable(map(enumerate, every_orders(start, func)))


def _fused(one: Companion, aligns: tuple[LoopAlign, ...], entry: FuncSchedule) -> FuncSchedule:
    """The entry whose outermost loops are fused with those of a stage, and how these run together.
    Rules refuse it if the loop has another depth.
    """
    names = entry.stages[one.stage].names[: len(aligns)]
    return evolve(entry, companions=(evolve(one, aligned=tuple(zip(names, aligns, strict=False))),))


def joining_rules(start: ProcessState) -> Iterator[SpaceRule]:
    """What the process offers of the Funcs that may be computed with each other, if the space has
    them. An open Func shares loops with at most one Func decided before it. Either of the two may
    join the other. The earlier one must not have joined another Func before.
    """
    if "compute_with" not in start.choices.directives:
        return
    turn = {function.name: n for n, function in enumerate(reversed(start.pipeline.functions))}
    given = {entry.name for entry in start.given}

    def check(structure: Schedule, func: str) -> Iterator[Check]:
        led = {
            one.name: one.companions[0].other.func
            for one in structure.funcs
            if one.companions and one.name not in given
        }
        joined = {name: max((name, other), key=turn.__getitem__) for name, other in led.items()}
        one_each = len(set(joined.values())) == len(joined)
        to_leaders = all(
            other not in led or turn[joined[other]] > turn[joined[name]]
            for name, other in led.items()
            if joined[name] == name
        )
        if not (one_each and to_leaders and given.isdisjoint(joined.values())):
            yield Check(func, VIOLATED, "The space does not offer these shared loops.")

    statement = "each open Func shares the loops of at most one Func decided before it"
    yield SpaceRule(f"{RESTRICTION}{statement}", statement, "The process.", check)


def _joins(
    state: ProcessState, follower: FuncSchedule, leader: FuncSchedule
) -> Iterator[DecisionOption]:
    """The ways in which a stage of ``follower`` is computed with one of ``leader``."""
    if not _have_turns(state, follower, leader):
        return
    for stage, order in enumerate(follower.stages):
        for other, led in enumerate(leader.stages):
            for depth in range(1, _shared(order, led) + 1):
                loop = order.names[depth - 1]
                companion = Companion(StageOf(leader.name, other), loop, stage=stage)
                yield _option(state, follower, companion, depth)


def _option(
    state: ProcessState, follower: FuncSchedule, companion: Companion, depth: int
) -> DecisionOption:
    """The outermost loops of a stage are fused with those of another one."""
    stage = StageOf(follower.name, companion.stage)

    def join(state: ProcessState) -> ProcessState:
        after = _replace_entry(state, evolve(follower, companions=(companion,)))
        return after.then(*(AlignTopic(stage, place) for place in range(1, depth + 1)))

    claims = {f"{stage} with": f"{companion.other} {depth}"}
    return DecisionOption(_label(follower.name, companion), claims, state, change=join)


def _label(follower: str, one: Companion) -> str:
    return f"{StageOf(follower, one.stage)}.compute_with({one.other}, {one.loop})"


@frozen
class AlignTopic:
    """Which iterations of a fused loop run together.

    Attributes:
        stage: the stage that is computed with another one.
        place: the place of the loop among those of the stage, from 1.
    """

    stage: StageOf
    place: int

    @property
    def func(self) -> str:
        return self.stage.func

    @property
    def name(self) -> str:
        return f"{self.stage} align {self.place}"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        entries = (state.entry, *state.entries)
        entry = next(one for one in entries if one.name == self.func)
        loop = entry.stages[self.stage.stage].names[self.place - 1]
        for align in state.choices.alignments:
            claimed = None if align is LoopAlign.AUTO else str(align)
            yield DecisionOption(
                f"loop {loop} of {self.stage}: {align.qualified}",
                {self.name: claimed},
                state,
                change=partial(_align, entry, loop, align),
            )


def _align(entry: FuncSchedule, loop: str, align: LoopAlign, state: ProcessState) -> ProcessState:
    """The state in which iterations of one more fused loop of an entry run together that way."""
    (companion,) = entry.companions
    aligned = evolve(companion, aligned=(*companion.aligned, (loop, align)))
    return _replace_entry(state, evolve(entry, companions=(aligned,)))


def _have_turns(state: ProcessState, follower: FuncSchedule, leader: FuncSchedule) -> bool:
    """Whether a Func may be computed with another one. No Func of a group that is computed together
    may read another Func of the group, and all groups must be able to run one after the other.
    """
    producers = state.pipeline.producers
    if follower.name in producers[leader.name] or leader.name in producers[follower.name]:
        return False
    if not any(entry.companions for entry in state.entries):
        return True
    entries = {entry.name: entry for entry in (*state.entries, state.entry)}
    entries[follower.name] = evolve(follower, companions=(Companion(StageOf(leader.name, 0), ""),))
    found = groups(Schedule(tuple(entries.values())))
    mine = next(group for group in found if follower.name in group)
    functions = state.pipeline.functions
    return dependent(state.pipeline, mine) is None and in_turn(functions, found) is not None


def _shared(first: DomainOrder, second: DomainOrder) -> int:
    """How many outermost loops of two stages have the same names and kinds."""
    count = 0
    for a, b in zip(first.loops, second.loops, strict=False):
        if a != b:
            break
        count += 1
    return count


def _replace_entry(state: ProcessState, entry: FuncSchedule) -> ProcessState:
    if entry.name == state.entry.name:
        return state.with_draft(entry)
    entries = tuple(entry if one.name == entry.name else one for one in state.entries)
    return state.replace(entries=entries)


def with_topics(state: ProcessState, func: str) -> Iterator[WithTopic]:
    """What is decided about the Funcs that a Func is computed with, if the space has it."""
    if "compute_with" in state.choices.directives:
        yield WithTopic(func)
