"""``python -m tests.mutants [NAME ...]``: plant bugs one at a time, and see who notices.

Goes on where it was stopped: without names it plants the bugs whose code, change or tests are new
since they were last noticed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TimeRemainingColumn

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.report import RESULTS, keep, line, pending, show
from tests.mutants.trial import Trial, attempt, overlooked, without_false_alarms
from tests.mutants.workshop import Workshop, last_commit

_COLUMNS = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
_BATCH = 16
"""After this many, tests that noticed something run without bugs, and results are written."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="mutants; none means those that have no result for this code and these tests",
    )
    parser.add_argument("--processes", type=int, default=2, help="how many at a time")
    parser.add_argument(
        "--all",
        action="store_true",
        help="run the whole suite on those that the likely tests do not notice",
    )
    parser.add_argument("--again", action="store_true", help="plant all, whatever is known of them")
    return parser.parse_args()


def main() -> None:
    """Exits with 1 where a mutant survives without a reason, or is killed in spite of one, or where
    a test fails without any bug; what only such a test noticed gets no result.
    """
    given = arguments()
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    unknown = [name for name in given.names if name not in by_name]
    if unknown:
        near = [n for name in unknown for n in get_close_matches(name, by_name, 3)]
        hint = f"; near are {', '.join(near)}" if near else ""
        sys.exit(f"No mutant is called {', '.join(unknown)}{hint}. All are in tests/mutants.")
    console = Console()
    with _workshops(given.processes) as workshops:
        first = workshops.get()
        problem = overlooked(first)
        workshops.put(first)
        if problem:
            sys.exit(problem)
        chosen = tuple(by_name[name] for name in given.names) or MUTANTS
        if not given.names and not given.again:
            chosen = pending(first.root)
            console.print(f"{len(MUTANTS) - len(chosen)} of {len(MUTANTS)} are known.")
            if not chosen:
                return
        trials: list[Trial] = []
        with Progress(*_COLUMNS, console=console) as progress:
            task = progress.add_task("Planting", total=len(chosen))
            for start in range(0, len(chosen), _BATCH):
                batch = chosen[start : start + _BATCH]
                found = _attempts(batch, workshops, given.processes, given.all, progress, task)
                found, alarms = without_false_alarms(first, found)
                for alarm in alarms:
                    console.print(alarm, markup=False, soft_wrap=True)
                problem += "\n".join(alarms)
                keep(found, first)
                trials += found
        show(trials, console)
    console.print(f"Written to {RESULTS}.")
    sys.exit(bool(problem) or not all(trial.is_explained for trial in trials))


@contextmanager
def _workshops(count: int) -> Iterator[SimpleQueue[Workshop]]:
    """That many copies of the last commit, which are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        queue: SimpleQueue[Workshop] = SimpleQueue()
        commit = last_commit()
        for number in range(count):
            root = Path(folder) / str(number)
            root.mkdir()
            queue.put(Workshop.at(root, commit))
        yield queue


def _attempts(
    mutants: tuple[Mutant, ...],
    workshops: SimpleQueue[Workshop],
    processes: int,
    whole_suite: bool,
    progress: Progress,
    task: TaskID,
) -> list[Trial]:
    def one(mutant: Mutant) -> Trial:
        workshop = workshops.get()
        try:
            trial = attempt(workshop, mutant, whole_suite)
        finally:
            workshops.put(workshop)
        # Names of tests hold brackets, which are no markup.
        progress.console.print(line(trial), markup=False, soft_wrap=True)
        progress.advance(task)
        return trial

    with ThreadPoolExecutor(processes) as pool:
        return list(pool.map(one, mutants))


if __name__ == "__main__":
    main()
