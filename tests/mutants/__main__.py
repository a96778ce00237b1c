"""``python -m tests.mutants [PLACE ...]``: plant bugs one at a time, and see which test notices.

Goes on where it was stopped: what became of a bug is not asked again until its function changes.
``python -m tests.mutants --cover`` notes first which tests run which lines; with places, those of
some files or folders of tests.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from tests.examples import THOROUGH
from tests.mutants import covering, report
from tests.mutants.bug import Bug
from tests.mutants.choosing import chosen, drawn, every_bug
from tests.mutants.collected import Collected, collected
from tests.mutants.covering import Covering
from tests.mutants.trial import Trial, attempt
from tests.mutants.workshop import Workshop, present_state

_KEPT_TOGETHER = 20
"""After so many bugs the results are written."""

_COLUMNS = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "places",
        nargs="*",
        metavar="PLACE",
        help="files or folders of the product (with --cover: of tests), names of bugs by hand, or "
        "by-hand; none means all",
    )
    parser.add_argument("--cover", action="store_true", help="note which tests run which lines")
    parser.add_argument(
        "--since", metavar="COMMIT", help="of functions that differ from those of a commit"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="plant so many, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the order (default: 0)")
    parser.add_argument("--minutes", type=float, help="end after so many minutes")
    parser.add_argument("--processes", type=int, default=2, help="how many at a time")
    parser.add_argument("--again", action="store_true", help="plant what is known, too")
    return parser.parse_args()


def main() -> None:
    """Exits with 1 where a bug of this run was not noticed."""
    given = arguments()
    console = Console()
    with _servers(given.processes) as servers:
        if given.cover:
            _cover(servers, given.places, console)
            return
        root = servers[0].workshop.root
        try:
            bugs = chosen(root, given.places, given.since)
        except ValueError as error:
            sys.exit(str(error))
        known = {} if given.again else report.known()
        bugs = drawn([bug for bug in bugs if bug.key not in known], given.sample, given.seed)
        map_of_lines = Covering.kept()
        if map_of_lines is None and any(not bug.tests for bug in bugs):
            sys.exit("Which tests run which lines is not known: give --cover first.")
        seconds = given.minutes * 60 if given.minutes else float("inf")
        everything = every_bug(root)
        trials: list[Trial] = []
        for trial in _planted(servers, bugs, map_of_lines, time.monotonic() + seconds, console):
            trials.append(trial)
            if len(trials) % _KEPT_TOGETHER == 0:
                report.keep(trials, everything)
        report.keep(trials, everything)
    console.print(report.table(trials))
    console.print(f"Written to {report.RESULTS}.")
    sys.exit(any(trial.fate != "killed" for trial in trials))


def _cover(servers: Sequence[Collected], places: Sequence[str], console: Console) -> None:
    tests = covering.tests_below(places, servers[0].tests)
    if not tests:
        sys.exit(f"There are no tests below {', '.join(places)}.")
    with Progress(*_COLUMNS, console=console) as progress:
        task = progress.add_task("Noting", total=len(tests))
        covering.note(servers, tests, lambda number: progress.advance(task, number))


@contextmanager
def _servers(count: int) -> Iterator[list[Collected]]:
    """That many copies of the code as it is now, each with its tests collected."""
    commit = present_state()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants"))
        servers = []
        for number in range(count):
            root = Path(folder) / str(number)
            root.mkdir()
            workshop = Workshop.at(root, commit)
            asked = ("tests", "--ignore=tests/mutants", "--hypothesis-profile", THOROUGH)
            servers.append(stack.enter_context(collected(workshop, *asked)))
        yield servers


def _planted(
    servers: Sequence[Collected],
    bugs: Sequence[Bug],
    map_of_lines: Covering | None,
    deadline: float,
    console: Console,
) -> Iterator[Trial]:
    """What becomes of bugs, each as soon as it is known."""
    free: SimpleQueue[Collected] = SimpleQueue()
    for server in servers:
        free.put(server)

    def one(bug: Bug) -> Trial | None:
        server = free.get()
        try:
            if time.monotonic() >= deadline:
                return None
            return attempt(server, bug, map_of_lines)
        finally:
            free.put(server)

    with (
        Progress(*_COLUMNS, console=console) as progress,
        ThreadPoolExecutor(len(servers)) as pool,
    ):
        task = progress.add_task("Planting", total=len(bugs))
        for future in as_completed([pool.submit(one, bug) for bug in bugs]):
            trial = future.result()
            if trial is None:
                continue
            # Names of tests hold brackets, which are no markup.
            progress.console.print(report.line(trial), markup=False, soft_wrap=True)
            progress.advance(task)
            yield trial


if __name__ == "__main__":
    main()
