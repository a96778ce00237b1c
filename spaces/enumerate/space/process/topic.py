"""Topics: what is to be decided at a point of the process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from attrs import frozen

from spaces.enumerate.space.process.decision import Claims, DecisionOption
from spaces.model.schedules.schedule import FuncSchedule

if TYPE_CHECKING:
    from spaces.enumerate.space.process.state import ProcessState


class Topic(Protocol):
    """What is to be decided at a point of the process. A topic alone knows its directive: which
    options it has in a state, which parts of canonical forms each of them decides (``claims``), and
    how likely draws take it (``weight``).
    """

    @property
    def name(self) -> str:
        """The name of the decision."""
        ...

    @property
    def func(self) -> str:
        """The Func that it is about; empty if it is about the whole pipeline."""
        ...

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        """The options, at least one. ``state.agenda`` starts after this topic."""
        ...


Change: TypeAlias = Callable[[FuncSchedule], FuncSchedule]
"""What a decision does to the entry of a Func."""


@runtime_checkable
class EntryTopic(Topic, Protocol):
    """A topic about the entry of one Func. It can also be decided on its own, whatever is decided
    about other Funcs, as the solver does.
    """

    def decisions(self, start: ProcessState) -> Mapping[str, Mapping[str, Change]]:
        """All that it may decide in any state of a process, legal or not: decisions by name, each
        with its options by name.

        Args:
            start: the state in which nothing is decided.
        """
        ...


@frozen
class EntryChoice:
    """One way to decide a topic about the entry of a Func.

    Attributes:
        label: what it does, as a directive if it adds one.
        claims: the parts of canonical forms that it decides.
        change: what it does to the entry.
    """

    label: str
    claims: Claims
    change: Change

    def option(self, state: ProcessState) -> DecisionOption:
        """The option of a state in which it is open."""
        return DecisionOption(self.label, self.claims, state, change=self._apply)

    def _apply(self, state: ProcessState) -> ProcessState:
        entry = self.change(state.entry)
        return state if entry is state.entry else state.with_draft(entry)


class ListedTopic(ABC):
    """A topic about the entry of one Func that lists its choices."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the decision: the Func, a blank, and what is decided about it."""

    @abstractmethod
    def choices(self, state: ProcessState) -> Iterator[EntryChoice]:
        """All choices, the plain one first. They are the same in all states of a process."""

    def is_open(self, choice: EntryChoice, state: ProcessState) -> bool:
        """Whether a state offers a choice."""
        return True

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        """The options of a state."""
        return (one.option(state) for one in self.choices(state) if self.is_open(one, state))

    def decisions(self, start: ProcessState) -> Mapping[str, Mapping[str, Change]]:
        """The choices as one decision."""
        return {in_universe(self.name): {one.label: one.change for one in self.choices(start)}}


def in_universe(name: str) -> str:
    """The name that the solver gives a decision about a Func: ``f.store`` for ``f store``."""
    return name.replace(" ", ".", 1)


def unchanged(entry: FuncSchedule) -> FuncSchedule:
    """The entry as it is."""
    return entry
