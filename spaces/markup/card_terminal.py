"""Cards on terminals, by rich: in the width that there is, and the same words without colours.

Names may come from files of others, so all texts are shown and none is obeyed: rich reads no markup
in them, and characters that control a terminal become escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from attrs import frozen
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from spaces.markup.card import (
    Bullets,
    Card,
    Cell,
    Facts,
    Graph,
    Listing,
    Noted,
    Number,
    Paragraph,
    Part,
    Phrase,
    Picture,
    Share,
    Style,
    Table,
    Tree,
)
from spaces.markup.quantities import shown_number
from spaces.markup.terminal import visible
from spaces.markup.tree import guide, guide_past, last_at_levels

STYLES: Mapping[Style, str] = {
    "ok": "bold green",
    "bad": "bold red",
    "open": "bold yellow",
    "strong": "bold",
    "quiet": "dim",
    "code": "",
    "store": "dim",
    "serial": "",
    "parallel": "bold magenta",
    "vectorized": "bold green",
    "unrolled": "bold yellow",
    "gpu_block": "bold cyan",
    "gpu_thread": "bold bright_magenta",
}
"""What rich calls the styles."""

_HANGING = "    "
"""Stands before the second line of what does not fit on one."""

_LEAST = 16
"""The guides of a tree leave at least so many characters for its texts."""

_BAR = 12
"""The most characters of a bar."""

_BLOCKS = " ▏▎▍▌▋▊▉"
"""Parts of a character, in eighths."""

_ASCII = str.maketrans("├└│─•█▏▎▍▌▋▊▉×…·", "|`|-*#   ####x..")
"""What stands for some characters on a terminal without Unicode."""

_BREAKS = re.compile(r"(?<=\s)(?=\S)|(?<=\))(?=\.[A-Za-z_])")
"""A line may end after spaces, and before the next directive of a chain."""


@frozen
class TerminalCard:
    """A card that rich prints."""

    card: Card

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = Group(*self._lines(options.max_width))
        if not options.ascii_only:
            yield shown
            return
        for text, style, control in console.render(shown, options):
            yield Segment(_ascii(text), style, control)

    def _lines(self, width: int) -> Iterator[RenderableType]:
        heading = Text(_shown(self.card.title), "bold")
        if self.card.about:
            heading.append(f"  {_shown(self.card.about)}", "not bold dim")
        yield from _wrapped(heading, width, "", _HANGING)
        for part in self.card.parts:
            yield from _part(part, width)


def _part(part: Part, width: int) -> Iterator[RenderableType]:
    match part:
        case Paragraph(phrase=phrase):
            yield from _wrapped(_text(phrase), width)
        case Listing(text=text):
            yield from _listing(text, width)
        case Bullets(items=items):
            yield from _bullets(items, width)
        case Noted(line=line, notes=notes):
            yield from _wrapped(_text(line), width, "  ", f"  {_HANGING}")
            yield from _bullets(notes, width, "    ")
        case Table():
            yield _table(part)
        case Facts(named=named):
            yield _facts(named)
        case Tree():
            yield from _tree(part, width)
        case Graph(listed=listed):
            yield _table(listed)
        case Picture():
            return


def _shown(text: str) -> str:
    return visible(text).expandtabs(4)


def _ascii(text: str) -> str:
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode()


def _text(phrase: Phrase) -> Text:
    made = Text()
    for piece in phrase:
        if isinstance(piece, str):
            made.append(_shown(piece))
        else:
            made.append(_shown(piece.text), STYLES[piece.style])
    return made


def _wrapped(text: Text, width: int, first: str = "", rest: str = "") -> Iterator[Text]:
    """The lines of a text, ``first`` before the first one and ``rest`` before each other one."""
    before = first
    for line in text.split("\n", allow_blank=True):
        breaks = _broken(line.plain, width - cell_len(before), width - cell_len(rest))
        for part in line.divide(breaks):
            part.rstrip()
            yield Text().append(before, "dim").append_text(part)
            before = rest


def _broken(text: str, first: int, rest: int) -> list[int]:
    """Where the lines after the first one begin, if lines have room for so many characters. What
    is longer than a line goes on in the next one.
    """
    found: list[int] = []
    room, used, place = max(first, 1), 0, 0
    for piece in _BREAKS.split(text):
        needed = cell_len(piece.rstrip())
        if used and used + needed > room:
            found.append(place)
            room, used = max(rest, 1), 0
        for character in piece if needed > room else ():
            if used and used + cell_len(character) > room:
                found.append(place)
                room, used = max(rest, 1), 0
            used += cell_len(character)
            place += 1
        if needed <= room:
            used += cell_len(piece)
            place += len(piece)
    return found


def _bullets(items: tuple[Phrase, ...], width: int, before: str = "") -> Iterator[Text]:
    for item in items:
        yield from _wrapped(_text(item), width, f"{before}• ", f"{before}  ")


def _listing(text: str, width: int) -> Iterator[Text]:
    """The lines; a comment that does not fit stands below its line, and is still a comment."""
    for line in _shown(text).split("\n"):
        code, mark, comment = line.partition("// ")
        whole = Text(f"  {code}").append(mark + comment, "dim")
        if cell_len(whole.plain) <= width:
            yield whole
            continue
        if code.strip():
            yield from _wrapped(Text(code), width, "  ", f"  {_HANGING}")
        if mark:
            start = f"  {_HANGING if code.strip() else ''}// "
            yield from _wrapped(Text(comment, "dim"), width, start, start)


def _table(table: Table) -> RichTable:
    made = _plain_table(has_head=any(table.columns))
    for place, name in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        is_number = all(isinstance(cell, int | float | Number) for cell in cells)
        made.add_column(
            Text(_shown(name)),
            justify="right" if is_number else "left",
            no_wrap=is_number,
            overflow="fold",
        )
    for row in table.rows:
        made.add_row(*map(_cell, row))
    return made


def _plain_table(*, has_head: bool) -> RichTable:
    return RichTable(
        box=None,
        show_header=has_head,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="dim",
    )


def _cell(cell: Cell) -> RenderableType:
    match cell:
        case Share(of_whole=share):
            return _ShareBar(share)
        case Number(text=text):
            return Text(_shown(text))
        case int() | float():
            return Text(shown_number(cell))
        case _:
            return Text(_shown(cell or ""))


def _facts(named: Mapping[str, str]) -> RichTable:
    made = _plain_table(has_head=False)
    made.add_column(overflow="fold", style="dim")
    made.add_column(overflow="fold")
    for name, value in named.items():
        made.add_row(Text(_shown(name)), Text(_shown(value)))
    return made


def _tree(tree: Tree, width: int) -> Iterator[Text]:
    """The rows behind guides, which are narrow where room is short."""
    depths = [row.depth for row in tree.rows]
    level = next((n for n in (3, 2) if n * max(depths, default=0) <= width // 3), 1)
    most = max(width - _LEAST, 0)
    followed = (*(below > depth for depth, below in pairwise(depths)), False)
    paths = last_at_levels(depths)
    for row, lasts, is_parent in zip(tree.rows, paths, followed, strict=True):
        first = _narrowed(guide(lasts), level)[:most]
        rest = _narrowed(guide_past((*lasts, not is_parent)), level)[: most + 2]
        yield from _wrapped(_text(row.phrase), width, first, rest)


def _narrowed(guides: str, level: int) -> str:
    """Guides with so many characters a level, of three."""
    return "".join(guides[at : at + level] for at in range(0, len(guides), 3))


@frozen
class _ShareBar:
    """A bar as long as a share of its place."""

    share: float

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(4, options.max_width), min(_BAR, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, _BAR)
        whole, part = divmod(round(min(max(self.share, 0.0), 1.0) * width * 8), 8)
        yield Text("█" * whole + _BLOCKS[part] * (part > 0), "cyan", no_wrap=True)
