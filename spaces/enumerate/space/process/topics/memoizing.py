"""Decisions about values that are kept from call to call."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from attrs import evolve, frozen

from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topic import EntryChoice, EntryTopic, ListedTopic, unchanged


@frozen
class MemoizeTopic(ListedTopic):
    """Whether the values of a Func are kept for later calls."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} memoized"

    def choices(self, state: ProcessState) -> Iterator[EntryChoice]:
        yield EntryChoice(f"{self.func} is not memoized", {self.name: None}, unchanged)
        memoized = partial(evolve, memoized=True)
        yield EntryChoice(f"{self.func}.memoize()", {self.name: 1}, memoized)


def memoize_topics(state: ProcessState, func: str) -> Iterator[EntryTopic]:
    """What is decided about the values of a Func for later calls, if the space has it."""
    if "memoize" in state.choices.directives and func not in state.pipeline.outputs:
        yield MemoizeTopic(func)
