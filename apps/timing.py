"""Timing of programs side by side: in turns, so that what slows the machine slows all of them."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping

from attrs import frozen


@frozen
class Timing:
    """Times of one program in milliseconds, in the order of the rounds."""

    times_ms: tuple[float, ...]

    @property
    def median_ms(self) -> float:
        """The median time of a run."""
        return statistics.median(self.times_ms)

    def ratio_to(self, other: Timing) -> float:
        """The median over the rounds of this time divided by the other's of the same round."""
        return statistics.median(
            mine / theirs for mine, theirs in zip(self.times_ms, other.times_ms, strict=True)
        )


def interleaved(
    programs: Mapping[str, Callable[[], object]],
    rounds: int = 15,
    budget_s: float = 30.0,
    pause_s: float = 0.0,
) -> dict[str, Timing]:
    """Time every program once in each round, in an order drawn for the round.

    A turn begins with a run that does not count, which wakes threads and fills caches with what
    this program uses instead of what the one before left there. No round begins after
    ``budget_s`` seconds, except that there are always three. Each turn waits ``pause_s`` seconds
    first: as long as threads of the program before may go on looking for work, on a core that this
    one needs.
    """
    order = random.Random(0)
    times: dict[str, list[float]] = {name: [] for name in programs}
    end = time.perf_counter() + budget_s
    for number in range(rounds):
        if number >= 3 and time.perf_counter() > end:
            break
        for name in order.sample(list(programs), len(programs)):
            time.sleep(pause_s)
            programs[name]()
            start = time.perf_counter()
            programs[name]()
            times[name].append((time.perf_counter() - start) * 1e3)
    return {name: Timing(tuple(values)) for name, values in times.items()}
