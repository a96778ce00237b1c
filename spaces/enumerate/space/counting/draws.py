"""Random schedules of a space: samples and estimates are made from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from attrs import define, field, frozen

from spaces.constraints.legality.verdict import CheckedSchedule, Verdict
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.schedules.schedule import Schedule


@frozen
class Draw:
    """A random schedule.

    Attributes:
        verdict: whether it is in the space. An illegal schedule may have more violations than the
            verdict lists. It lists none if the draw ended before all Funcs were decided.
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


def sampled(
    draws: Iterator[Draw], sample: Sampled, name: str, attempts: int, seconds: float
) -> Iterator[Sampled]:
    """The sample before the first draw and after each one: one record, which grows.

    Args:
        draws: has no end.
        sample: without schedules.
        name: of the pipeline and the device, for messages.
        attempts: the largest number of draws for each schedule.
        seconds: the time limit for all of them.

    Raises:
        EmptySpaceError: hardly any draw is legal.
        TimeoutError: the time does not suffice, though many draws are legal.
    """
    deadline = Deadline.after(seconds)
    yield sample
    timed = deadline.each(draws)
    try:
        while not sample.is_complete:
            if sample.tried == sample.wanted * attempts:
                raise EmptySpaceError(_hardly_any(sample, name))
            sample.add(next(timed))
            yield sample
    except OutOfTime:
        if sample.tried and not sample.schedules:
            raise EmptySpaceError(_hardly_any(sample, name)) from None
        raise TimeoutError(
            f"Of {sample.tried} candidates drawn in {seconds:g} s {len(sample.schedules)} are "
            f"legal, and sample was asked for {sample.wanted}; give it more seconds."
        ) from None


def _hardly_any(sample: Sampled, name: str) -> str:
    """The message if few random schedules are legal, with the rules that the others break."""
    common = ", ".join(f"{rule} ({times})" for rule, times in sample.broken.most_common(3))
    return (
        f"Of {sample.tried} candidates drawn for {name} only {len(sample.schedules)} are legal; "
        f"what most of the others break is {common or 'nothing'}. Choose smaller tiles or fewer "
        "lanes in the options; explain_empty(space) tells whether anything is legal."
    )
