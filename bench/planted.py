"""Tables of planted bugs: how many of each package tests notice (`python -m tests.mutants`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

BY_HAND = "by hand"
HEADERS = ("package", "possible", "drawn", "noticed", "unnoticed", "by no test", "equivalent")

Counts = Mapping[str, int]


def rows(packages: Mapping[str, Counts]) -> list[tuple[str, str, str]]:
    """A row for the bugs by hand and one for the small changes of functions, where some ran."""
    changes: Counter[str] = Counter()
    for name, counts in packages.items():
        changes.update({} if name == BY_HAND else counts)
    kinds: list[tuple[str, Counts]] = [
        ("mistakes by hand, planted one at a time", packages[BY_HAND])
    ]
    if changes["planted"]:
        drawn = f"small changes of functions, drawn from {changes['possible']:,}"
        kinds.append((drawn, changes))
    return [
        (f"{what}: `python -m tests.mutants`", f"{counts['planted']:,}", _found(counts))
        for what, counts in kinds
    ]


def _found(counts: Counts) -> str:
    found = f"tests notice {_noticed(counts):,}; no test runs the lines of {counts['not run']:,}"
    equivalent = counts["equivalent"]
    return f"{found}; nobody can see {equivalent:,}" if equivalent else found


def of_packages(packages: Mapping[str, Counts]) -> list[tuple[str, ...]]:
    """A row for each package in which small changes of functions were planted, under `HEADERS`."""
    return [
        (
            f"`{name}`",
            f"{counts['possible']:,}",
            f"{counts['planted']:,}",
            f"{_noticed(counts):,}",
            f"{counts['survived']:,}",
            f"{counts['not run']:,}",
            f"{counts['equivalent']:,}",
        )
        for name, counts in packages.items()
        if name != BY_HAND and counts["planted"]
    ]


def _noticed(counts: Counts) -> int:
    return counts["killed"] + counts["out of time"]
