"""Times programs in turns, so that a slow moment of the machine slows all of them."""

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
        """The median over all rounds of this time divided by the other's time in the same round."""
        return statistics.median(
            mine / theirs for mine, theirs in zip(self.times_ms, other.times_ms, strict=True)
        )


def interleaved(
    programs: Mapping[str, Callable[[], object]],
    rounds: int = 15,
    budget_s: float = 30.0,
    pause_s: float = 0.0,
) -> dict[str, Timing]:
    """Times every program once in each round, in a random order for each round.

    A turn begins with a run that does not count: it wakes the threads and fills the caches with the
    data of this program. No round begins after ``budget_s`` seconds, but there are always three
    rounds. Each turn first waits ``pause_s`` seconds, because threads of the program before may
    still look for work on a core that this program needs.
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
