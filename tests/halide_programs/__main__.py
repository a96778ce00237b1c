"""Reads damaged files by the thousand: ``python -m tests.halide_programs --count 100000``.

The results file holds what was tried so far. A run with the same seed goes on from there, unless
there are more programs now, and ``--seconds`` ends it early.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.halide_programs.damage_counts import known, write
from tests.halide_programs.files import program_files
from tests.halide_programs.hostile import MEGABYTES, SECONDS, ending, megabytes, tried
from tests.halide_programs.test_damaged_files import FACTORED, FILE

RESULTS = Path("bench") / "results" / "damaged_files.json"


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
    counts = known(given.json, given.seed, len(files))
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
        write(given.json, counts, len(files))
    print(f"{counts.tried} files: {counts.endings}, slowest {counts.slowest[0]} s, ", end="")
    print(f"{counts.megabytes} MB more at most")
    return int(counts.slowest[0] > SECONDS or counts.megabytes > MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
