"""Statements of edits pasted into the text of a schedule, as a person would."""

from __future__ import annotations

import re
from collections.abc import Iterable

from spaces.model.directives.edit import Edit


def pasted(text: str, edits: Iterable[Edit]) -> str:
    """The text with the statements of all edits applied, one after another."""
    for edit in edits:
        for statement in edit.text.split("; "):
            text = _applied(text, statement)
    return text


def _applied(text: str, statement: str) -> str:
    lines = text.splitlines()
    if statement.endswith(" added"):
        stage, _ = _parts(statement)
        last = max((i for i, line in enumerate(lines) if _parts(line)[0] == stage), default=-1)
        place = last + 1 if last >= 0 else len(lines)
        lines.insert(place, statement.removesuffix(" added"))
        return "\n".join(lines)
    if statement.endswith(" left out"):
        stage, old = _parts(statement.removesuffix(" left out"))
        new = ""
    else:
        written, old = statement.split(" instead of ")
        stage, new = _parts(written)
        new = f".{new}"
    found = [
        (i, at.start())
        for i, line in enumerate(lines)
        if _parts(line)[0] == stage
        for at in re.finditer(re.escape(f".{old}") + r"(?=\.|$)", line)
    ]
    ((i, start),) = found  # the statement names one place
    lines[i] = lines[i][:start] + new + lines[i][start + 1 + len(old) :]
    return "\n".join(line for line in lines if line != stage)


def _parts(line: str) -> tuple[str, str]:
    """The stage of a line, and its directives."""
    found = re.match(r"((?:\"[^\"]*\"|[\w$]+)(?:\.update\(\d+\))?)\.(.*)", line)
    assert found, line
    return found[1], found[2]
