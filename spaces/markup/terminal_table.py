"""Tables on terminals: columns where there is room, else a few lines for each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import field, frozen
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from spaces.markup.card import Cell, Share, Table, WrittenNumber
from spaces.markup.quantities import shown_number
from spaces.markup.terminal_lines import PARTS, shown, wrapped

_LEAST_BAR, _BAR = 4, 12
"""The least and the most characters of a bar."""

_GAP = 2
"""Between columns."""

_EIGHTHS = " ▏▎▍▌▋▊▉"


def table_lines(table: Table, width: int) -> Iterator[RenderableType]:
    """The table in a width. Texts fold; bars go first if there is no room, and then the columns."""
    columns = [
        _Column(name, [row[place] for row in table.rows])
        for place, name in enumerate(table.columns)
    ]
    if not _fit(columns, width):
        columns = [column for column in columns if not column.is_bar]
    if _fit(columns, width):
        yield _grid(columns, width)
        return
    for cells in zip(*(column.cells for column in columns), strict=True):
        yield from _record([column.name for column in columns], cells, width)


def fact_lines(named: Mapping[str, str], width: int) -> Iterator[RenderableType]:
    """Names and values, a row each."""
    names = _Column("", list(named))
    values = _Column("", list(named.values()))
    if _fit([names, values], width):
        yield _grid([names, values], width, "dim")
        return
    for name, value in named.items():
        yield from wrapped(Text(f"{shown(name)}: {shown(value)}"), width, "", "  ")


@frozen
class _Column:
    """A column.

    Attributes:
        least: the width of its longest number or word.
        most: the width of its longest cell.
    """

    name: str
    cells: Sequence[Cell]
    is_bar: bool = field(init=False)
    is_number: bool = field(init=False)
    least: int = field(init=False)
    most: int = field(init=False)

    @is_bar.default
    def _shares(self) -> bool:
        return any(isinstance(cell, Share) for cell in self.cells)

    @is_number.default
    def _numbers(self) -> bool:
        return all(isinstance(cell, int | float | WrittenNumber) for cell in self.cells)

    @least.default
    def _longest_word(self) -> int:
        if self.is_bar:
            return _LEAST_BAR
        texts = list(map(_text, self.cells))
        parts = texts if self.is_number else [word for text in texts for word in text.split()]
        return max(map(cell_len, [*parts, *self.name.split()]), default=0)

    @most.default
    def _longest_cell(self) -> int:
        if self.is_bar:
            return _BAR
        return max(map(cell_len, [self.name, *map(_text, self.cells)]))


def _fit(columns: Sequence[_Column], width: int) -> bool:
    return sum(column.least for column in columns) + _GAP * (len(columns) - 1) <= width


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """As wide as the cells, less where room is short: the columns with most to spare give first."""
    found = [column.most for column in columns]
    for _ in range(sum(found) + _GAP * (len(columns) - 1) - width):
        spare = [one - column.least for one, column in zip(found, columns, strict=True)]
        found[spare.index(max(spare))] -= 1
    return found


def _grid(columns: Sequence[_Column], width: int, first_style: str = "") -> RichTable:
    has_head = any(column.name for column in columns)
    made = RichTable(
        box=None,
        show_header=has_head,
        pad_edge=False,
        padding=(0, _GAP, 0, 0),
        header_style="dim",
    )
    for place, (column, wide) in enumerate(zip(columns, _widths(columns, width), strict=True)):
        made.add_column(
            Text(shown(column.name)),
            justify="right" if column.is_number else "left",
            overflow="fold",
            width=wide,
            style="" if place else first_style,
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        made.add_row(*map(_cell, row))
    return made


def _record(names: Sequence[str], row: Sequence[Cell], width: int) -> Iterator[Text]:
    """A row as text: its first cell, then the others with the names of their columns."""
    made = Text(_text(row[0]), "bold")
    for name, cell in zip(names[1:], row[1:], strict=True):
        told = _text(cell)
        if told:
            made.append(f"  {shown(name)} ", "not bold dim").append(told, "not bold")
    yield from wrapped(made, width, "", "  ", PARTS)


def _cell(cell: Cell) -> RenderableType:
    return _ShareBar(cell.of_whole) if isinstance(cell, Share) else Text(_text(cell))


def _text(cell: Cell) -> str:
    match cell:
        case None | Share():
            return ""
        case WrittenNumber(text=text):
            return shown(text)
        case int() | float():
            return shown_number(cell)
        case _:
            return shown(cell)


@frozen
class _ShareBar:
    """A bar as long as a share of its place."""

    share: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, _BAR)
        whole, part = divmod(round(min(max(self.share, 0.0), 1.0) * width * 8), 8)
        yield Text("█" * whole + _EIGHTHS[part] * (part > 0), "cyan")
