"""A measurer without a clock: the digest of a schedule says how fast it is, or how it fails."""

from __future__ import annotations

import time
from collections.abc import Sequence

from attrs import define, field

from spaces import Evolving, Measurement, Options, Pipeline, RunOutcome, Schedule, ScheduleSpace
from spaces.tuning.identity import schedule_digest
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

QUICK = Evolving(found=4, structures=20, parents=3, size=4, pool=6, numbers=8)

SPACE = ScheduleSpace(
    blur(), FOUR_CORES, Options(row_tiles=(32, 64), tiles=(8, 16, 32), lanes=(1, 2))
)


@define
class FakeMeasurer:
    """Takes ``pause`` seconds for each schedule."""

    pause: float = 0.0
    measured: list[str] = field(factory=list)

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        return [self._measured(pipeline, schedule) for schedule in schedules]

    def _measured(self, pipeline: Pipeline, schedule: Schedule) -> Measurement:
        time.sleep(self.pause)
        digest = schedule_digest(pipeline, schedule)
        self.measured.append(digest)
        number = int(digest, 16)
        if number % 5 == 0:
            return Measurement(schedule, RunOutcome.CRASHED, "Its process ended with SIGSEGV.")
        seconds = 1 + number % 1000 / 1000
        return Measurement(
            schedule, RunOutcome.CORRECT, "", (seconds,) * 6, (2.0,) * 6, compile_seconds=0.1
        )
