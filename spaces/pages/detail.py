"""How much a page says, so that the page of a pipeline of a hundred Funcs stays small, too."""

from __future__ import annotations

from attrs import frozen


@frozen
class Detail:
    """What a page leaves out.

    Attributes:
        note: what is left out, as a sentence for the reader; empty if nothing is.
        definition: the characters of the definition of a Func; 0 leaves definitions out.
        row: the characters of the formulas of a row of the nest.
        tables: whether the card of a Func has its loops and its cost by cause.
        cards: the most cards of Funcs: those that cost most, computed ones first.
        rows: the most rows of a nest.
        drawn: a larger graph is not drawn.
    """

    note: str = ""
    definition: int = 600
    row: int = 400
    tables: bool = True
    cards: int = 400
    rows: int = 1200
    drawn: int = 200


DETAILS = (
    Detail(),
    Detail("Definitions and formulas are cut", definition=120, row=80),
    Detail(
        "Only the Funcs that cost most have a card, and definitions are left out",
        definition=0, row=0, tables=True, cards=40,
    ),
    Detail(
        "The graph, and the cards of most Funcs, are left out",
        definition=0, row=0, tables=False, cards=24, rows=300, drawn=60,
    ),
    Detail(
        "The graph, and most rows and cards, are left out",
        definition=0, row=0, tables=False, cards=12, rows=120, drawn=30,
    ),
)  # fmt: skip
"""From all to little: a page takes the first that fits its size."""
