"""Decisions about loops that stages of several Funcs share."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from spaces.enumerate.space.process.decision import DecisionOption
from spaces.enumerate.space.process.state import ProcessState
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
                    yield from _joins(state, other, state.entry)


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
    after = _replace_entry(state, evolve(follower, companions=(companion,)))
    return DecisionOption(
        f"{stage}.compute_with({companion.other}, {companion.loop})",
        {f"{stage} with": f"{companion.other} {depth}"},
        after.then(*(AlignTopic(stage, place) for place in range(1, depth + 1))),
    )


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
        (companion,) = entry.companions
        for align in state.choices.alignments:
            claimed = None if align is LoopAlign.AUTO else str(align)
            aligned = evolve(companion, aligned=(*companion.aligned, (loop, align)))
            yield DecisionOption(
                f"loop {loop} of {self.stage}: {align.qualified}",
                {self.name: claimed},
                _replace_entry(state, evolve(entry, companions=(aligned,))),
            )


def _have_turns(state: ProcessState, follower: FuncSchedule, leader: FuncSchedule) -> bool:
    """Whether all groups of Funcs computed with each other can run one after the other if two more
    Funcs are computed with each other, and none of a group reads another of it.
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
