"""Mistakes in a schedule text, and the error that tells all of them with their places."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen


@frozen
class Problem:
    """One mistake: where it is (1-based line and column, length) and what it is."""

    line: int
    column: int
    length: int
    message: str
    source: str

    @property
    def place(self) -> tuple[int, int]:
        """Line and column."""
        return self.line, self.column

    def __str__(self) -> str:
        carets = "^" * max(1, min(self.length, len(self.source) - self.column + 1))
        pad = "".join("\t" if c == "\t" else " " for c in self.source[: self.column - 1])
        return (
            f"line {self.line}, column {self.column}: {self.message}\n"
            f"    {self.source}\n    {pad}{carets}"
        )


class ScheduleSyntaxError(ValueError):
    """A schedule text with mistakes, all of which are listed in ``problems``."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: p.place))
        count = len(self.problems)
        mistakes = "a mistake" if count == 1 else f"{count} mistakes"
        super().__init__("\n".join([f"The schedule has {mistakes}.", *map(str, self.problems)]))

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
    source = text[line_start : line_end if line_end >= 0 else len(text)].rstrip("\r")
    return Problem(
        line=text.count("\n", 0, mistake.start) + 1,
        column=mistake.start - line_start + 1,
        length=mistake.end - mistake.start,
        message=mistake.message,
        source=source,
    )
