"""What became of damaged files, in a results file that a later run goes on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import asdict, define, evolve, field

from bench.machine import machine
from tests.halide_programs.hostile import MEGABYTES, SECONDS


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


def known(path: Path, seed: int, files: int) -> Counts:
    """What was tried so far of that many undamaged files. With more of them, a number stands for
    another damaged file.
    """
    if path.is_file():
        report: dict[str, Any] = json.loads(path.read_text())
        if (report["counts"]["seed"], report["undamaged files"]) == (seed, files):
            return Counts(**report["counts"])
    return Counts(seed)


def write(path: Path, counts: Counts, files: int) -> None:
    """Writes the results file."""
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
