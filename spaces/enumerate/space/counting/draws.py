"""Random schedules of a space: samples and estimates are made from them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from attrs import define, field, frozen

from spaces.constraints.legality.judge import record_violations
from spaces.constraints.legality.verdict import CheckedSchedule, Illegal, Verdict
from spaces.enumerate.space.counting.candidates import Candidates
from spaces.enumerate.space.counting.random_ways import random_way
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.space import Space
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.expressions.numbers import seconds_given
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


def draws(space: Space, seed: int = 0) -> Iterator[Draw]:
    """Random schedules without end, legal and illegal ones, independent of each other.

    In a space of patterns alone (``space.only_patterns``) all candidates have the same chance, and
    so have all legal schedules. In other spaces one Func after another is decided, and again if it
    breaks a rule. Simple decisions are likelier than others, and the weights make up for that.
    """
    chosen = random.Random(seed)
    if space.only_patterns:
        candidates = space.once(Candidates)
        while True:
            yield _draw_candidate(space, candidates, chosen)
    start = space.start()
    while True:
        yield _draw_way(space, start, chosen)


def _draw_candidate(space: Space, candidates: Candidates, chosen: random.Random) -> Draw:
    schedule = candidates.at(chosen.randrange(candidates.total))
    found = record_violations(space.pipeline, schedule, space.device, exact=space.options.exact)
    # Most have violations of records: their loop nest is never made.
    verdict = Illegal(found) if found else space.verdict(schedule)
    return Draw(verdict, Fraction(candidates.total if verdict else 0))


def _draw_way(space: Space, start: PartialSchedule, chosen: random.Random) -> Draw:
    found = random_way(start, chosen)
    if found is None:
        return Draw(Illegal(()), Fraction(0))
    verdict = space.verdict(found[0])
    return Draw(verdict, found[1] if verdict else Fraction(0))


def sample(
    space: Space, count: int, seed: int = 0, attempts: int = 1000, seconds: float = 30.0
) -> list[Schedule]:
    """Legal schedules, sampled independently, so a schedule may come twice; uniformly if the space
    has ``only_patterns``: see :func:`draws`, which has the weights of the others.

    Raises:
        ValueError, EmptySpaceError, TimeoutError: as :func:`sampling` does.
    """
    *_, found = sampling(space, count, seed, attempts, seconds)
    return found.schedules


def sampling(
    space: Space, count: int, seed: int = 0, attempts: int = 1000, seconds: float = 30.0
) -> Iterator[Sampled]:
    """The state of :func:`sample` before the first draw and after each one: one record, which
    grows.

    Args:
        space: the space.
        count: the number of schedules.
        seed: the same seed gives the same schedules.
        attempts: the largest number of draws for each schedule.
        seconds: the time limit for all of them.

    Raises:
        ValueError: ``count`` is negative.
        EmptySpaceError: hardly any draw is legal.
        TimeoutError: the time does not suffice, though many draws are legal.
    """
    if count < 0:
        raise ValueError(f"sample(count) takes an integer of at least 0, not {count}.")
    seconds = seconds_given("sample(seconds)", seconds)
    deadline = Deadline.after(seconds)
    sample = Sampled(count)
    name = f"{space.pipeline.name} on {space.device.name}"
    yield sample
    timed = deadline.each(draws(space, seed))
    try:
        while not sample.is_complete:
            if sample.tried == count * attempts:
                raise EmptySpaceError(_hardly_any(sample, name))
            sample.add(next(timed))
            yield sample
    except OutOfTime:
        if sample.tried and not sample.schedules:
            raise EmptySpaceError(_hardly_any(sample, name)) from None
        raise TimeoutError(
            f"Of {sample.tried} candidates drawn in {seconds:g} s {len(sample.schedules)} are "
            f"legal, and sample was asked for {count}; give it more seconds."
        ) from None


def _hardly_any(sample: Sampled, name: str) -> str:
    """The message if few random schedules are legal, with the rules that the others break."""
    common = ", ".join(f"{rule} ({times})" for rule, times in sample.broken.most_common(3))
    return (
        f"Of {sample.tried} candidates drawn for {name} only {len(sample.schedules)} are legal; "
        f"what most of the others break is {common or 'nothing'}. Choose smaller tiles or fewer "
        "lanes in the options; explain_empty(space) tells whether anything is legal."
    )
