"""A schedule as a text says it: what could be read, what could not, and where each thing stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from attrs import field, frozen

from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.syntax_error import Mistake, Problem, ScheduleSyntaxError, problem_at


@frozen
class WrittenSchedule:
    """What a text says of a schedule.

    Attributes:
        schedule: what could be read of it.
        problems: the mistakes in the text, in its order.
        named: the Funcs that the text names.
        unread: the Funcs whose entries may not be as the text means them, because of mistakes.
    """

    schedule: Schedule
    problems: tuple[Problem, ...] = ()
    named: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    text: str = field(default="", repr=False)
    places: Mapping[tuple[str, int, str], tuple[int, int]] = field(factory=dict, repr=False)

    def faultless(self) -> Self:
        """This, where its text has no mistakes.

        Raises:
            ScheduleSyntaxError: it has some; all are listed with their places.
        """
        if self.problems:
            raise ScheduleSyntaxError(self.problems)
        return self

    def place(self, func: str, stage: int, loop: str) -> tuple[int, int] | None:
        """Line and column, from 1, where a loop of a stage is named last; where it is not, those of
        the last statement about the stage; None without a statement.
        """
        for key in ((func, stage, loop), (func, stage, ""), (func, 0, "")):
            if key in self.places:
                return problem_at(self.text, Mistake("", *self.places[key])).place
        return None
