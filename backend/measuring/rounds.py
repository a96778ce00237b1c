"""Rounds of timing: all candidates beside the reference, until it is sure which are slower."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from attrs import define, field, frozen

from spaces.cost.student import student_quantile

Candidate = TypeVar("Candidate", bound=Hashable)


@frozen(kw_only=True)
class Race:
    """When candidates are timed no more, as in racing algorithms (Maron and Moore, 1993).

    A candidate is left out when it is surely slower than the fastest one of its race. The test
    compares the logarithms of the times of both in the same rounds, so it does not see what slows
    down a whole round. Two t tests must agree. One takes the spread of all candidates; its error
    is ``error``, shared by the candidates and by the rounds after which they are tested. The other
    one takes the spread of the candidate alone, so a few disturbed runs leave nobody out.

    Attributes:
        error: the chance that a race leaves out the fastest candidate, if the noise of all runs is
            log-normal and the same; with 0 it leaves out none.
        own: the error of the second test.
        least: no candidate is left out before so many rounds.
        precision: a race ends when it knows the time of each remaining candidate, as a ratio to the
            reference, to this part of it (95 % confidence).
    """

    error: float = 0.05
    own: float = 0.01
    least: int = 3
    precision: float = 0.01

    def survivors(self, ratios: dict[Candidate, list[float]]) -> set[Candidate]:
        """The candidates that are timed further. Each has the ratio of its time to that of the
        reference in each round.
        """
        logs = {key: [math.log(one) for one in found] for key, found in ratios.items() if found}
        rounds = min(map(len, logs.values()), default=0)
        if not self.error or rounds < self.least or len(logs) < 2:
            return set(ratios)
        fastest = min(logs, key=lambda key: statistics.median(logs[key]))
        beside = {
            key: [mine - best for mine, best in zip(logs[key], logs[fastest], strict=True)]
            for key in logs
            if key != fastest
        }
        pooled = math.sqrt(statistics.fmean(map(statistics.variance, beside.values())))
        # The parts 1/(n (n - 1)) of all rounds n from `least` on add up to 1/(least - 1).
        error = self.error / len(beside) * (self.least - 1) / (rounds * (rounds - 1))
        surely = student_quantile(1 - error, (rounds - 1) * len(beside)) * pooled
        own = student_quantile(1 - self.own, rounds - 1)
        left = {
            key
            for key, slower in beside.items()
            if statistics.fmean(slower) * math.sqrt(rounds)
            > max(surely, own * statistics.stdev(slower))
        }
        return set(ratios) - left

    def is_precise(self, ratios: Sequence[float]) -> bool:
        """Whether the time of a candidate is known well enough."""
        rounds = len(ratios)
        if rounds < self.least:
            return False
        spread = statistics.stdev(map(math.log, ratios))
        return student_quantile(0.975, rounds - 1) * spread < self.precision * math.sqrt(rounds)


EVERY_ROUND = Race(error=0.0, precision=0.0)
"""All candidates are timed in all rounds."""


@define
class TimedRounds(Generic[Candidate]):
    """The times of some candidates in seconds, and of the reference in the same rounds.

    Attributes:
        seconds: the times of each candidate.
        reference: the times of the reference in the same rounds.
        alive: the candidates that are timed further.
    """

    seconds: dict[Candidate, list[float]] = field(factory=dict)
    reference: dict[Candidate, list[float]] = field(factory=dict)
    alive: list[Candidate] = field(factory=list)

    def ratios(self, keys: Iterable[Candidate]) -> dict[Candidate, list[float]]:
        """Times divided by those of the reference, round by round."""
        return {
            key: [a / b for a, b in zip(self.seconds[key], self.reference[key], strict=True)]
            for key in keys
        }


def time_in_rounds(
    time: Callable[[Candidate | None], float | None],
    keys: Iterable[Candidate],
    rounds: int,
    is_over: Callable[[], bool] = lambda: False,
    race: Race = Race(),
    seed: int = 0,
) -> Iterator[TimedRounds[Candidate]]:
    """Times all candidates and the reference once in each round, in a random order. After each
    round yields the times so far: one record, which grows.

    Args:
        time: the time of a run of a candidate, of the reference for None; None if it failed, and
            is timed no more.
        keys: the candidates.
        rounds: how often those that are not left out are timed at most.
        is_over: whether no further round may begin; asked after the third round.
        race: when candidates are left out, and when all is known.
        seed: the seed of the orders.
    """
    chosen = random.Random(seed)
    alive = list(keys)
    found: TimedRounds[Candidate] = TimedRounds(
        {key: [] for key in alive}, {key: [] for key in alive}, alive
    )
    for number in range(1, rounds + 1):
        if not found.alive or (number > 3 and is_over()):
            return
        order: list[Candidate | None] = [None, *found.alive]
        chosen.shuffle(order)
        times = {key: time(key) for key in order}
        beside = times[None]
        alive = [key for key in found.alive if times[key] is not None]
        for key in alive if beside is not None else ():
            mine = times[key]
            if mine is not None and beside is not None:
                found.seconds[key].append(mine)
                found.reference[key].append(beside)
        ratios = found.ratios(alive)
        kept = race.survivors(ratios)
        found.alive = [key for key in alive if key in kept]
        yield found
        if all(race.is_precise(ratios[key]) for key in found.alive):
            return
