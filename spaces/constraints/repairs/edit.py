"""An edit: another option for one decision of a schedule."""

from __future__ import annotations

from enum import IntEnum

from attrs import field, frozen

from spaces.model.schedules.schedule import Schedule


class Rank(IntEnum):
    """How much an edit changes the intent. Among equally many edits, lower ranks come first."""

    NAME = 0
    FACTOR = 1
    TAIL = 2
    FOLD = 3
    MEMORY = 4
    STORE = 5
    SPLIT = 6
    ORDER = 7
    COMPUTE = 8
    KIND = 9
    DROP = 10
    LEAVE_GPU = 11
    """A stage loses all of its block loops, or all of its thread loops; an inlined one both."""


@frozen
class Edit:
    """A change of one decision.

    Attributes:
        func: the Func whose entry it changes.
        rank: how much it changes the intent.
        unlike: the distance of the new option from the old one, from 0 to 1.
        after: the schedule with the decision changed.
        text: the directive to write, and the one it replaces; empty during the search if directives
            can write the schedules before and after.
        loops: the (stage, loop) pairs whose existence or kind it changes.
        changes: decisions changed: 1, except where a whole Func starts over or one statement tells
            of several edits.
    """

    func: str
    rank: Rank
    unlike: float
    after: Schedule = field(repr=False)
    text: str = ""
    loops: frozenset[tuple[int, str]] = frozenset()
    changes: int = 1
