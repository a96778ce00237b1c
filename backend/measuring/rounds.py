"""Rounds of timing: all candidates beside the reference, and fewer of them from rung to rung."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from attrs import define, field, frozen

Candidate = TypeVar("Candidate", bound=Hashable)


@frozen(kw_only=True)
class Rungs:
    """When hopeless candidates are timed no more, as in successive halving.

    Attributes:
        after: the numbers of rounds after which candidates are left out.
        kept: the share of the candidates that stay, the fastest ones.
        near: others stay, too, if they take at most so many times the time of the fastest one.
    """

    after: tuple[int, ...] = (2, 4, 8)
    kept: float = 0.5
    near: float = 1.1

    def survivors(self, ratios: dict[Candidate, list[float]]) -> set[Candidate]:
        """The candidates that are timed further."""
        middles = {key: statistics.median(found) for key, found in ratios.items() if found}
        ordered = sorted(middles, key=lambda key: middles[key])
        first = ordered[: math.ceil(self.kept * len(ordered))]
        near = (key for key in ordered if middles[key] <= self.near * middles[ordered[0]])
        return {*first, *near}


@define
class TimedRounds(Generic[Candidate]):
    """The times of some candidates in seconds, and of the reference in the same rounds."""

    seconds: dict[Candidate, list[float]] = field(factory=dict)
    reference: dict[Candidate, list[float]] = field(factory=dict)

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
    rungs: Rungs = Rungs(),
    seed: int = 0,
) -> TimedRounds[Candidate]:
    """Times all candidates and the reference once in each round, in a random order.

    Args:
        time: the time of a run of a candidate, of the reference for None; None if it failed, and
            is timed no more.
        keys: the candidates.
        rounds: how often those that are not left out are timed.
        is_over: whether no further round may begin; asked after the third round.
        rungs: when candidates are left out.
        seed: the seed of the orders.
    """
    chosen = random.Random(seed)
    alive = list(keys)
    found: TimedRounds[Candidate] = TimedRounds(
        {key: [] for key in alive}, {key: [] for key in alive}
    )
    for number in range(1, rounds + 1):
        if not alive or (number > 3 and is_over()):
            break
        order: list[Candidate | None] = [None, *alive]
        chosen.shuffle(order)
        times = {key: time(key) for key in order}
        beside = times[None]
        alive = [key for key in alive if times[key] is not None]
        for key in alive if beside is not None else ():
            mine = times[key]
            if mine is not None and beside is not None:
                found.seconds[key].append(mine)
                found.reference[key].append(beside)
        if number in rungs.after and len(alive) > 1:
            kept = rungs.survivors(found.ratios(alive))
            alive = [key for key in alive if key in kept]
    return found
