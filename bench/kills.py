"""``python -m bench kills`` kills tuning processes and their workers at random moments, and counts
what was lost: results, studies, processes that stay behind, and tunes that ended by it.

The pipeline is small and its schedules are measured by real workers. A killed process is started
again, and goes on with the same study. The command ends after ``--seconds``, with the kills that it
came to, and a tuner that says nothing for a minute counts as hung.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import define, evolve

from bench.machine import machine
from bench.report import RESULTS
from spaces.apps.catalog import find
from spaces.apps.files import write_text
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.task import MeasuringLimits
from spaces.backend.python_process import module_command, module_environment
from spaces.constraints.devices.device import device
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Estimate
from spaces.model.deadline import Deadline
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.damage import find_damage
from spaces.tuning.random_trials import RandomTrials
from spaces.tuning.store import TuningStore
from spaces.tuning.study import Study

TUNERS = 20
"""How many tuning processes are killed."""
WORKERS = 10
"""How many workers are killed."""
SECONDS = 1200.0
"""After this many seconds nothing more is killed; each half takes at most half of them."""
LIFE = 60.0
"""A tuner that runs for this many seconds without a result hangs."""
APP = "blur"
SIZE = 256


def tune(path: Path) -> None:
    """Goes on with the study, without an end."""
    cpu = device("cpu")
    large = find(APP).pipeline()
    sizes = (
        Estimate("input", ((0, SIZE + 2), (0, SIZE + 2))),
        Estimate("blur_y", ((1, SIZE), (1, SIZE))),
    )
    space = ScheduleSpace(evolve(large, estimates=sizes), cpu, Options.small(cpu))
    reference = Schedule.default(space.pipeline)
    with (
        TuningStore.open(path) as store,
        Study.open(store, space, strategy=RandomTrials(size=12), reference=reference) as study,
        LocalMeasurer(reference=reference, limits=MeasuringLimits(rounds=4)) as measurer,
    ):
        print("ready", flush=True)
        study.run(measurer, batch=4, callbacks=[lambda _, trial: print(trial.number, flush=True)])


@define
class Tuner:
    """A process that tunes, and what it says.

    Attributes:
        process: the process.
        has_hung: whether it was ended because it said nothing.
    """

    process: subprocess.Popen[str]
    has_hung: bool = False

    @staticmethod
    def start(path: Path) -> Tuner:
        """Starts a process that goes on with the study of a store."""
        command = module_command("bench", "kills", "--tune", str(path))
        return Tuner(
            subprocess.Popen(
                command, env=module_environment(), stdout=subprocess.PIPE, text=True, bufsize=1
            )
        )

    def listen(self) -> str:
        """Its next line; an empty text if it has ended, or says nothing for :data:`LIFE`."""
        assert self.process.stdout is not None
        watch = threading.Timer(LIFE, self._give_up)
        watch.daemon = True
        watch.start()
        try:
            return self.process.stdout.readline()
        finally:
            watch.cancel()

    def _give_up(self) -> None:
        self.has_hung = True
        self.process.kill()

    def kill(self) -> None:
        """Kills it."""
        self.process.kill()
        self.process.wait()


def _descendants(process: int) -> list[int]:
    """The processes that a process started, and theirs."""
    found = []
    for child in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for one in map(int, child.read_text().split()):
                found += [one, *_descendants(one)]
    return found


def _running(processes: list[int]) -> list[int]:
    """Those of some processes that run after a moment."""
    end = time.monotonic() + 5
    while time.monotonic() < end and any(map(_runs, processes)):
        time.sleep(0.05)
    return [one for one in processes if _runs(one)]


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def kill_tuners(path: Path, count: int, deadline: Deadline) -> dict[str, Any]:
    """Kills a tuning process again and again, each time at a random moment of its work, until the
    deadline.
    """
    chosen = random.Random(1)
    told: dict[int, tuple[str, str, int]] = {}
    lost = changed = left_behind = busy = hung = killed = 0
    while killed + busy + hung < count and not deadline.is_past:
        tuner = Tuner.start(path)
        if tuner.listen() != "ready\n":
            hung, busy = hung + tuner.has_hung, busy + (not tuner.has_hung)
            tuner.kill()
            continue
        for _ in range(chosen.randrange(6)):  # some results, or none
            tuner.listen()
        time.sleep(chosen.uniform(0.0, 0.5))
        children = _descendants(tuner.process.pid)
        hung += tuner.has_hung
        killed += not tuner.has_hung
        tuner.kill()
        left_behind += len(_running(children))
        now = _results(path)
        lost += len(told.keys() - now.keys())
        changed += sum(_is_damaged(told[one], now[one]) for one in told.keys() & now.keys())
        told = now
    return {
        "killed": killed,
        "hung": hung,
        "studies_busy_after_a_kill": busy,
        "results": len(told),
        "results_lost": lost,
        "results_changed": changed,
        "processes_left_behind": left_behind,
        **_state(path),
    }


def kill_workers(path: Path, count: int, deadline: Deadline) -> dict[str, Any]:
    """Kills workers of one tuning process at random moments, one after each result, until the
    deadline.
    """
    chosen = random.Random(2)
    tuner = Tuner.start(path)
    killed = ended = hung = 0
    while killed < count and ended + hung < count and not deadline.is_past:
        if not tuner.listen():
            hung, ended = hung + tuner.has_hung, ended + (not tuner.has_hung)
            tuner = Tuner.start(path)
            continue
        time.sleep(chosen.uniform(0.0, 1.0))
        workers = _descendants(tuner.process.pid)
        if workers:
            with suppress(ProcessLookupError):
                os.kill(chosen.choice(workers), signal.SIGKILL)
                killed += 1
    time.sleep(3.0)
    ended += tuner.process.poll() is not None
    children = _descendants(tuner.process.pid)
    tuner.kill()
    outcomes = _outcomes(path)
    return {
        "killed": killed,
        "tunes_ended": ended,
        "hung": hung,
        "results": len(_results(path)),
        "outcomes": outcomes,
        "processes_left_behind": len(_running(children)),
        **_state(path),
    }


def _results(path: Path) -> dict[int, tuple[str, str, int]]:
    """The schedule, the outcome and the number of runs of each trial with a result."""
    with sqlite3.connect(path) as plain:
        rows = plain.execute(
            "SELECT number, schedule, outcome, count(round) FROM trials "
            "LEFT JOIN runs ON trial = number AND runs.study = trials.study "
            "WHERE outcome IS NOT NULL GROUP BY number"
        ).fetchall()
    return {number: (schedule, outcome, runs) for number, schedule, outcome, runs in rows}


def _is_damaged(before: tuple[str, str, int], now: tuple[str, str, int]) -> bool:
    """Whether a result is another one. More runs are fine: the fastest trials run again."""
    return before[:2] != now[:2] or now[2] < before[2]


def _outcomes(path: Path) -> dict[str, int]:
    with sqlite3.connect(path) as plain:
        return dict(
            plain.execute(
                "SELECT outcome, count(*) FROM trials WHERE outcome IS NOT NULL GROUP BY outcome"
            ).fetchall()
        )


def _state(path: Path) -> dict[str, int]:
    with TuningStore.read(path) as store:
        return {"studies": len(store.studies()), "damaged_rows": len(find_damage(store))}


def main(arguments: list[str]) -> None:
    """Kills, and counts."""
    parser = argparse.ArgumentParser(prog="python -m bench kills")
    parser.add_argument("--tuners", type=int, default=TUNERS)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--tune", type=Path, help="only tune, to be killed")
    chosen = parser.parse_args(arguments)
    if chosen.tune:
        tune(chosen.tune)
        return
    with tempfile.TemporaryDirectory() as folder:
        results = {
            "tuners": kill_tuners(
                Path(folder) / "tuners.sqlite", chosen.tuners, Deadline.after(chosen.seconds / 2)
            ),
            "workers": kill_workers(
                Path(folder) / "workers.sqlite", chosen.workers, Deadline.after(chosen.seconds / 2)
            ),
        }
    print(json.dumps(results, indent=2))
    if chosen.tuners >= TUNERS and chosen.workers >= WORKERS:
        report = {"machine": machine(), "results": results}
        write_text(RESULTS / "kills.json", json.dumps(report, indent=2) + "\n")
