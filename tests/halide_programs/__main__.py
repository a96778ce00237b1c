"""Reads damaged files by the thousand: ``python -m tests.halide_programs --count 100000``.

The results file holds what was tried so far. A run with the same seed goes on from there, and
``--seconds`` ends it early.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from attrs import asdict, define, evolve, field

from bench.machine import machine
from tests.halide_programs.files import program_files
from tests.halide_programs.hostile import MEGABYTES, SECONDS, ending, megabytes, tried
from tests.halide_programs.test_damaged_files import FACTORED, FILE

RESULTS = Path("bench") / "results" / "damaged_files.json"


@define
class Counts:
    """What became of the files so far.

    Attributes:
        seed: from which their damage comes.
        tried: how many there were.
        endings: how many ended so.
        slowest: the longest processor time of one file, in seconds, and its number.
        megabytes: the most memory that the files of one run have added to its process.
        processor_seconds: for all files.
    """

    seed: int
    tried: int = 0
    endings: dict[str, int] = field(factory=dict)
    slowest: tuple[float, int] = (0.0, -1)
    megabytes: float = 0.0
    processor_seconds: float = 0.0

    def add(self, end: str, seconds: float) -> None:
        """Counts one more file."""
        self.endings[end] = self.endings.get(end, 0) + 1
        self.slowest = max(tuple(self.slowest), (round(seconds, 3), self.tried))
        self.processor_seconds = round(self.processor_seconds + seconds, 3)
        self.tried += 1


def main() -> int:
    """Tries files; 1 if one took too long, or all of a run too much memory."""
    parser = argparse.ArgumentParser(prog="python -m tests.halide_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="of all runs together")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for this run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=RESULTS, help="the results file")
    given = parser.parse_args()
    files = [*program_files(), FILE.read_bytes(), FACTORED.read_bytes()]
    if any(ending(data) != "read" for data in files):
        parser.error("a file without damage does not come in")
    counts = _known(given.json, given.seed)
    before, already, began = megabytes(), counts.megabytes, time.monotonic()
    left = max(given.count - counts.tried, 0)
    try:
        for end, seconds in tried(files, left, given.seed, counts.tried):
            counts.add(end, seconds)
            if time.monotonic() - began > given.seconds:
                break
    except Exception:
        print(f"File {counts.tried} of seed {given.seed} ends otherwise:", file=sys.stderr)
        raise
    finally:
        counts.megabytes = max(already, round(megabytes() - before, 1))
        _write(given.json, counts, len(files))
    print(f"{counts.tried} files: {counts.endings}, slowest {counts.slowest[0]} s, ", end="")
    print(f"{counts.megabytes} MB more at most")
    return int(counts.slowest[0] > SECONDS or counts.megabytes > MEGABYTES)


def _known(path: Path, seed: int) -> Counts:
    """What was tried so far."""
    if path.is_file():
        found: dict[str, Any] = json.loads(path.read_text())["counts"]
        if found["seed"] == seed:
            return Counts(**found)
    return Counts(seed)


def _write(path: Path, counts: Counts, files: int) -> None:
    shown = evolve(counts, endings=dict(sorted(counts.endings.items())))
    report = {
        "command": f"python -m tests.halide_programs --seed {counts.seed}",
        "machine": machine(),
        "undamaged files": files,
        "processor seconds for a file": SECONDS,
        "megabytes for a run": MEGABYTES,
        "counts": asdict(shown),
    }
    path.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
