"""Timed runs that take little time: many of fast schedules, one of slow schedules."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping

from attrs import define, frozen

from spaces.backend.arguments import Array
from spaces.backend.measuring.cpu_program import LONG, cpu_program
from spaces.backend.measuring.rounds import Candidate, Race
from spaces.backend.measuring.task import MeasuringTask, TimedProgram
from spaces.model.schedules.schedule import Schedule

SLOW = 20.0
"""A schedule that takes this many times as long as the reference is timed once."""

ROUNDS = 15
"""How often the fastest schedules are timed."""


@define
class BriefRun:
    """A program whose caches are warmed before it is timed only if that takes little time."""

    program: TimedProgram
    _last: float = 0.0

    def run(self) -> Mapping[str, Array]:
        return self._timed()

    def seconds(self) -> float:
        if self._last < LONG:
            self._last = self.program.seconds()
        else:
            self._timed()
        return self._last

    def _timed(self) -> Mapping[str, Array]:
        start = time.perf_counter()
        outputs = self.program.run()
        self._last = time.perf_counter() - start
        return outputs


def brief_program(task: MeasuringTask, schedule: Schedule) -> BriefRun:
    """Compiles a schedule for the CPU of this process.

    Raises:
        NotLegalError, ArgumentError, SizeError: as :func:`cpu_program` does.
    """
    return BriefRun(cpu_program(task, schedule))


@frozen(kw_only=True)
class SharedTime(Race):
    """Times a schedule until its runs took together as long as :data:`SLOW` runs of the reference.
    So a schedule gets fewer rounds the slower it is, and all take about the same time.
    """

    precision: float = 0.0

    def survivors(self, ratios: dict[Candidate, list[float]]) -> set[Candidate]:
        """The schedules that are timed further; ``ratios`` are to the reference."""
        return {
            key
            for key, found in ratios.items()
            if found and statistics.median(found) * (len(found) + 1) <= SLOW
        }
