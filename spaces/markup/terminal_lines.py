"""Lines of text on a terminal, parted where a reader expects it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from attrs import define, field
from rich.cells import cell_len
from rich.text import Text

from spaces.markup.card import Phrase, Style
from spaces.markup.terminal import visible

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
    "gpu_thread": "bold bright_blue",
}
"""What rich calls the styles."""

HANGING = "    "
"""Stands before the second line of what does not fit on one."""

LineEnds: TypeAlias = tuple[re.Pattern[str], ...]
"""Where lines may end: at the first kind of place if lines have room for what stands between, else
at the next kind; anywhere at last.
"""

_SPACES = re.compile(r"(?<= )(?=[^ ])")

WORDS: LineEnds = (_SPACES,)
"""Lines of sentences."""

CODE: LineEnds = (re.compile(r"(?<=\))(?=\.[A-Za-z_])"), _SPACES)
"""Lines of directives."""

PARTS: LineEnds = (re.compile(r"(?<=  )(?=[^ ])"), _SPACES)
"""Lines of parts with two spaces between."""


def shown(text: str) -> str:
    """A text of others that does nothing to a terminal."""
    return visible(text).expandtabs(4)


def text_of(phrase: Phrase) -> Text:
    """A phrase with the styles of rich; markup of rich in it is text."""
    made = Text()
    for piece in phrase:
        if isinstance(piece, str):
            made.append(shown(piece))
        else:
            made.append(shown(piece.text), STYLES[piece.style])
    return made


def wrapped(
    text: Text, width: int, first: str = "", rest: str = "", ends: LineEnds = WORDS
) -> Iterator[Text]:
    """The lines of a text, ``first`` before the first one and ``rest`` before each other one."""
    before = first
    for line in text.split("\n", allow_blank=True):
        made = _LineMaker(max(width - cell_len(before), 1), max(width - cell_len(rest), 1))
        made.add(line.plain, ends)
        for part in line.divide(made.starts):
            part.rstrip()
            yield Text().append(before, "dim").append_text(part)
            before = rest


@define
class _LineMaker:
    """Finds where the lines after the first one begin, in lines of that many characters."""

    room: int
    next_room: int
    starts: list[int] = field(init=False, factory=list)
    _place: int = field(init=False, default=0)
    _used: int = field(init=False, default=0)

    def add(self, text: str, ends: LineEnds) -> None:
        for piece in ends[0].split(text) if ends else text:
            needed = cell_len(piece.rstrip(" "))
            if self._used and self._used + needed > self.room:
                self.starts.append(self._place)
                self.room, self._used = self.next_room, 0
            if ends and needed > self.room:
                self.add(piece, ends[1:])
            else:
                self._used += cell_len(piece)
                self._place += len(piece)


def code_lines(line: Text, width: int) -> Iterator[Text]:
    """A line of code; a comment that does not fit stands below it, and is still a comment."""
    indent, further = "  ", f"  {HANGING}"
    place = line.plain.find("// ")
    if place < 0:
        yield from wrapped(line, width, indent, further, CODE)
        return
    code, comment = line.divide([place])
    if cell_len(line.plain) + len(indent) <= width:
        comment.stylize("dim")
        yield Text(indent).append_text(code).append_text(comment)
        return
    if code.plain.strip():
        yield from wrapped(code, width, indent, further, CODE)
    start = f"{further if code.plain.strip() else indent}// "
    yield from wrapped(Text(comment.plain[3:], "dim"), width, start, start)
