"""``python -m bench large_store`` asks a store with 100,000 trials what users ask it, each question
in a process of its own, and writes the processor time and the memory to ``bench/results``.

The trials are made up: splits of a pipeline with two Funcs, with random times.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from bench.machine import machine
from bench.numbered_schedules import made_up_space, numbered_schedule
from bench.report import RESULTS
from spaces.apps.files import write_text
from spaces.backend.python_process import module_command, module_environment
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.cost.model import CostModel
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.best_known import best_known
from spaces.tuning.store import TuningStore
from spaces.tuning.study import Study
from spaces.tuning.trial import Proposal, Trial

TRIALS = 100_000
ROUNDS = 15
DISTINCT = 5000
"""How many schedules differ."""


@frozen
class Splits:
    """A strategy that proposes what a study does not have yet, at no cost: what remains of the time
    of a question is that of the study.
    """

    def generation(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        first = TRIALS + len(trials)
        return [Proposal(numbered_schedule(first + place), "split") for place in range(6)]


def make(path: Path, trials: int) -> None:
    """Writes a store. The first trials are kept as a study keeps them; the others are copies of
    them under other names.
    """
    space = made_up_space()
    chosen = random.Random(1)
    with TuningStore.open(path) as store, _opened(store) as study:
        first = min(trials, DISTINCT)
        schedules = [numbered_schedule(one) for one in range(first)]
        proposals = [Proposal(one, "split", chosen.random()) for one in schedules]
        for trial in store.propose(study.id, space.pipeline, proposals):
            store.tell(study.id, trial.number, _result(trial.schedule, chosen))
    with sqlite3.connect(path) as plain:
        for copy in range(1, trials // first):
            _copy(plain, copy)


def _copy(plain: sqlite3.Connection, copy: int) -> None:
    """Copies the first trials, with their schedules and runs."""
    of_first = f"WHERE number BETWEEN 1 AND {DISTINCT}"
    changed = {
        "digest": f"digest || '-{copy}'",
        "schedule": f"schedule || '-{copy}'",
        "number": f"number + {copy * DISTINCT}",
        "trial": f"trial + {copy * DISTINCT}",
    }
    for table, rows in (
        ("schedules", f"WHERE digest IN (SELECT schedule FROM trials {of_first})"),
        ("trials", of_first),
        ("runs", f"WHERE trial BETWEEN 1 AND {DISTINCT}"),
    ):
        columns = [row[1] for row in plain.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(changed.get(name, name) for name in columns)
        plain.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} {rows}"
        )


def _result(schedule: Schedule, chosen: random.Random) -> Measurement:
    if chosen.random() < 0.1:
        return Measurement(schedule, RunOutcome.CRASHED, "Its process ended with signal SIGSEGV.")
    middle = chosen.uniform(1e-3, 1e-2)
    times = tuple(middle * chosen.uniform(0.95, 1.1) for _ in range(ROUNDS))
    beside = tuple(2e-3 * chosen.uniform(0.95, 1.1) for _ in range(ROUNDS))
    return Measurement(schedule, RunOutcome.CORRECT, "", times, beside, 0.1)


def _opened(store: TuningStore) -> Study:
    space = made_up_space()
    return Study.open(store, space, strategy=Splits(), reference=Schedule.default(space.pipeline))


def ask_studies(path: Path) -> dict[str, float]:
    """``spaces studies``."""
    with TuningStore.read(path) as store:
        return _timed(lambda: store.studies())


def ask_best(path: Path) -> dict[str, float]:
    """``spaces best``."""
    with TuningStore.read(path) as store:
        space = made_up_space()
        return _timed(lambda: best_known(store, space.pipeline, space.device))


def ask_open(path: Path) -> dict[str, float]:
    """Opening the study to go on with it."""
    with TuningStore.open(path) as store:
        return _timed(lambda: _opened(store).close())


def ask_further(path: Path) -> dict[str, float]:
    """A further generation of an open study, and the result of one trial."""
    with TuningStore.open(path) as store, _opened(store) as study:
        chosen = random.Random(2)
        for trial in study.open_trials:
            study.tell(trial, _result(trial.schedule, chosen))

        def once() -> None:
            (trial,) = study.ask(1)
            study.tell(trial, _result(trial.schedule, chosen))
            assert study.best is not None

        return _timed(once)


QUESTIONS: dict[str, Callable[[Path], dict[str, float]]] = {
    "studies": ask_studies,
    "best": ask_best,
    "open": ask_open,
    "ask": ask_further,
}


def _timed(question: Callable[[], object]) -> dict[str, float]:
    """Processor time and the memory that a question takes beyond what the process had."""
    before = _peak_mb()
    start = time.process_time()
    question()
    seconds = time.process_time() - start
    after = _peak_mb()
    return {
        "processor_s": round(seconds, 4),
        "peak_mb": round(after, 1),
        "more_mb": round(after - before, 1),
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(arguments: list[str]) -> None:
    """Makes a store, or takes one that is there, and asks."""
    parser = argparse.ArgumentParser(prog="python -m bench large_store")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--store", type=Path, help="keep the store here, and take it if it exists")
    parser.add_argument("--question", choices=sorted(QUESTIONS), help="ask one, print the answer")
    chosen = parser.parse_args(arguments)
    if chosen.question:
        print(json.dumps(QUESTIONS[chosen.question](chosen.store)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.store or Path(folder) / "large.sqlite"
        if not path.exists():
            make(path, chosen.trials)
        found = {name: _asked(name, path) for name in QUESTIONS}
        results = {"trials": chosen.trials, "file_mb": round(path.stat().st_size / 2**20), **found}
    report = {"machine": machine(), "results": results}
    print(json.dumps(results, indent=2))
    if chosen.trials == TRIALS:
        write_text(RESULTS / "large_store.json", json.dumps(report, indent=2) + "\n")


def _asked(question: str, path: Path) -> dict[str, float]:
    command = module_command("bench", "large_store", "--store", str(path), "--question", question)
    ended = subprocess.run(
        command, env=module_environment(), capture_output=True, check=True, text=True
    )
    found: dict[str, float] = json.loads(ended.stdout)
    return found
