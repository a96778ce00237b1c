"""Search at random, again and again: ``python -m tests.search_runs --runs 10000 --seed 1``.

Each run searches a small random pipeline by a random strategy, within small limits. Every line of
the journal is one run. The same command goes on after the runs that stand there; ``--only NUMBER``
repeats one run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.search_runs.run import LATE, STRATEGIES, RunReport, checked, drawn


def main(arguments: list[str]) -> int:
    """Runs searches, and prints a summary; 1 if one of them breaks a promise."""
    parser = argparse.ArgumentParser(prog="python -m tests.search_runs", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strategy", choices=STRATEGIES, default="", help="draw this one alone")
    parser.add_argument("--journal", type=Path, help="by default out/search-runs-SEED.jsonl")
    parser.add_argument("--only", type=int, help="repeat one run, and print it")
    chosen = parser.parse_args(arguments)
    if chosen.only is not None:
        report = checked(drawn(chosen.seed, chosen.only, chosen.strategy))
        print(report.run)
        print(*report.faults, sep="\n")
        return 1 if report.faults else 0
    suffix = f"-{chosen.strategy}" if chosen.strategy else ""
    journal = chosen.journal or Path(f"out/search-runs-{chosen.seed}{suffix}.jsonl")
    journal.parent.mkdir(parents=True, exist_ok=True)
    known = list(_kept(journal))
    journal.write_text("".join(json.dumps(line) + "\n" for line in known), "utf-8")
    done = {line["number"] for line in known}
    with journal.open("a", encoding="utf-8") as file:
        for number in range(chosen.runs):
            if number not in done:
                line = _line(checked(drawn(chosen.seed, number, chosen.strategy)))
                known.append(line)
                file.write(json.dumps(line) + "\n")
                file.flush()
    for line in summary(known):
        print(line)
    return 1 if any(line["faults"] for line in known) else 0


def _kept(journal: Path) -> Iterator[dict[str, Any]]:
    """The lines of a journal, without one that was cut."""
    for line in journal.read_text("utf-8").splitlines() if journal.exists() else ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def _line(report: RunReport) -> dict[str, Any]:
    run = report.run
    return {
        "number": run.number,
        "strategy": str(run.strategy),
        "target": run.target,
        "preset": run.preset,
        "model": run.model,
        "seconds": run.limits.seconds,
        "structures": report.structures,
        "empty": report.is_empty,
        "cut": report.is_cut,
        "late": round(report.late, 3),
        "faults": list(report.faults),
    }


def summary(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Sentences about some runs: counts, the lateness of each strategy, and the faults."""
    yield (
        f"{len(lines)} runs, {sum(line['empty'] for line in lines)} without a legal schedule, "
        f"{sum(line['cut'] for line in lines)} stopped, "
        f"{sum(bool(line['faults']) for line in lines)} with faults"
    )
    runs = Counter(line["strategy"] for line in lines)
    for name, count in sorted(runs.items()):
        late = [li["late"] for li in lines if li["strategy"] == name and li["seconds"] is not None]
        over = sum(one > LATE for one in late)
        yield (
            f"{name}: {count} runs, {len(late)} with a time limit, "
            f"at most {max(late, default=0.0):.2f} s late, {over} by more than {LATE} s"
        )
    for line in lines:
        for fault in line["faults"]:
            yield f"run {line['number']} ({line['strategy']}): {fault.strip().splitlines()[-1]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
