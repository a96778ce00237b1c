"""Decisions about the call schedule: where a Func is computed and stored, and how."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from types import EllipsisType
from typing import TypeAlias

from attrs import evolve, frozen

from spaces.enumerate.space.frontier import (
    ResidualPath,
    depth_of,
    in_one_grid,
    open_depths,
    store_depths,
)
from spaces.enumerate.space.places import FuncPlaces
from spaces.enumerate.space.process import topics
from spaces.enumerate.space.process.decision import Claims, DecisionOption
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topic import (
    Change,
    EntryChoice,
    EntryTopic,
    Topic,
    in_universe,
    unchanged,
)
from spaces.enumerate.space.process.topics import bounding, flags, storing
from spaces.enumerate.space.process.topics.factors import FactorsTopic
from spaces.enumerate.space.process.topics.fusing import with_topics
from spaces.enumerate.space.process.topics.orders import OrderTopic, every_orders, fitting
from spaces.model.deadline import ask_clock
from spaces.model.discovery import find_in_files
from spaces.model.schedules.schedule import INLINE, ROOT, FuncSchedule, LoopLevel

TopicsMaker: TypeAlias = Callable[[ProcessState, str], Iterator[Topic]]
"""The topics of one file about a Func, as far as the options of the space have them."""


@frozen
class FuncsTopic:
    """All Funcs, consumers first, and then all factors."""

    func: str = ""
    name: str = "funcs"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        names = [function.name for function in reversed(state.pipeline.functions)]
        yield DecisionOption(
            "consumers first", {}, state.then(*map(PlaceTopic, names), FactorsTopic())
        )


@frozen
class PlaceTopic:
    """Where a Func is computed."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} compute"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        for entry in state.given:
            if entry.name == self.func:
                yield _decide_entry(f"{self.func} as given", {}, state, entry)
                return
        plain = FuncSchedule.default(state.function(self.func), stored=False)
        places = FuncPlaces.of(state.pipeline, state.choices, self.func)
        path = state.frontier.path(self.func)
        is_read = self.func in state.pipeline.outputs or state.frontier.reads(self.func)
        # Root comes first: inlined pyramids would be so large that iterating finds nothing legal.
        if is_read and places.root:
            yield self._placed(state, plain, path, 0)
        if not is_read or places.inline:
            label, claims = f"{self.func}.compute_inline()", {self.name: str(INLINE)}
            yield _decide_entry(label, claims, state, plain)
        if not is_read:
            return  # its clones replace it: nothing says which values to compute
        if places.at:
            for depth in _levels(state, self.func):
                yield self._placed(state, plain, path, depth)

    def decisions(self, start: ProcessState) -> Mapping[str, Mapping[str, Change]]:
        """The place: inlined, root, and all loops of readers."""
        places = FuncPlaces.of(start.pipeline, start.choices, self.func)
        found: dict[str, Change] = {}
        if places.inline:
            found["inline"] = unchanged
        if places.root:
            found["root"] = partial(evolve, compute=ROOT, store=ROOT)
        if places.at:
            for level in _every_level(start, self.func):
                found[str(level)] = partial(evolve, compute=level, store=level)
        return {in_universe(self.name): found}

    def _placed(
        self, state: ProcessState, plain: FuncSchedule, path: ResidualPath, depth: int
    ) -> DecisionOption:
        """The option to compute the Func at a depth of its path."""
        level, part = _level(state, path, depth)
        label = _call("compute_root", "compute_at", level)

        def placed(state: ProcessState) -> ProcessState:
            entry = evolve(plain, compute=level, store=level)
            return state.replace(
                draft=entry, agenda=(*_topics_of(state, self.func, depth), *state.agenda)
            )

        return DecisionOption(f"{self.func}.{label}", {self.name: part}, state, change=placed)


def _level(state: ProcessState, path: ResidualPath, depth: int) -> tuple[LoopLevel, str]:
    """The level at a depth of a path, and how canonical forms write it."""
    if not depth:
        return ROOT, str(ROOT)
    return path[depth - 1].level, state.level_part(path[depth - 1])


def _call(at_root: str, at_loop: str, level: LoopLevel) -> str:
    """The directive that puts something at a level."""
    return f"{at_root}()" if level.is_root else f"{at_loop}({level.func}, {level.loop})"


def _decide_entry(
    label: str, claims: Claims, state: ProcessState, entry: FuncSchedule
) -> DecisionOption:
    """The option that gives a Func its whole entry."""
    return DecisionOption(
        label, claims, state, change=lambda state: state.with_draft(entry).close_func()
    )


def _topics_of(state: ProcessState, func: str, depth: int = 0) -> Iterator[Topic]:
    """What is decided about a Func that is computed at a depth of its path. The process and the
    solver read this.
    """
    if state.function(func).is_opaque:  # it has no loops to decide
        yield CloseTopic(func)
        return
    yield OrderTopic(func)
    yield from with_topics(state, func)
    yield StoreTopic(func, depth)
    for topics_about in list_makers():
        yield from topics_about(state, func)
    yield CloseTopic(func)


@cache
def list_makers() -> tuple[TopicsMaker, ...]:
    """What makes the topics about a Func whose loops and store level are decided: first those whose
    order is that of the decisions, then the ``TOPICS`` of every other file of the folder.
    """
    first = (hoist_topics, *storing.TOPICS, *bounding.TOPICS, *flags.TOPICS)
    found = (one for of_file in find_in_files(topics, "TOPICS") for one in of_file)
    return tuple(dict.fromkeys((*first, *found)))


def entry_topics(start: ProcessState, func: str) -> Iterator[EntryTopic]:
    """What is decided about the entry of a Func alone, where it is computed first. Nothing else is
    decided about an inlined one.
    """
    yield PlaceTopic(func)
    yield from (one for one in _topics_of(start, func) if isinstance(one, EntryTopic))


def _every_level(start: ProcessState, func: str) -> list[LoopLevel]:
    """Every loop that may be around a use of a Func: the loops of all Funcs that read it, directly
    or not, except vectorized and unrolled loops.
    """
    producers = start.pipeline.producers
    levels: dict[LoopLevel, None] = {}
    for reader in (function.name for function in reversed(start.pipeline.functions)):
        ask_clock()
        if reader != func and func in producers[reader]:
            for order in chain(*every_orders(start, reader)):
                open_ = (loop for loop in order.loops if not loop.kind.has_constant_extent)
                levels |= {LoopLevel(reader, loop.name): None for loop in open_}
    return list(levels)


def may_be_inlined(state: ProcessState, func: str) -> bool:
    """Whether a Func may be inlined by a decision."""
    is_given = any(entry.name == func for entry in state.given)
    return not is_given and FuncPlaces.of(state.pipeline, state.choices, func).inline


def may_start_nest(state: ProcessState, func: str) -> bool:
    """Whether a decision may compute a Func at root, and it is then no larger than the largest
    image or output at the estimates.
    """
    is_given = any(entry.name == func for entry in state.given)
    extents = [state.sizes.extent(func, arg) for arg in state.function(func).args]
    if is_given or "root" not in state.choices.placements:
        return False
    largest = max(math.prod(extent for _, extent in one.ranges) for one in state.pipeline.estimates)
    known = [extent for extent in extents if extent is not None]
    return len(known) == len(extents) and math.prod(known) <= largest


def _levels(state: ProcessState, func: str) -> Iterator[int]:
    """The depths of the path of a Func at which it may be computed, other than root."""
    path, inner = state.frontier.path(func), state.choices.inner
    if "loops" in inner:
        yield from _all_depths(path)
        return
    for depth in open_depths(path):
        if "nests" in inner or fitting(state, func, path[:depth], at_root=False):
            yield depth


def _all_depths(path: ResidualPath) -> Iterator[int]:
    """All depths but those between the loops of a grid of blocks or threads."""
    for depth, step in enumerate(path, start=1):
        if depth == len(path) or not in_one_grid(step.kind, path[depth].kind):
            yield depth


@frozen
class StoreTopic:
    """Where a Func that is computed at depth ``depth`` of its path is stored."""

    func: str
    depth: int = 0

    @property
    def name(self) -> str:
        return f"{self.func} store"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        path = state.frontier.path(self.func)
        outside = FuncPlaces.of(state.pipeline, state.choices, self.func).outside
        for depth in store_depths(path, self.depth) if outside else [self.depth]:
            level, part = _level(state, path, depth)
            label = _call("store_root", "store_at", level)
            change = partial(_stored, level)
            yield EntryChoice(f"{self.func}.{label}", {self.name: part}, change).option(state)

    def decisions(self, start: ProcessState) -> Mapping[str, Mapping[str, Change]]:
        """The store level of a Func that is computed at a loop: root, and all loops of readers."""
        places = FuncPlaces.of(start.pipeline, start.choices, self.func)
        levels = _every_level(start, self.func) if places.at and places.outside else []
        found = {str(one): partial(_stored, one) for one in (ROOT, *levels)} if levels else {}
        return {in_universe(self.name): found}


def _stored(level: LoopLevel, entry: FuncSchedule) -> FuncSchedule:
    """The entry stored at a level, if the Func is computed at a loop."""
    is_so = entry.compute.is_root or entry.store == level
    return entry if is_so else evolve(entry, store=level)


@frozen
class HoistTopic:
    """Where the memory of a Func is obtained: where it is stored, or further outside."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} hoist"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        yield self._plain.option(state)
        path = state.frontier.path(self.func)
        stored = depth_of(path, state.entry.store)
        for depth in store_depths(path, stored)[:0:-1]:
            yield self._at(*_level(state, path, depth)).option(state)

    def decisions(self, start: ProcessState) -> Mapping[str, Mapping[str, Change]]:
        """The hoist level of a Func that is stored at a loop: none, root, and all loops of
        readers.
        """
        places = FuncPlaces.of(start.pipeline, start.choices, self.func)
        levels = _every_level(start, self.func) if places.at else []
        hoisted = [self._at(one, ...) for one in (ROOT, *levels)] if levels else []
        return {in_universe(self.name): {one.label: one.change for one in (self._plain, *hoisted)}}

    @property
    def _plain(self) -> EntryChoice:
        label = f"memory of {self.func} where it is stored"
        return EntryChoice(label, {self.name: None}, unchanged)

    def _at(self, level: LoopLevel, part: str | EllipsisType) -> EntryChoice:
        label = _call("hoist_storage_root", "hoist_storage", level)
        return EntryChoice(f"{self.func}.{label}", {self.name: part}, partial(_hoisted, level))


def _hoisted(level: LoopLevel, entry: FuncSchedule) -> FuncSchedule:
    """The entry with its memory obtained at a level, unless the Func is stored there anyway."""
    is_so = entry.store.is_root or entry.store == level
    return entry if is_so else evolve(entry, hoist=level)


def hoist_topics(state: ProcessState, func: str) -> Iterator[HoistTopic]:
    """What is decided about the place of the memory of a Func, if the space has it."""
    if "hoist_storage" in state.choices.directives and func not in state.pipeline.outputs:
        yield HoistTopic(func)


@frozen
class CloseTopic:
    """The end of the decisions about a Func."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} done"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        label = f"{self.func} is decided"
        yield DecisionOption(label, {}, state, change=ProcessState.close_func)
