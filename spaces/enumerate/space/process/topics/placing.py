"""Decisions about the call schedule: where a Func is computed and stored, and how."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from attrs import evolve, frozen

from spaces.enumerate.space.frontier import ResidualPath, depth_of, open_depths, store_depths
from spaces.enumerate.space.process.decision import Claims, DecisionOption, Topic
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.factors import FactorsTopic
from spaces.enumerate.space.process.topics.fusing import WithTopic
from spaces.enumerate.space.process.topics.orders import OrderTopic, fitting
from spaces.enumerate.space.process.topics.storing import (
    LAYOUTS,
    LayoutTopic,
    MemoryTopic,
    StorageOrderTopic,
)
from spaces.model.nest.canonical import bound_text
from spaces.model.schedules.schedule import (
    INLINE,
    ROOT,
    Alignment,
    Bound,
    FuncSchedule,
    LoopLevel,
)


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
                yield _decided(f"{self.func} as given", {}, state, entry)
                return
        plain = FuncSchedule.default(state.function(self.func), stored=False)
        is_output = self.func in state.pipeline.outputs
        placements = state.choices.placements
        is_read = is_output or state.frontier.reads(self.func)
        # Root comes first: inlined pyramids would be so large that iterating finds nothing legal.
        if is_read and ("root" in placements or is_output):
            yield self._placed(state, plain, ROOT, ROOT, str(ROOT), 0)
        if not is_read or may_be_inlined(state, self.func):
            label, claims = f"{self.func}.compute_inline()", {self.name: str(INLINE)}
            yield _decided(label, claims, state, plain)
        if not is_read:
            return  # its clones replace it: nothing says which values to compute
        if "at" in placements and not is_output:
            path = state.frontier.path(self.func)
            for depth in _levels(state, self.func):
                loop = path[depth - 1]
                part = state.level_part(loop)
                yield self._placed(state, plain, loop.level, loop.level, part, depth)

    def _placed(
        self,
        state: ProcessState,
        plain: FuncSchedule,
        compute: LoopLevel,
        store: LoopLevel,
        part: str,
        depth: int,
    ) -> DecisionOption:
        label = (
            "compute_root()" if compute.is_root else f"compute_at({compute.func}, {compute.loop})"
        )

        def placed(state: ProcessState) -> ProcessState:
            entry = evolve(plain, compute=compute, store=store)
            return state.changed(draft=entry, agenda=(*self._topics(state, depth), *state.agenda))

        return DecisionOption(f"{self.func}.{label}", {self.name: part}, state, change=placed)

    def _topics(self, state: ProcessState, depth: int) -> list[Topic]:
        """What is decided next about the Func, computed at a depth of its path."""
        directives = state.choices.directives
        topics: list[Topic] = [OrderTopic(self.func)]
        if "compute_with" in directives:
            topics.append(WithTopic(self.func))
        topics.append(StoreTopic(self.func, depth))
        if "hoist_storage" in directives and self.func not in state.pipeline.outputs:
            topics.append(HoistTopic(self.func, depth))
        topics += storage_topics(state, self.func)
        bounds = (BoundTopic(self.func, dimension) for dimension in state.function(self.func).args)
        topics += (topic for topic in bounds if topic.records(state))
        return [*topics, CloseTopic(self.func)]


def _decided(
    label: str, claims: Claims, state: ProcessState, entry: FuncSchedule
) -> DecisionOption:
    """The option that gives a Func an entry of which nothing else is to decide."""
    return DecisionOption(
        label, claims, state, change=lambda state: state.with_draft(entry).decided()
    )


def may_be_inlined(state: ProcessState, func: str) -> bool:
    """Whether a Func may be inlined by a decision."""
    is_given = any(entry.name == func for entry in state.given)
    is_pure = state.function(func).is_pure and func not in state.pipeline.outputs
    return "inline" in state.choices.placements and is_pure and not is_given


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


def storage_topics(state: ProcessState, func: str) -> Iterator[Topic]:
    """What is decided about the storage of a Func wherever it is computed, by the directives of the
    space.
    """
    directives = state.choices.directives
    if func in state.pipeline.outputs:
        return
    if "store_in" in directives:
        yield MemoryTopic(func)
    if "reorder_storage" in directives:
        yield StorageOrderTopic(func)
    layouts = [layout for layout in LAYOUTS if layout.directive in directives]
    for dimension in state.function(func).args:
        for layout in layouts:
            yield LayoutTopic(func, dimension, layout)


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
        following = path[depth].kind if depth < len(path) else None
        if not (step.kind.is_gpu and following is step.kind):
            yield depth


@frozen
class StoreTopic:
    """Where a Func that is computed at depth ``depth`` of its path is stored."""

    func: str
    depth: int

    @property
    def name(self) -> str:
        return f"{self.func} store"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        path = state.frontier.path(self.func)
        outside = state.choices.storage == "outside"
        depths = store_depths(path, self.depth) if outside else [self.depth]
        for depth in depths:
            level = path[depth - 1].level if depth else ROOT
            part = state.level_part(path[depth - 1]) if depth else str(ROOT)
            label = "store_root()" if level.is_root else f"store_at({level.func}, {level.loop})"
            stored = partial(_stored_at, level)
            yield DecisionOption(f"{self.func}.{label}", {self.name: part}, state, change=stored)


def _stored_at(level: LoopLevel, state: ProcessState) -> ProcessState:
    """The state in which the Func is stored at a level."""
    is_same = state.entry.store == level
    return state if is_same else state.with_draft(evolve(state.entry, store=level))


@frozen
class HoistTopic:
    """Where the memory of a Func is obtained: where it is stored, or further outside."""

    func: str
    depth: int

    @property
    def name(self) -> str:
        return f"{self.func} hoist"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        yield DecisionOption(f"memory of {self.func} where it is stored", {self.name: None}, state)
        path = state.frontier.path(self.func)
        stored = depth_of(path, state.entry.store)
        for depth in store_depths(path, stored)[:0:-1]:
            level = path[depth - 1].level if depth else ROOT
            part = state.level_part(path[depth - 1]) if depth else str(ROOT)
            at = f"hoist_storage({level.func}, {level.loop})"
            after = state.with_draft(evolve(state.entry, hoist=level))
            yield DecisionOption(
                f"{self.func}.{'hoist_storage_root()' if level.is_root else at}",
                {self.name: part},
                after,
            )


MODULI = (2, 4, 8)
"""What extents may be aligned to."""


@frozen
class BoundTopic:
    """Whether a dimension of a Func has an explicit bound: its box at the estimates if it is short,
    or an alignment.
    """

    func: str
    dimension: str

    @property
    def name(self) -> str:
        return f"{self.func} bound {self.dimension}"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        part = f"{self.name} 0"
        yield DecisionOption(f"no bound of {self.func}, {self.dimension}", {part: None}, state)
        for record in self.records(state):
            after = state.with_draft(evolve(state.entry, bounds=(*state.entry.bounds, record)))
            text = bound_text(record)
            yield DecisionOption(f"{self.func} {self.dimension}: {text}", {part: text}, after)

    def records(self, state: ProcessState) -> list[Bound | Alignment]:
        """The bounds that the dimension may have."""
        directives = state.choices.directives
        found: list[Bound | Alignment] = []
        if "bound" in directives:
            box = state.sizes.boxes.get(self.func, {}).get(self.dimension)
            if box is not None and 0 < box[1] <= state.choices.short:
                found.append(Bound(self.dimension, *box))
        if "align_bounds" in directives:
            found += (Alignment(self.dimension, modulus) for modulus in MODULI)
        return found


@frozen
class CloseTopic:
    """The end of the decisions about a Func."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} done"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        decided = ProcessState.decided
        yield DecisionOption(f"{self.func} is decided", {}, state, change=decided)
