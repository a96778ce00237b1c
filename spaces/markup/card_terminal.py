"""Cards on terminals, by rich: in the width that there is, and the same words without colours.

Names may come from files of others, so all texts are shown and none is obeyed: rich reads no markup
in them, and characters that control a terminal become escapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from attrs import frozen
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from spaces.markup.card import (
    Bullets,
    Card,
    CardChart,
    CardPart,
    Facts,
    Graph,
    Listing,
    Noted,
    Paragraph,
    Phrase,
    Table,
    Tree,
)
from spaces.markup.charts.chart import Plane
from spaces.markup.charts.sparkline import sparkline
from spaces.markup.quantities import shown_count
from spaces.markup.terminal_lines import HANGING, PARTS, code_lines, shown, text_of, wrapped
from spaces.markup.terminal_table import fact_lines, table_lines
from spaces.markup.tree import guide, guide_past, last_at_levels

_LEAST = 16
"""The guides of a tree leave at least this many characters for its texts."""

_SPARK = 48
"""The most characters of a chart."""

_ASCII = str.maketrans("├└│─•█▏▎▍▌▋▊▉▁▂▃▄▅▆▇×≤…", "|`|-*#   ####__--==#x<.")
"""What stands for some characters on a terminal without Unicode."""


@frozen
class TerminalCard:
    """A card that rich prints."""

    card: Card

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = Group(*self._lines(options.max_width))
        if not options.ascii_only:
            yield lines
            return
        for text, style, control in console.render(lines, options):
            yield Segment(_ascii(text), style, control)

    def _lines(self, width: int) -> Iterator[RenderableType]:
        heading = Text(shown(self.card.title), "bold")
        if self.card.about:
            heading.append(f"  {shown(self.card.about)}", "not bold dim")
        yield from wrapped(heading, width, "", HANGING)
        for part in self.card.parts:
            yield from part_lines(part, width)


def _ascii(text: str) -> str:
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode()


def part_lines(part: CardPart, width: int) -> Iterator[RenderableType]:
    """The lines of a part of a card in a width."""
    match part:
        case Paragraph(phrase=phrase):
            yield from wrapped(text_of(phrase), width)
        case Listing(text=text):
            for line in shown(text).split("\n"):
                yield from code_lines(Text(line), width)
        case Bullets(items=items):
            yield from _bullets(items, width)
        case Noted(line=line, notes=notes):
            yield from code_lines(text_of(line), width)
            yield from _bullets(notes, width, HANGING)
        case Table():
            yield from table_lines(part, width)
        case Facts(named=named):
            yield from fact_lines(named, width)
        case Tree():
            yield from tree_lines(part, width)
        case Graph(listed=listed):
            yield from table_lines(listed, width)
        case CardChart(chart=Plane(lines=[_, *_]) as plane):
            yield from _spark_lines(plane, width)
        case CardChart():
            return


def _bullets(items: tuple[Phrase, ...], width: int, before: str = "") -> Iterator[Text]:
    for item in items:
        yield from wrapped(text_of(item), width, f"{before}• ", f"{before}  ")


def tree_lines(tree: Tree, width: int) -> Iterator[Text]:
    """The rows behind guides, which are narrow where room is short."""
    depths = [row.depth for row in tree.rows]
    level = next((n for n in (3, 2) if n * max(depths, default=0) <= width // 2), 1)
    most = max(width - _LEAST, 0)
    followed = (*(below > depth for depth, below in pairwise(depths)), False)
    paths = last_at_levels(depths)
    for row, lasts, is_parent in zip(tree.rows, paths, followed, strict=True):
        first = _narrowed(guide(lasts), level)[:most]
        rest = _narrowed(guide_past((*lasts, not is_parent)), level)[: most + level]
        yield from wrapped(text_of(row.phrase), width, first, rest, PARTS)


def _narrowed(guides: str, level: int) -> str:
    """Guides with that many characters a level, up to three."""
    if level == 3:
        return guides
    return "".join(guides[at].ljust(level) for at in range(0, len(guides), 3))


def _spark_lines(plane: Plane, width: int) -> Iterator[Text]:
    """The first line of a chart, between its first and its last value."""
    points = plane.lines[0].points
    first, last = (shown_count(points[place][1]) for place in (0, -1))
    drawn = sparkline(plane, min(max(width - len(first) - len(last) - 2, 1), _SPARK))
    about = f"{plane.title} ({plane.x.title}: up to {shown_count(points[-1][0])})"
    yield from wrapped(Text(shown(about), "dim"), width)
    yield from wrapped(Text(f"{first} ").append(drawn, "green").append(f" {last}"), width)
