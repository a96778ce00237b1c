"""Good schedules, and random legal ones: half anywhere in a space, half near good schedules.

Uniformly random schedules are often ten to a hundred times slower than good ones, and a cost model
must also rank the fast ones. So schedules of an even number are plain draws
(:meth:`ScheduleSpace.draws`), in which each schedule of the space has the same chance. Those of an
odd number are the ends of random walks. Each walk starts at one of the good schedules and changes
one to six random decisions, each time with random legal numbers for some parameters. Every schedule
depends on its seed and its number alone, so any of them can be drawn without the others. Negative
numbers are the good schedules themselves, from -1 down.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from attrs import frozen

from spaces.enumerate.space.edits import DecidedSchedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule

LONGEST_WALK = 6
"""The most decisions that a walk changes."""

CHOICES = 64
"""How many choices of numbers a change has at most."""

TRIES = 50
"""After this many changes without a legal choice a walk ends where it is."""


class Origin(StrEnum):
    """How a schedule was drawn."""

    DRAW = "draw"
    """All schedules of the space had the same chance."""
    WALK = "walk"
    """It is the end of a random walk from a good schedule."""
    GOOD = "good"
    """It is a good schedule itself."""
    FOUND = "found"
    """A search by other prices found it (:mod:`bench.cost_quality.found`)."""


@frozen
class Drawing:
    """Draws the schedules of a space by their numbers.

    Attributes:
        space: a space of patterns.
        good: the schedules at which walks start.
        beyond: good schedules at which no walk starts, such as those outside of the space.
        seed: the seed of all draws.
    """

    space: ScheduleSpace
    good: Sequence[Schedule]
    beyond: Sequence[Schedule] = ()
    seed: int = 0

    @property
    def numbers_of_good(self) -> Sequence[int]:
        """The numbers of the good schedules."""
        return range(-1, -1 - len(self.good) - len(self.beyond), -1)

    @staticmethod
    def origin(number: int) -> Origin:
        """How the schedule of a number is drawn."""
        if number < 0:
            return Origin.GOOD
        return Origin.WALK if number % 2 else Origin.DRAW

    def schedule(self, number: int) -> Schedule:
        """The schedule of a number."""
        if self.origin(number) is Origin.GOOD:
            return [*self.good, *self.beyond][-1 - number]
        if self.origin(number) is Origin.DRAW:
            return self._drawn(number)
        return self._walked(random.Random(f"{self.seed} {number}"))

    def _drawn(self, number: int) -> Schedule:
        chosen = random.Random(f"{self.seed} {number}")
        draws = self.space.draws(chosen.randrange(1 << 62))
        return next(one.schedule for one in draws if one.schedule is not None)

    def _walked(self, chosen: random.Random) -> Schedule:
        schedule = chosen.choice(self.good)
        decided = DecidedSchedule.of(self.space, schedule)
        wanted = chosen.randint(1, LONGEST_WALK)
        done = 0
        for _ in range(TRIES):
            edit = decided.draw_edit(chosen)
            if done == wanted or edit is None:
                break
            structure = edit.open_numbers(chosen, CHOICES)
            legal = np.flatnonzero(self.space.legal(structure))
            if legal.size:
                schedule = structure.at(int(chosen.choice(legal)))
                decided = edit.with_numbers_of(schedule)
                done += 1
        return schedule
