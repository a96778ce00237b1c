"""What became of the planted bugs: JSON to keep and to go on from, and a table."""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.table import Table

from spaces.apps.files import write_text
from tests.mutants.bug import Bug
from tests.mutants.trial import NOTICED, Trial
from tests.mutants.workshop import ROOT

RESULTS = ROOT / "bench" / "results" / "mutants.json"
FATES = (*NOTICED, "survived", "not run", "equivalent")
"""What becomes of bugs. Equivalent: somebody said why nobody can see it."""

UNNOTICED = ("survived", "not run")


def line(trial: Trial) -> str:
    """One trial as a line: its fate, and by which test. The key stands by what nobody noticed."""
    bug = trial.bug
    key = "" if trial.fate in NOTICED else f"{bug.key} "
    return f"{trial.fate:11} {key}{bug.place} {bug.name} {trial.by} ({trial.seconds:.1f} s)"


def group(bug: Bug) -> str:
    """What a bug counts with: those by hand, or its package."""
    return "by hand" if bug.tests else bug.package


def known(results: Path = RESULTS) -> dict[str, str]:
    """The last fate of each bug that is known, by its key."""
    return dict(_kept(results)["known"])


def _kept(results: Path) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(results.read_text("utf-8")) if results.exists() else {}
    return {"known": {}, "equivalent": {}} | kept


def excuse(reasons: Mapping[str, str], bugs: Sequence[Bug], results: Path = RESULTS) -> list[str]:
    """Note for each key that nobody can see its bug, and why; a line to print for each.

    Raises:
        ValueError: no bug has the key, or none of it is known, or a test noticed it; or a reason is
            empty.
    """
    by_key, fates = {bug.key: bug for bug in bugs}, known(results)
    for key, reason in reasons.items():
        if key not in by_key:
            raise ValueError(
                f"No bug has the key {key}; a bug that no test notices is printed with its key. "
                "A key holds until its function changes."
            )
        name, fate = by_key[key].name, fates.get(key)
        if fate is None:
            raise ValueError(f"Plant {name} first: a test may notice it.")
        if fate in NOTICED:
            raise ValueError(f"A test noticed {name}, so it can be seen.")
        if not reason.strip():
            raise ValueError(f"Say why nobody can see {name}.")
    keep([], bugs, results, reasons)
    return [f"{key} equivalent: {by_key[key].name}: {why}" for key, why in reasons.items()]


def keep(
    trials: Iterable[Trial],
    bugs: Iterable[Bug],
    results: Path = RESULTS,
    equivalent: Mapping[str, str] | None = None,
) -> None:
    """Write what became of bugs beside what is known of others.

    Args:
        trials: what became of them.
        bugs: all bugs that there are. Results of others, whose code has changed, are dropped.
        results: the file.
        equivalent: why nobody can see a bug, by its key. A reason goes when a test notices the bug.

    A bug that survived stays so where a later run knows no test of its lines. Runs at the same
    time wait for each other.
    """
    trials, bugs = list(trials), list(bugs)
    with _one_at_a_time(results.parent):
        _write(trials, bugs, results, equivalent or {})


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Until then other processes that write results to a folder wait."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _write(
    trials: Sequence[Trial], bugs: Sequence[Bug], results: Path, equivalent: Mapping[str, str]
) -> None:
    before = _kept(results)
    seen = {trial.bug.key for trial in trials if trial.fate in NOTICED}
    reasons = before["equivalent"] | dict(equivalent)
    reasons = {key: reason for key, reason in reasons.items() if key not in seen}
    fates = dict(before["known"])
    for trial in trials:
        if (fates.get(trial.bug.key), trial.fate) != ("survived", "not run"):
            fates[trial.bug.key] = trial.fate
    fates |= dict.fromkeys(reasons, "equivalent")
    of_package: dict[str, Counter[str]] = {}
    kept: dict[str, str] = {}
    unnoticed: list[str] = []
    excused: dict[str, str] = {}
    for bug in bugs:
        counts = of_package.setdefault(group(bug), Counter())
        counts["possible"] += 1
        fate = fates.get(bug.key)
        if fate is None:
            continue
        counts.update(("planted", fate))
        kept[bug.key] = fate
        if fate == "equivalent":
            excused[bug.key] = _with_name(bug, reasons[bug.key])
        elif fate in UNNOTICED:
            unnoticed.append(f"{bug.key} {fate}: {bug.name}")
    written = {
        "packages": {
            name: {key: counts[key] for key in ("possible", "planted", *FATES)}
            for name, counts in sorted(of_package.items())
        },
        "unnoticed": sorted(unnoticed),
        "equivalent": dict(sorted(excused.items())),
        "known": dict(sorted(kept.items())),
    }
    write_text(results, json.dumps(written, indent=2) + "\n")


def _with_name(bug: Bug, reason: str) -> str:
    return reason if reason.startswith(bug.name) else f"{bug.name}: {reason}"


def table(trials: Sequence[Trial]) -> Table:
    """How many bugs of each package were planted, and what became of them."""
    shown = Table("package", "planted", *FATES, title="Planted bugs")
    for name in sorted({group(trial.bug) for trial in trials}):
        fates: Counter[str] = Counter(trial.fate for trial in trials if group(trial.bug) == name)
        shown.add_row(name, str(fates.total()), *(str(fates[fate]) for fate in FATES))
    return shown
