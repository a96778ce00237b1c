"""Candidates that crash, hang or compute wrong values on purpose: the factor of their split says
how.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from attrs import define

from spaces import Schedule, Split
from spaces.backend.arguments import ArgumentError, Array
from spaces.backend.measuring.cpu_program import TimedCpuRun, cpu_program
from spaces.backend.measuring.messages import LONGEST
from spaces.backend.measuring.task import MeasuringTask

(
    CRASHES, HANGS, WRONG, GREEDY, REFUSES, ABORTS, STALLS, CRASHES_LATER, GREEDY_COMPILER, SLOW,
    MEETS,
) = range(2, 13)  # fmt: skip
BREEDS, BABBLES, FLOODS, TIMELESS, STAMMERS = range(17, 22)
"""The factors of the saboteurs."""

MEETING = "SABOTEURS_MEET_IN"
"""The environment variable with the folder in which compilers wait for each other."""


@define
class Saboteur:
    program: TimedCpuRun
    factor: int
    runs: int = 0

    def run(self) -> Mapping[str, Array]:
        found = dict(self.program.run())
        if self.factor == CRASHES:
            os.kill(os.getpid(), signal.SIGSEGV)
        elif self.factor == HANGS:
            time.sleep(600)
        elif self.factor == SLOW:
            time.sleep(0.5)
        elif self.factor == GREEDY:
            np.ones(1 << 40, np.uint8)
        elif self.factor == BREEDS:
            child = subprocess.Popen(["sleep", "600"])
            raise ArgumentError(str(child.pid))
        elif self.factor == WRONG:
            name = next(iter(found))
            found[name] = found[name].copy()
            found[name].flat[3] += 1
        return found

    def seconds(self) -> float:
        self.runs += 1
        if self.factor == CRASHES_LATER and self.runs == 2:
            os._exit(3)
        written = {
            BABBLES: b"\x80\x04 rubbish\n",
            FLOODS: b"x" * (3 * LONGEST),
            STAMMERS: b'{"outcome"',
        }
        if self.factor in written:
            os.write(int(sys.argv[1]), written[self.factor])
        if self.factor == STAMMERS:
            time.sleep(600)
        if self.factor == TIMELESS:
            return math.nan
        return self.program.seconds()


def meet(place: Path) -> None:
    """Waits until another process waits here, too."""
    (place / str(os.getpid())).touch()
    while len(list(place.iterdir())) < 2:
        time.sleep(0.01)


def saboteur(task: MeasuringTask, schedule: Schedule) -> Saboteur:
    """Compiles a schedule, or does not."""
    records = [r for e in schedule.funcs for o in e.stages for r in o.splits]
    factors = [r.factor for r in records if isinstance(r, Split)]
    (factor,) = factors or (0,)
    assert isinstance(factor, int)
    if factor == REFUSES:
        raise RuntimeError("this does not compile")
    if factor == ABORTS:
        os.abort()
    if factor == STALLS:
        time.sleep(600)
    if factor == MEETS:
        meet(Path(os.environ[MEETING]))
    if factor == GREEDY_COMPILER:
        np.ones(1 << 40, np.uint8)
    return Saboteur(cpu_program(task, schedule), factor)


def on_split(task: MeasuringTask, schedule: Schedule) -> Saboteur:
    """As :func:`saboteur`, but schedules with other splits than one are compiled as they are."""
    records = [r for e in schedule.funcs for o in e.stages for r in o.splits]
    return (
        saboteur(task, schedule) if len(records) == 1 else Saboteur(cpu_program(task, schedule), 0)
    )
