"""Decisions about the storage of a Func: its memory, its order of dimensions, its layout."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Protocol

from attrs import evolve, frozen

from spaces.constraints.rules.storage import memory_types
from spaces.enumerate.space.frontier import depth_of
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topic import EntryChoice, EntryTopic, ListedTopic, unchanged
from spaces.model.schedules.schedule import (
    Fold,
    FuncSchedule,
    MemoryType,
    Pad,
    StorageBound,
)


class LaidOut(Protocol):
    """Gives the storage of one dimension a number."""

    def __call__(self, entry: FuncSchedule, *, dimension: str, number: int) -> FuncSchedule:
        """The entry with it."""
        ...


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


def _folded(entry: FuncSchedule, *, dimension: str, number: int) -> FuncSchedule:
    return evolve(entry, folds=(*entry.folds, Fold(dimension, number)))


def _padded(entry: FuncSchedule, *, dimension: str, number: int) -> FuncSchedule:
    return evolve(entry, pads=(*entry.pads, Pad(dimension, number)))


def _bounded(entry: FuncSchedule, *, dimension: str, number: int) -> FuncSchedule:
    return evolve(entry, storage_bounds=(*entry.storage_bounds, StorageBound(dimension, number)))


LAYOUTS = (
    StorageLayout("fold_storage", "fold", _folded),
    StorageLayout("align_storage", "align storage", _padded),
    StorageLayout("bound_storage", "bound storage", _bounded),
)
"""The directives that give the storage of a dimension a number."""


@frozen
class LayoutTopic(ListedTopic):
    """Whether the storage of a Func has a layout along a dimension, and with which number."""

    func: str
    dimension: str
    layout: StorageLayout

    @property
    def name(self) -> str:
        return f"{self.func} {self.layout.part} {self.dimension}"

    def choices(self, state: ProcessState) -> Iterator[EntryChoice]:
        directive = self.layout.directive
        yield EntryChoice(
            f"no {directive} of {self.func} along {self.dimension}", {self.name: None}, unchanged
        )
        for number in state.choices.folds:
            yield EntryChoice(
                f"{self.func}.{directive}({self.dimension}, {number})",
                # Only folds have a direction; the process leaves it to the library.
                {self.name: number, f"{self.name} backward": None},
                partial(self.layout.added, dimension=self.dimension, number=number),
            )


@frozen
class MemoryTopic(ListedTopic):
    """The kind of memory of a Func."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} memory"

    def choices(self, state: ProcessState) -> Iterator[EntryChoice]:
        yield EntryChoice(f"{self.func} in any memory", {self.name: None}, unchanged)
        for memory in MemoryType:
            if memory is not MemoryType.AUTO:
                label = f"{self.func}.store_in({memory.qualified})"
                change = partial(evolve, memory=memory)
                yield EntryChoice(label, {self.name: str(memory)}, change)

    def is_open(self, choice: EntryChoice, state: ProcessState) -> bool:
        """Whether the memory exists where the Func is stored."""
        path = state.frontier.path(self.func)
        around = {step.kind for step in path[: depth_of(path, state.entry.store)]}
        return choice.claims[self.name] in (None, *map(str, memory_types(around)))


@frozen
class StorageOrderTopic(ListedTopic):
    """The order of dimensions in storage."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} storage order"

    def choices(self, state: ProcessState) -> Iterator[EntryChoice]:
        part = f"{self.name} 0"
        args = state.function(self.func).args
        yield EntryChoice(f"{self.func} stored as written", {part: None}, unchanged)
        for order in itertools.permutations(args):
            if order != args:
                yield EntryChoice(
                    f"{self.func}.reorder_storage({', '.join(order)})",
                    {part: " ".join(order)},
                    partial(evolve, storage_orders=(order,)),
                )


def storage_topics(state: ProcessState, func: str) -> Iterator[EntryTopic]:
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


TOPICS = (storage_topics,)
