"""``python -m tests.mutants [NAME ...]``: plant bugs one at a time, and see who notices."""

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

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.report import RESULTS, keep, line, show
from tests.mutants.trial import Trial, attempt, false_alarms, overlooked
from tests.mutants.workshop import Workshop, last_commit


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants; none means all")
    parser.add_argument("--processes", type=int, default=2, help="how many at a time")
    parser.add_argument(
        "--all",
        action="store_true",
        help="run the whole suite on those that the likely tests do not notice",
    )
    return parser.parse_args()


def main() -> None:
    """Exits with 1 where a mutant survives without a reason, or is killed in spite of one."""
    given = arguments()
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    unknown = [name for name in given.names if name not in by_name]
    if unknown:
        near = [n for name in unknown for n in get_close_matches(name, by_name, 3)]
        hint = f"; near are {', '.join(near)}" if near else ""
        sys.exit(f"No mutant is called {', '.join(unknown)}{hint}. All are in tests/mutants.")
    chosen = tuple(by_name[name] for name in given.names) or MUTANTS
    console = Console()
    with _workshops(given.processes) as workshops:
        first = workshops.get()
        problem = overlooked(first)
        workshops.put(first)
        if not problem:
            trials = _attempts(chosen, workshops, given.processes, given.all, console)
            problem = false_alarms(first, trials)
    if problem:
        sys.exit(problem)
    show(trials, console)
    keep(trials, first.commit)
    console.print(f"Written to {RESULTS}.")
    sys.exit(not all(trial.is_explained for trial in trials))


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
    console: Console,
) -> list[Trial]:
    def one(mutant: Mutant) -> Trial:
        workshop = workshops.get()
        try:
            trial = attempt(workshop, mutant, whole_suite)
        finally:
            workshops.put(workshop)
        # Names of tests hold brackets, which are no markup.
        console.print(line(trial), markup=False, soft_wrap=True)
        return trial

    with ThreadPoolExecutor(processes) as pool:
        return list(pool.map(one, mutants))


if __name__ == "__main__":
    main()
