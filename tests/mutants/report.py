"""What became of the planted bugs: a table to read, and JSON to keep."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from apps.files import write_text
from tests.mutants.catalogue import AREAS, MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.trial import Trial
from tests.mutants.workshop import Workshop

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
    percent = 100 * killed.total() / max(planted.total(), 1)
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


def pending(root: Path) -> tuple[Mutant, ...]:
    """The mutants not yet killed with this code and these tests, those never tried first."""
    killed = {entry["key"] for entry in _known() if entry["fate"] == "killed"}
    tried = {entry["change"] for entry in _known()}
    left = [mutant for mutant in MUTANTS if mutant.key(root) not in killed]
    return tuple(sorted(left, key=lambda mutant: mutant.change in tried))


def keep(trials: Sequence[Trial], workshop: Workshop) -> None:
    """Write what became of mutants of a commit beside what is known of the others.

    A result stays while the change of its mutant does. ``changed since`` names those whose code or
    tests are others in this commit.
    """
    found = {entry["change"]: entry for entry in _known()}
    for trial in trials:
        found[trial.mutant.change] = _entry(trial, workshop)
    known = {m.name: found[m.change] for m in MUTANTS if m.change in found}
    entries = list(known.values())
    killed = sum(entry["fate"] == "killed" for entry in entries)
    results = {
        "planted": len(entries),
        "killed": killed,
        "percent": round(100 * killed / max(len(entries), 1), 1),
        "not tried": [m.name for m in MUTANTS if m.name not in known],
        "changed since": [
            m.name
            for m in MUTANTS
            if m.name in known and known[m.name]["key"] != m.key(workshop.root)
        ],
        "mutants": entries,
    }
    write_text(RESULTS, json.dumps(results, indent=2) + "\n")


def _known() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    known: list[dict[str, Any]] = json.loads(RESULTS.read_text("utf-8"))["mutants"]
    return known


def _entry(trial: Trial, workshop: Workshop) -> dict[str, Any]:
    mutant = trial.mutant
    return {
        "area": _AREA[mutant.name],
        "name": mutant.name,
        "where": mutant.where,
        "file": mutant.planted(workshop.root).definition.path,
        "why": mutant.why,
        "fate": trial.fate,
        "by": trial.by,
        "how": trial.how,
        "asked": trial.asked,
        "seconds": round(trial.seconds, 1),
        "reason": mutant.equivalent,
        "commit": workshop.commit,
        "change": mutant.change,
        "key": trial.key,
    }
