"""What became of the planted bugs: JSON to keep and to go on from, and a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table

from spaces.apps.files import write_text
from tests.mutants.bug import Bug
from tests.mutants.trial import Trial
from tests.mutants.workshop import ROOT

RESULTS = ROOT / "bench" / "results" / "mutants.json"
FATES = ("killed", "survived", "out of time", "not run")


def line(trial: Trial) -> str:
    """One trial as a line: its fate, and by which test."""
    bug = trial.bug
    return f"{trial.fate:11} {bug.place} {bug.name} {trial.by} ({trial.seconds:.1f} s)"


def group(bug: Bug) -> str:
    """What a bug counts with: those by hand, or its package."""
    return "by hand" if bug.tests else bug.package


def known(results: Path = RESULTS) -> dict[str, str]:
    """The last fate of each bug that is known, by its key."""
    if not results.exists():
        return {}
    found: dict[str, str] = json.loads(results.read_text("utf-8"))["known"]
    return found


def keep(trials: Iterable[Trial], bugs: Iterable[Bug], results: Path = RESULTS) -> None:
    """Write what became of bugs beside what is known of others.

    Args:
        trials: what became of them.
        bugs: all bugs that there are. Results of others, whose code has changed, are dropped.
        results: the file.
    """
    fates = known(results) | {trial.bug.key: trial.fate for trial in trials}
    of_package: dict[str, Counter[str]] = {}
    kept: dict[str, str] = {}
    not_killed: list[str] = []
    for bug in bugs:
        counts = of_package.setdefault(group(bug), Counter())
        counts["possible"] += 1
        fate = fates.get(bug.key)
        if fate is None:
            continue
        counts.update(("planted", fate))
        kept[bug.key] = fate
        if fate != "killed":
            not_killed.append(f"{fate}: {bug.name}")
    written = {
        "packages": {
            name: {key: counts[key] for key in ("possible", "planted", *FATES)}
            for name, counts in sorted(of_package.items())
        },
        "not killed": sorted(not_killed),
        "known": dict(sorted(kept.items())),
    }
    write_text(results, json.dumps(written, indent=2) + "\n")


def table(trials: Sequence[Trial]) -> Table:
    """How many bugs of each package were planted, and what became of them."""
    shown = Table("package", "planted", *FATES, title="Planted bugs")
    for name in sorted({group(trial.bug) for trial in trials}):
        fates: Counter[str] = Counter(trial.fate for trial in trials if group(trial.bug) == name)
        shown.add_row(name, str(fates.total()), *(str(fates[fate]) for fate in FATES))
    return shown
