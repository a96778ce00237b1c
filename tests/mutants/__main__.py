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

from tests.mutants import covering, report
from tests.mutants.bug import Bug
from tests.mutants.choosing import chosen, drawn, every_bug
from tests.mutants.collected import Collected, collected
from tests.mutants.covering import Covering
from tests.mutants.report import excuse
from tests.mutants.trial import NOTICED, Trial, attempt
from tests.mutants.workshop import ROOT, Workshop, present_state

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
    known = parser.add_mutually_exclusive_group()
    known.add_argument("--again", action="store_true", help="plant what is known, too")
    known.add_argument(
        "--unnoticed", action="store_true", help="plant again only what no test has noticed"
    )
    parser.add_argument(
        "--equivalent",
        nargs=2,
        action="append",
        metavar=("KEY", "REASON"),
        help="note that nobody can see a bug that tests did not notice, and why; may be given "
        "several times",
    )
    return parser.parse_args()


def main() -> None:
    """Exits with 1 where a bug of this run was not noticed."""
    given = arguments()
    console = Console()
    if given.equivalent:
        try:
            noted = excuse(dict(given.equivalent), every_bug(ROOT))
        except ValueError as error:
            sys.exit(str(error))
        console.print("\n".join(noted), markup=False, soft_wrap=True)
        return
    if given.cover and (missing := [p for p in given.places if not (ROOT / p).exists()]):
        sys.exit(f"There are no tests at {', '.join(missing)}; name files or folders of tests.")
    with _workshops(given.processes) as workshops:
        if given.cover:
            with _servers(workshops, given.places or ["tests"]) as servers:
                _cover(servers, given.places, console)
            return
        try:
            bugs = chosen(workshops[0].root, given.places, given.since)
        except ValueError as error:
            sys.exit(str(error))
        bugs = drawn(_asked(bugs, given), given.sample, given.seed)
        if not bugs:
            wanted = "is unnoticed" if given.unnoticed else "is unknown: --again plants all again"
            sys.exit(f"No bug there {wanted}.")
        map_of_lines = Covering.kept()
        if map_of_lines is None and any(not bug.tests for bug in bugs):
            sys.exit("Which tests run which lines is not known: give --cover first.")
        seconds = given.minutes * 60 if given.minutes else float("inf")
        everything = every_bug(workshops[0].root)
        trials: list[Trial] = []
        with _servers(workshops, _needed(bugs, map_of_lines, workshops[0])) as servers:
            deadline = time.monotonic() + seconds
            try:
                for trial in _planted(servers, bugs, map_of_lines, deadline, console):
                    trials.append(trial)
                    if len(trials) % _KEPT_TOGETHER == 0:
                        report.keep(trials, everything)
            finally:
                report.keep(trials, everything)
    console.print(report.table(trials))
    console.print(f"Written to {report.RESULTS}.")
    sys.exit(any(trial.fate not in NOTICED for trial in trials))


def _asked(bugs: Sequence[Bug], given: argparse.Namespace) -> list[Bug]:
    if given.again:
        return list(bugs)
    known = report.known()
    asked = report.UNNOTICED if given.unnoticed else (None,)
    return [bug for bug in bugs if known.get(bug.key) in asked]


def _needed(
    bugs: Sequence[Bug], map_of_lines: Covering | None, workshop: Workshop
) -> Sequence[str]:
    """Files of tests that may notice bugs: collecting all tests takes a while."""
    if map_of_lines is None or any(bug.tests for bug in bugs):
        return ["tests"]
    files = {test.partition("::")[0] for test in map_of_lines.seconds}
    return sorted(file for file in files if (workshop.root / file).exists())


def _cover(servers: Sequence[Collected], places: Sequence[str], console: Console) -> None:
    tests = covering.tests_below(places, servers[0].tests)
    if not tests:
        sys.exit(f"There are no tests below {', '.join(places)}.")
    with Progress(*_COLUMNS, console=console) as progress:
        task = progress.add_task("Noting", total=len(tests))
        covering.note(servers, tests, lambda number: progress.advance(task, number))


@contextmanager
def _workshops(count: int) -> Iterator[list[Workshop]]:
    """That many copies of the code as it is now."""
    commit = present_state()
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        roots = [Path(folder) / str(number) for number in range(count)]
        for root in roots:
            root.mkdir()
        yield [Workshop.at(root, commit) for root in roots]


@contextmanager
def _servers(workshops: Sequence[Workshop], files: Sequence[str]) -> Iterator[list[Collected]]:
    """The tests of some files or folders, collected in each copy."""
    with ExitStack() as stack:
        asked = (*files, "--ignore=tests/mutants")
        yield [stack.enter_context(collected(workshop, *asked)) for workshop in workshops]


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
        try:
            for future in as_completed([pool.submit(one, bug) for bug in bugs]):
                trial = future.result()
                if trial is None:
                    continue
                # Names of tests hold brackets, which are no markup.
                progress.console.print(report.line(trial), markup=False, soft_wrap=True)
                progress.advance(task)
                yield trial
        finally:
            # Who interrupts it does not wait for all bugs.
            pool.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    main()
