"""Universes: finite sets of schedules given by independent decisions, legal or not.

The solver encoding and the enumerator meet here: a space hands over a :class:`Universe`, and
:mod:`spaces.constraints.solver.encode` turns the rules into constraints over its decisions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from attrs import field, frozen

from spaces.constraints.rules.rule import SpaceRule
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import outline

Option: TypeAlias = str | int
Assignment: TypeAlias = Mapping[str, Option]
"""The chosen option of each decision, by name."""


@frozen
class Decision:
    """One decision about one Func.

    Attributes:
        name: unique in its universe. The name of a numeric decision has no dot; split and fold
            factors use it as a parameter.
        func: the one Func whose schedule entry it changes.
        options: names for a structural decision, numbers for a numeric one; no option twice.
    """

    name: str
    func: str
    options: tuple[Option, ...]

    @property
    def is_numeric(self) -> bool:
        """Whether the options are numbers, for a factor."""
        return all(isinstance(option, int) for option in self.options)


@frozen(repr=False)
class Universe:
    """The set of schedules that some choice of options gives.

    Attributes:
        pipeline: the pipeline to schedule.
        decisions: the independent decisions.
        structure: the schedule of the structural options chosen, in which numeric decisions appear
            as factors by name. A numeric decision that the structure does not mention is *closed*:
            only its first option then is a choice of the universe.
        rules: rules about whole structures, beside those of the library.
        further: the size variables at each size beside the estimates at which choices are legal,
            by the text of the size.
        is_joint: whether Funcs may share loops, so that rules about a Func may read all entries.
    """

    pipeline: Pipeline
    decisions: tuple[Decision, ...]
    structure: Callable[[Assignment], Schedule] = field(eq=False)
    rules: tuple[SpaceRule, ...] = field(default=(), eq=False)
    further: Mapping[str, Mapping[str, float]] = field(factory=dict, eq=False)
    is_joint: bool = False

    def __repr__(self) -> str:
        return outline(self)

    @property
    def structural(self) -> tuple[Decision, ...]:
        """The decisions whose options are names."""
        return tuple(d for d in self.decisions if not d.is_numeric)

    @property
    def numeric(self) -> tuple[Decision, ...]:
        """The decisions whose options are numbers."""
        return tuple(d for d in self.decisions if d.is_numeric)

    def schedule(self, choice: Assignment) -> Schedule:
        """The schedule of one choice; all its factors are numbers."""
        numbers = {d.name: int(choice[d.name]) for d in self.numeric}
        return bind(self.structure(choice), numbers)

    def choices(self) -> Iterator[dict[str, Option]]:
        """Every choice, in the order of decisions and options; two choices give the same schedule
        only if ``structure`` treats their options alike.
        """
        structural = self.structural
        for names in itertools.product(*(d.options for d in structural)):
            chosen = dict(zip((d.name for d in structural), names, strict=True))
            is_open = set(parameters(self.structure(chosen)))
            menus = [d.options if d.name in is_open else d.options[:1] for d in self.numeric]
            for numbers in itertools.product(*menus):
                yield {**chosen, **dict(zip((d.name for d in self.numeric), numbers, strict=True))}
