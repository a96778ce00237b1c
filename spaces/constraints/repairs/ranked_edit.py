"""An edit of a repair: a change of one decision, and how much it changes what was meant."""

from __future__ import annotations

from enum import IntEnum

from attrs import frozen

from spaces.model.directives.edit import Edit


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
class RankedEdit(Edit):
    """An edit of a repair. Its text is the directive to write, and the one that it replaces; during
    the search it is empty if directives can write the schedules before and after.

    Attributes:
        rank: how much it changes the intent.
        unlike: the distance of the new option from the old one, from 0 to 1.
        loops: the (stage, loop) pairs whose existence or kind it changes.
        changes: decisions changed: 1, except where a whole Func starts over or one statement tells
            of several edits.
    """

    rank: Rank
    unlike: float
    loops: frozenset[tuple[int, str]] = frozenset()
    changes: int = 1
