"""Decisions about the storage of a Func: its memory, its order of dimensions, its layout."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TypeAlias

from attrs import evolve, frozen

from spaces.constraints.rules.storage import memory_types
from spaces.enumerate.space.frontier import depth_of
from spaces.enumerate.space.process.decision import DecisionOption
from spaces.enumerate.space.process.state import ProcessState
from spaces.model.schedules.schedule import Fold, FuncSchedule, Pad, StorageBound

LaidOut: TypeAlias = Callable[[FuncSchedule, str, int], FuncSchedule]
"""An entry with a number for the storage of one dimension."""


@frozen
class StorageLayout:
    """A directive that gives the storage of a dimension a number.

    Attributes:
        directive: its name.
        part: its name in canonical forms.
        added: the entry with it.
    """

    directive: str
    part: str
    added: LaidOut


def _folded(entry: FuncSchedule, dimension: str, factor: int) -> FuncSchedule:
    return evolve(entry, folds=(*entry.folds, Fold(dimension, factor)))


def _padded(entry: FuncSchedule, dimension: str, multiple: int) -> FuncSchedule:
    return evolve(entry, pads=(*entry.pads, Pad(dimension, multiple)))


def _bounded(entry: FuncSchedule, dimension: str, extent: int) -> FuncSchedule:
    return evolve(entry, storage_bounds=(*entry.storage_bounds, StorageBound(dimension, extent)))


LAYOUTS = (
    StorageLayout("fold_storage", "fold", _folded),
    StorageLayout("align_storage", "align storage", _padded),
    StorageLayout("bound_storage", "bound storage", _bounded),
)
"""The directives that give the storage of a dimension a number."""


@frozen
class LayoutTopic:
    """Whether the storage of a Func has a layout along a dimension, and with which number."""

    func: str
    dimension: str
    layout: StorageLayout

    @property
    def name(self) -> str:
        return f"{self.func} {self.layout.part} {self.dimension}"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        directive = self.layout.directive
        yield DecisionOption(
            f"no {directive} of {self.func} along {self.dimension}", {self.name: None}, state
        )
        for number in state.choices.folds:
            yield DecisionOption(
                f"{self.func}.{directive}({self.dimension}, {number})",
                # Only folds have a direction; the process leaves it to the library.
                {self.name: number, f"{self.name} backward": None},
                state.with_draft(self.layout.added(state.entry, self.dimension, number)),
            )


@frozen
class MemoryTopic:
    """The kind of memory of a Func."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} memory"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        yield DecisionOption(f"{self.func} in any memory", {self.name: None}, state)
        path = state.frontier.path(self.func)
        around = {step.kind for step in path[: depth_of(path, state.entry.store)]}
        for memory in memory_types(around):
            after = state.with_draft(evolve(state.entry, memory=memory))
            yield DecisionOption(
                f"{self.func}.store_in({memory.qualified})", {self.name: str(memory)}, after
            )


@frozen
class StorageOrderTopic:
    """The order of dimensions in storage."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} storage order"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        part = f"{self.name} 0"
        args = state.function(self.func).args
        yield DecisionOption(f"{self.func} stored as written", {part: None}, state)
        for order in itertools.permutations(args):
            if order != args:
                after = state.with_draft(evolve(state.entry, storage_orders=(order,)))
                yield DecisionOption(
                    f"{self.func}.reorder_storage({', '.join(order)})",
                    {part: " ".join(order)},
                    after,
                )
