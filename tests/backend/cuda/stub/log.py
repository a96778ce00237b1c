"""What was asked of the stub driver."""

from __future__ import annotations

import os
from pathlib import Path


def calls(name: str, since: int = 0) -> list[list[str]]:
    """The arguments of each call of the driver of a name, from a line of the log on."""
    return [rest for first, *rest in map(str.split, _lines()[since:]) if first == name]


def now() -> int:
    """The lines of the log."""
    return len(_lines())


def forget() -> None:
    """Begins the log again."""
    Path(os.environ["STUB_LOG"]).write_text("")


def note_end() -> None:
    """Tells where the process begins to end: what it still has is finalized later, if at all."""
    with Path(os.environ["STUB_LOG"]).open("a") as log:
        log.write("end\n")


def _lines() -> list[str]:
    return Path(os.environ["STUB_LOG"]).read_text().splitlines()
