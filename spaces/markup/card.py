"""What a record shows of itself: a small card, as data.

Notebooks read it as HTML (:mod:`spaces.markup.card_html`), terminals through rich
(:mod:`spaces.markup.card_terminal`). A card says everything in words; styles only help the eye.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, TypeAlias

from attrs import frozen

from spaces.markup.charts.chart import Chart
from spaces.markup.graph import Cluster, Edge

Style: TypeAlias = Literal[
    "ok", "bad", "open", "strong", "quiet", "code", "store",
    "serial", "parallel", "vectorized", "unrolled", "gpu_block", "gpu_thread",
]  # fmt: skip
"""What a piece of text is: a good, bad or undecided answer; a text that matters more or less than
others; code; storage; or a kind of loop.
"""


@frozen
class Styled:
    """A piece of text with a style."""

    style: Style
    text: str


Phrase: TypeAlias = "tuple[str | Styled, ...]"
"""Pieces of text, one after the other."""


def phrase_text(phrase: Phrase) -> str:
    """The words of a phrase."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in phrase)


@frozen
class Paragraph:
    """A phrase on lines of its own."""

    phrase: Phrase


@frozen
class Listing:
    """Lines of a program or a schedule, as they stand."""

    text: str


@frozen
class Bullets:
    """Phrases in a list."""

    items: tuple[Phrase, ...]


@frozen
class Noted:
    """A line of a program or a schedule, and what there is to say about it."""

    line: Phrase
    notes: tuple[Phrase, ...]


@frozen
class Share:
    """A share from 0 to 1, which a table shows as a bar."""

    of_whole: float


@frozen
class WrittenNumber:
    """A number as a table writes it, at the right: ``12.3%``."""

    text: str


Cell: TypeAlias = str | int | float | WrittenNumber | Share | None


@frozen
class Table:
    """Rows under the names of columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@frozen
class Facts:
    """Names and values."""

    named: Mapping[str, str]


@frozen
class TreeRow:
    """A row of a tree: the rows after it that lie deeper are inside it."""

    depth: int
    phrase: Phrase


@frozen
class Tree:
    """A tree, parents before children."""

    rows: tuple[TreeRow, ...]


@frozen
class Graph:
    """A graph, which notebooks draw.

    Attributes:
        clusters: its nodes.
        edges: pairs of names; the second follows the first.
        title: what it shows.
        listed: the same as a table, for terminals.
    """

    clusters: tuple[Cluster, ...]
    edges: tuple[Edge, ...]
    title: str
    listed: Table


@frozen
class CardChart:
    """A chart, which only notebooks draw: what matters of its numbers stands beside it."""

    chart: Chart


CardPart: TypeAlias = (
    Paragraph | Listing | Bullets | Noted | Table | Facts | Tree | Graph | CardChart
)


@frozen
class Card:
    """A card.

    Attributes:
        title: what the record is.
        about: a few words beside the title.
        parts: what stands below.
    """

    title: str
    about: str
    parts: tuple[CardPart, ...]


def card(title: str, about: str, *parts: CardPart | Iterable[CardPart] | None) -> Card:
    """A card of the parts that are there."""
    found: list[CardPart] = []
    for part in parts:
        if isinstance(part, CardPart):
            found.append(part)
        elif part is not None:
            found += part
    return Card(title, about, tuple(found))


def paragraph(*pieces: str | Styled) -> Paragraph:
    """Pieces of text on lines of their own."""
    return Paragraph(pieces)


def marked(text: str, words: Collection[str], style: Style) -> Phrase:
    """The text, in which some words have a style."""
    pieces = re.split(r"(\w+)", text)
    return tuple(Styled(style, one) if one in words else one for one in pieces if one)


def facts(named: Mapping[str, str | None]) -> Facts:
    """Names and values, without those that are None."""
    return Facts({name: value for name, value in named.items() if value is not None})


def more(count: int, most: int, rest: str) -> tuple[Paragraph, ...]:
    """Counts what is left out of ``count`` things if a card shows ``most``; nothing if all fit."""
    if count <= most:
        return ()
    return (paragraph(Styled("quiet", f"... and {count - most:,} more {rest}")),)


def few(items: Iterable[Phrase], most: int, rest: str) -> tuple[CardPart, ...]:
    """The first phrases in a list; if there are more, a line counts those left out."""
    every = tuple(items)
    return (*((Bullets(every[:most]),) if every else ()), *more(len(every), most, rest))


def brief(text: str, most: int = 160) -> str:
    """The text, cut after that many characters."""
    return text if len(text) <= most else f"{text[:most]}…"
