"""What became of the planted bugs: a table to read, and JSON to keep."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from apps.files import write_text
from tests.mutants.catalogue import AREAS
from tests.mutants.trial import Trial

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results" / "mutants.json"
_AREA = {mutant.name: area for area, mutants in AREAS.items() for mutant in mutants}


def show(trials: Sequence[Trial], console: Console) -> None:
    """How many mutants of each area were killed, and each that was not, with its reason."""
    killed = Counter(_AREA[t.mutant.name] for t in trials if t.fate == "killed")
    planted = Counter(_AREA[t.mutant.name] for t in trials)
    table = Table("area", "planted", "killed", "not killed", title="Planted bugs")
    for area, number in planted.items():
        left = [
            t.mutant.name for t in trials if t.fate != "killed" and _AREA[t.mutant.name] == area
        ]
        table.add_row(area, str(number), str(killed[area]), ", ".join(left))
    console.print(table)
    percent = 100 * killed.total() / planted.total()
    console.print(f"Killed: {killed.total()} of {planted.total()}, {percent:.1f} %.")
    for trial in trials:
        if trial.fate != "killed":
            console.print(_told(trial), soft_wrap=True)


def line(trial: Trial) -> str:
    """One trial as a line: its fate, and by which test."""
    how = "" if trial.how in ("failed", "passed") else f", {trial.how}"
    seconds = f"{trial.seconds:.0f} s{how}"
    return " ".join((f"{trial.fate:11}", trial.mutant.name, trial.by, f"({seconds})"))


def _told(trial: Trial) -> str:
    reason = trial.mutant.equivalent
    because = f"It is equivalent because {reason}" if reason else "No reason is given."
    return f"{trial.mutant.name} ({trial.fate}, {trial.asked}): {trial.mutant.why} {because}"


def keep(trials: Sequence[Trial], commit: str) -> None:
    """Write the results of all mutants of a commit."""
    killed = sum(t.fate == "killed" for t in trials)
    found = {
        "commit": commit,
        "planted": len(trials),
        "killed": killed,
        "percent": round(100 * killed / len(trials), 1),
        "seconds": round(sum(t.seconds for t in trials)),
        "mutants": [
            {
                "area": _AREA[t.mutant.name],
                "name": t.mutant.name,
                "file": t.mutant.file,
                "why": t.mutant.why,
                "fate": t.fate,
                "by": t.by,
                "how": t.how,
                "asked": t.asked,
                "seconds": round(t.seconds, 1),
                "reason": t.mutant.equivalent,
            }
            for t in trials
        ],
    }
    write_text(RESULTS, json.dumps(found, indent=2) + "\n")
