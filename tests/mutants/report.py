"""What became of the planted bugs: a journal to go on from, a table, and JSON to keep."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from apps.files import write_text
from tests.mutants.bug import Bug
from tests.mutants.covering import FOLDER
from tests.mutants.trial import Trial
from tests.mutants.workshop import ROOT

RESULTS = ROOT / "bench" / "results" / "mutants.json"
JOURNAL = FOLDER / "trials.jsonl"
FATES = ("killed", "survived", "out of time", "not run")


def line(trial: Trial) -> str:
    """One trial as a line: its fate, and by which test."""
    bug = trial.bug
    return f"{trial.fate:11} {bug.place} {bug.name} {trial.by} ({trial.seconds:.1f} s)"


def note(trial: Trial, commit: str, journal: Path = JOURNAL) -> None:
    """Write what became of a bug to the end of the journal."""
    entry = {
        "key": trial.bug.key,
        "name": trial.bug.name,
        "package": group(trial.bug),
        "fate": trial.fate,
        "by": trial.by,
        "seconds": round(trial.seconds, 2),
        "commit": commit,
    }
    journal.parent.mkdir(parents=True, exist_ok=True)
    with journal.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(entry) + "\n")


def group(bug: Bug) -> str:
    """What a bug counts with: those by hand, or its package."""
    return "by hand" if bug.tests else bug.package


def known(journal: Path = JOURNAL) -> dict[str, dict[str, Any]]:
    """The last entry of each bug, by its key. A line that was cut off is no entry."""
    found = {}
    for text in journal.read_text("utf-8").splitlines() if journal.exists() else ():
        try:
            entry = json.loads(text)
        except ValueError:
            continue
        found[entry["key"]] = entry
    return found


def keep(bugs: Iterable[Bug], results: Path = RESULTS, journal: Path = JOURNAL) -> None:
    """Write what is known of bugs, by package; what became of bugs in other code is left out."""
    entries = known(journal)
    of_package: dict[str, Counter[str]] = {}
    survivors: list[str] = []
    for bug in bugs:
        counts = of_package.setdefault(group(bug), Counter())
        counts["possible"] += 1
        entry = entries.get(bug.key)
        if entry is None:
            continue
        counts["planted"] += 1
        counts[entry["fate"]] += 1
        if entry["fate"] != "killed":
            survivors.append(f"{entry['fate']}: {entry['name']}")
    kept = {
        "packages": {
            name: {key: counts[key] for key in ("possible", "planted", *FATES)}
            for name, counts in sorted(of_package.items())
        },
        "not killed": sorted(survivors),
    }
    write_text(results, json.dumps(kept, indent=2) + "\n")


def table(trials: Sequence[Trial]) -> Table:
    """How many bugs of each package were planted, and what became of them."""
    shown = Table("package", "planted", *FATES, title="Planted bugs")
    for name in sorted({group(trial.bug) for trial in trials}):
        fates: Counter[str] = Counter(trial.fate for trial in trials if group(trial.bug) == name)
        shown.add_row(name, str(fates.total()), *(str(fates[fate]) for fate in FATES))
    return shown
