"""Mistakes in a schedule text, and the error that tells all of them with their places."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from spaces.model.text_limits import MOST_MISTAKES

_AROUND = 100
"""Characters of a line that are shown before a mistake, and half of those from it on."""

_LONGEST = 2_000
"""Characters of a message."""


@frozen
class Problem:
    """One mistake: where it is (1-based line and column, length) and what it is.

    Attributes:
        source: the line, or the part of a long line around the mistake.
        shown_from: the column of the first character of ``source``.
    """

    line: int
    column: int
    length: int
    message: str
    source: str
    shown_from: int = 1

    @property
    def place(self) -> tuple[int, int]:
        """Line and column."""
        return self.line, self.column

    def __str__(self) -> str:
        before = self.column - self.shown_from
        carets = "^" * max(1, min(self.length, len(self.source) - before))
        pad = "".join("\t" if c == "\t" else " " for c in self.source[:before])
        return (
            f"line {self.line}, column {self.column}: {self.message}\n"
            f"    {self.source}\n    {pad}{carets}"
        )


class ScheduleSyntaxError(ValueError):
    """A schedule text has mistakes; ``problems`` lists them all."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: p.place))
        count = len(self.problems)
        most = f"more than {MOST_MISTAKES} mistakes"
        mistakes = "a mistake" if count == 1 else f"{count} mistakes"
        mistakes = mistakes if count <= MOST_MISTAKES else most
        lines = [f"The schedule has {mistakes}.", *map(str, self.problems[:MOST_MISTAKES])]
        if count > MOST_MISTAKES:
            lines.append(f"Here are the first {MOST_MISTAKES}.")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[ScheduleSyntaxError], tuple[tuple[Problem, ...]]]:
        return ScheduleSyntaxError, (self.problems,)


class Mistake(Exception):
    """A mistake found at characters ``[start, end)`` of the text."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message, self.start, self.end = message, start, end


def problem_at(text: str, mistake: Mistake) -> Problem:
    """The place of a mistake as line, column and source line."""
    line_start = text.rfind("\n", 0, mistake.start) + 1
    line_end = text.find("\n", line_start)
    shown_start = max(line_start, mistake.start - _AROUND)
    shown_end = min(line_end if line_end >= 0 else len(text), mistake.start + 2 * _AROUND)
    return Problem(
        line=text.count("\n", 0, mistake.start) + 1,
        column=mistake.start - line_start + 1,
        length=mistake.end - mistake.start,
        message=_shortened(mistake.message),
        source=text[shown_start:shown_end].rstrip("\r"),
        shown_from=shown_start - line_start + 1,
    )


def _shortened(message: str) -> str:
    """The message, cut if it is long: names in it are as long as the user wrote them."""
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
