"""Output for people: rich tables on a terminal, plain aligned text in a pipe. Names and reasons may
come from files of others, so characters that control a terminal are shown as escapes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from spaces.markup.card import Tree
from spaces.markup.card_terminal import tree_lines
from spaces.markup.terminal import visible

NUMBER_KINDS = (int, float)

NAME = 26
"""A terminal never breaks names of up to this many characters in the first column of a table."""


def heading(text: str) -> None:
    """Prints a line that starts a new part of the output."""
    console = Console()
    if console.is_terminal:
        console.print(Text(visible(text), style="bold"))
    else:
        print(visible(text))


def line(text: str) -> None:
    """Prints ordinary output, without wrapping or styles; Ctrl-C never cuts a line."""
    sys.stdout.write(f"{visible(text)}\n")


def tree(shown: Tree, plain: str) -> None:
    """Prints a tree as cards show it on a terminal, and as a plain text in a pipe."""
    console = Console()
    if console.is_terminal:
        console.print(Group(*tree_lines(shown, console.width)))
    else:
        line(plain)


def complain(text: str) -> None:
    """Prints a sentence to the error stream."""
    print(visible(text), file=sys.stderr)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints rows under column names; numbers are aligned to the right.

    In a pipe a row is one line (``;`` joins the lines of a cell), at least two spaces separate the
    columns, and every cell is whole.
    """
    cells = [tuple(row) for row in rows]
    right = [
        bool(cells) and all(isinstance(row[i], NUMBER_KINDS) for row in cells)
        for i in range(len(columns))
    ]
    shown = [tuple(_shown(cell) for cell in row) for row in cells]
    console = Console()
    if console.is_terminal:
        several = any("\n" in cell for row in shown for cell in row)
        made = Table(show_lines=several)
        short = all(len(row[0]) <= NAME for row in shown)
        whole = [short, *[False] * (len(columns) - 1)]
        for name, is_number, is_whole in zip(columns, right, whole, strict=True):
            side: Literal["left", "right"] = "right" if is_number else "left"
            made.add_column(name, justify=side, overflow="fold", no_wrap=is_whole)
        for row in shown:
            made.add_row(*(Text(cell) for cell in row))
        console.print(made)
        return
    shown = [tuple(cell.replace("\n", "; ") for cell in row) for row in shown]
    widths = [max(len(row[i]) for row in (tuple(columns), *shown)) for i in range(len(columns))]
    for row in (tuple(columns), *shown):
        parts = [
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, right, strict=True)
        ]
        print("  ".join(parts).rstrip())


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.4g}" if abs(cell) < 1e4 else f"{cell:,.0f}"
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return visible(str(cell))
