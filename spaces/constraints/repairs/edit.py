"""One decision of a schedule taken otherwise."""

from __future__ import annotations

from enum import IntEnum

from attrs import field, frozen

from spaces.model.schedules.schedule import Schedule


class Rank(IntEnum):
    """How much an edit changes what was meant: of as many edits, those of lower ranks first."""

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
        rank: how much it changes what was meant.
        unlike: how far the new option is from the old one, from 0 to 1.
        after: the schedule with the decision changed.
        text: what to write, and what it stands instead of; the search leaves it empty where
            directives write the schedules before and after.
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
