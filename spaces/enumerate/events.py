"""What a search tells while it runs: one stream for progress bars, logs, time limits and tests."""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from spaces.model.schedules.schedule import Schedule


@frozen
class Found:
    """A legal schedule and its cost.

    Attributes:
        cost: what the cost model gives for it, in the model's own unit; lower is better.
        schedule: with numbers for all of its factors, to verify, print and compile.
    """

    cost: float
    schedule: Schedule


@frozen
class Expanded:
    """A step of the search begins.

    Attributes:
        step: counted from 1.
        steps: how many there will be; 0 where that is not known.
        what: what is decided in it, such as a Func.
    """

    step: int
    steps: int
    what: str


@frozen
class Scored:
    """So many structures, with so many choices of tile sizes, have a cost by now.

    Attributes:
        structures: how many loop structures.
        choices: how many choices of tile sizes, of all of these together.
    """

    structures: int
    choices: int


@frozen
class Improved:
    """A schedule is better than all before it.

    Attributes:
        best: that schedule and its cost.
    """

    best: Found


@frozen
class Done:
    """The end of a search.

    Attributes:
        best: the best schedules, best first, no two with the same structure.
        structures: structures with a cost.
        choices: choices of tile sizes with a cost.
        complete: whether the search ran to its own end, not to that of its time.
    """

    best: tuple[Found, ...]
    structures: int
    choices: int
    complete: bool


Event: TypeAlias = Expanded | Scored | Improved | Done
