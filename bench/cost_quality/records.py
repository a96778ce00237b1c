"""Measured schedules as JSON lines; a run that was stopped goes on from them."""

from __future__ import annotations

import datetime
import json
import math
import os
import statistics
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from bench.cost_quality.drawing import Origin
from spaces.apps.files import write_text
from spaces.cost.measurer import Measurement, RunOutcome

FOLDER = Path(__file__).parent.parent / "results" / "cost_quality"
"""The measured schedules, a file for each app."""


@frozen(kw_only=True)
class Record:
    """One measured schedule. Times are None if it did not run correctly.

    Attributes:
        subject: the name of the app, or of the random pipeline.
        number: of the schedule in its drawing.
        origin: how it was drawn.
        schedule: as text; the pipeline reads it.
        outcome: what became of it.
        runs: how often it was timed, each time beside a run of the reference.
        median_seconds: the median of its runs.
        fastest_seconds: the least of its runs.
        reference_median_seconds, reference_fastest_seconds: those of the reference in the same
            rounds.
        ratio: the median over the rounds of its time divided by the reference's.
        compile_seconds: the time to verify and compile it.
        cpu: the processor and what LLVM calls it; ``devices.json`` describes it.
        day: of the measurement, as ``2026-11-29``; None where nobody wrote it down.
    """

    subject: str
    number: int
    origin: Origin
    schedule: str
    outcome: RunOutcome
    runs: int
    median_seconds: float | None
    fastest_seconds: float | None
    reference_median_seconds: float | None
    reference_fastest_seconds: float | None
    ratio: float | None
    compile_seconds: float | None
    cpu: str
    day: str | None = None

    @staticmethod
    def of(
        subject: str, number: int, origin: Origin, text: str, found: Measurement, cpu: str
    ) -> Record:
        """The record of a measurement of today."""
        mine, theirs = found.seconds, found.reference_seconds
        return Record(
            subject=subject,
            number=number,
            origin=origin,
            schedule=text,
            outcome=found.outcome,
            runs=len(mine),
            median_seconds=_rounded(statistics.median(mine)) if mine else None,
            fastest_seconds=_rounded(min(mine)) if mine else None,
            reference_median_seconds=_rounded(statistics.median(theirs)) if mine else None,
            reference_fastest_seconds=_rounded(min(theirs)) if mine else None,
            ratio=_rounded(found.ratio) if mine else None,
            compile_seconds=_rounded(found.compile_seconds or math.nan) if mine else None,
            cpu=cpu,
            day=datetime.date.today().isoformat(),
        )

    @staticmethod
    def from_json(document: dict[str, Any]) -> Record:
        """What :meth:`to_json` made."""
        origin, outcome = Origin(document["origin"]), RunOutcome(document["outcome"])
        return Record(**document | {"origin": origin, "outcome": outcome})

    def to_json(self) -> dict[str, Any]:
        """As JSON's types; without a day that is not known."""
        return {
            name: value for name, value in asdict(self).items() if (name, value) != ("day", None)
        }


def _rounded(number: float) -> float:
    """With five digits: times are not known more exactly."""
    return float(f"{number:.5g}")


def records(path: Path) -> list[Record]:
    """The records of a file; none if there is no such file. A line that was being written when a
    run was stopped is left out.
    """
    text = path.read_text("utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    return [Record.from_json(json.loads(line)) for line in whole.splitlines()]


def append(path: Path, found: list[Record]) -> None:
    """Writes records behind those of a file. A line that was not written to its end is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        written = file.read()
        file.truncate(written.rfind(b"\n") + 1)
        for one in found:
            file.write(json.dumps(one.to_json()).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def replace(path: Path, found: list[Record]) -> None:
    """Puts records of some pipelines in place of those that a file has of them."""
    subjects = {one.subject for one in found}
    kept = [one for one in records(path) if one.subject not in subjects]
    lines = [json.dumps(one.to_json()) + "\n" for one in (*kept, *found)]
    write_text(path, "".join(lines))
