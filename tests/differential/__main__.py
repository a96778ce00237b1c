"""Check many cases: ``python -m tests.differential --cases 200000 --seed 1 --processes 2``."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench.machine import machine
from tests.differential.cases import SHARED
from tests.differential.check import Fuzzer, told
from tests.differential.journal import Journal
from tests.differential.runner import corpus_of, done_before, run
from tests.differential.smallest import smallest
from tests.differential.summary import Summary

NOTHING_CHECKED = 3
"""The exit status where all cases were checked before, by code that may have been another."""


INTERRUPTED = 130
"""The exit status after Ctrl-C."""


def main() -> int:
    """Check cases, write what was seen; 1 where something is not as its verdict says, and
    :data:`NOTHING_CHECKED` where nothing is left to check.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--compiled-every",
        type=int,
        default=1,
        help="compile every nth legal schedule for a CPU only; lower the others",
    )
    parser.add_argument("--out", type=Path, default=Path("bench/results/differential.json"))
    parser.add_argument(
        "--journal", type=Path, help="what is done so far; a run with the same one goes on from it"
    )
    parser.add_argument(
        "--aimed",
        action="store_true",
        help="draw towards pairs of constructs that few legal cases of the journal had",
    )
    parser.add_argument(
        "--after",
        type=Path,
        action="append",
        default=[],
        help="the journal of another run: aim at pairs that few legal cases of both had",
    )
    parser.add_argument(
        "--again", action="store_true", help="check groups of cases that failed once more"
    )
    parser.add_argument("--only", type=int, help="check one case, and shrink it where it fails")
    arguments = parser.parse_args()
    console = Console()
    if arguments.only is not None:
        return _only(console, arguments.seed, arguments.only, arguments.journal)
    journal = arguments.journal or Path(f"out/differential-{arguments.seed}.jsonl")
    known = done_before(journal, arguments.seed, arguments.cases)
    if known:
        console.print(_told_before(arguments, journal, known), markup=False, highlight=False)
    if known == arguments.cases and not arguments.again:
        return NOTHING_CHECKED
    began = time.monotonic()
    try:
        total = _run(console, arguments, journal)
    except KeyboardInterrupt:
        told = f"Interrupted; a run with the same --seed goes on from what stands in {journal}."
        console.print(told, markup=False, highlight=False)
        return INTERRUPTED
    report = {
        "command": f"python -m tests.differential --cases {arguments.cases} "
        f"--seed {arguments.seed} --processes {arguments.processes} "
        f"--compiled-every {arguments.compiled_every}{' --aimed' if arguments.aimed else ''}",
        "machine": machine(),
        "wall seconds of the last run": round(time.monotonic() - began, 1),
        "largest process, MB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10,
        **total.report(),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    for text in total.mismatches[:10]:
        console.print(text, markup=False, highlight=False, end="\n\n")
    for number in total.failing[:1]:
        _print_smallest(console, arguments.seed, number, journal)
    console.print(f"{report['cases']} cases, {report['legal']} legal, {report['mismatches']} wrong")
    return 1 if total.mismatches else 0


def _told_before(arguments: argparse.Namespace, journal: Path, known: int) -> str:
    checked = "Nothing is checked" if known == arguments.cases else "The others are checked now"
    return (
        f"{known} of {arguments.cases} cases of seed {arguments.seed} stand in {journal} from a "
        f"run before. {checked}; remove that file, or give another --seed or --journal, to check "
        "all."
    )


def _run(console: Console, arguments: argparse.Namespace, journal: Path) -> Summary:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[legal]} legal, {task.fields[wrong]} wrong"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("fuzzer", total=arguments.cases, legal=0, wrong=0)

        def progress(done: int, total: Summary) -> None:
            legal, wrong = total.count(verdict="legal"), len(total.mismatches)
            bar.update(task, completed=done, legal=legal, wrong=wrong)

        return run(
            arguments.seed,
            arguments.cases,
            arguments.processes,
            journal,
            progress,
            arguments.compiled_every,
            arguments.aimed,
            arguments.again,
            arguments.after,
        )


def _only(console: Console, seed: int, number: int, journal: Path | None) -> int:
    fuzzer = _fuzzer(seed, number, journal)
    oracle, case = fuzzer.oracle(number), fuzzer.case(number)
    outcome = fuzzer.judge(case, oracle)
    console.print(told(case, oracle, outcome), markup=False, highlight=False)
    if not outcome.mismatch:
        return 0
    _print_smallest(console, seed, number, journal)
    return 1


def _fuzzer(seed: int, number: int, journal: Path | None) -> Fuzzer:
    """The fuzzer that draws a case as a run did, whose journal says what it aimed at."""
    kept = Journal.read(journal, seed, SHARED)
    corpus = corpus_of(kept, kept.seeds_at(number))
    return Fuzzer(seed, aims=kept.aims_at(number), corpus=corpus)


def _print_smallest(console: Console, seed: int, number: int, journal: Path | None) -> None:
    console.print(f"\nThe smallest that fails like case {number}, as Python:\n", highlight=False)
    print(smallest(_fuzzer(seed, number, journal), number))


if __name__ == "__main__":
    sys.exit(main())
