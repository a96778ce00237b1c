"""What became of the planted bugs: a table to read, and JSON to keep."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from apps.files import write_text
from tests.mutants.catalogue import AREAS
from tests.mutants.trial import Trial

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results" / "mutants.json"
_AREA = {mutant.name: area for area, mutants in AREAS.items() for mutant in mutants}


def show(trials: Sequence[Trial], console: Console) -> None:
    """Each mutant with its fate, then how many of each area were killed."""
    table = Table("area", "mutant", "fate", "by", "s", title="Planted bugs")
    # Names of tests hold brackets, which are no markup.
    for trial in trials:
        table.add_row(
            _AREA[trial.mutant.name],
            trial.mutant.name,
            _fate(trial),
            Text(trial.by.removeprefix("tests/")),
            f"{trial.seconds:.0f}",
        )
    console.print(table)
    killed = Counter(_AREA[t.mutant.name] for t in trials if t.fate == "killed")
    planted = Counter(_AREA[t.mutant.name] for t in trials)
    counts = ", ".join(f"{area} {killed[area]} of {n}" for area, n in planted.items())
    console.print(f"Killed: {killed.total()} of {planted.total()} ({counts}).")
    for trial in trials:
        if trial.fate != "killed":
            reason = f"equivalent because {trial.mutant.equivalent}"
            console.print(
                f"{trial.mutant.name} ({trial.fate}, {trial.asked}): {trial.mutant.why} "
                f"{reason if trial.mutant.equivalent else 'No reason is given.'}"
            )


def _fate(trial: Trial) -> str:
    """The fate, and how a process ended if not by a test that failed."""
    return trial.fate if trial.how in ("failed", "passed") else f"{trial.fate} ({trial.how})"


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
