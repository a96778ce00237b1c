"""Random schedules of a space: samples and estimates are made from them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from attrs import define, field, frozen

from spaces.constraints.legality.verdict import CheckedSchedule, Verdict
from spaces.model.schedules.schedule import Schedule


@frozen
class Draw:
    """A random schedule.

    Attributes:
        verdict: what the space says of it; an illegal schedule without violations if the draw ended
            before all Funcs were decided.
        weight: for how many legal schedules it stands; 0 if it is illegal. The mean over many draws
            of ``weight * f(schedule)`` estimates the sum of ``f`` over all legal schedules.
    """

    verdict: Verdict
    weight: Fraction

    @property
    def schedule(self) -> Schedule | None:
        """The schedule, if it is legal."""
        return self.verdict.schedule if isinstance(self.verdict, CheckedSchedule) else None


@define
class Sampled:
    """The schedules of a running sample.

    Attributes:
        wanted: the number of schedules to draw.
        tried: the number of draws so far.
        schedules: the legal ones among them.
        broken: how many of the others break each rule.
    """

    wanted: int
    tried: int = 0
    schedules: list[Schedule] = field(factory=list)
    broken: Counter[str] = field(factory=Counter)

    def add(self, draw: Draw) -> None:
        """Counts one more draw."""
        self.tried += 1
        if draw.schedule is not None:
            self.schedules.append(draw.schedule)
        self.broken.update({violation.rule for violation in draw.verdict.violations})

    @property
    def is_complete(self) -> bool:
        """Whether it has all schedules."""
        return len(self.schedules) >= self.wanted
