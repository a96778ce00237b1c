"""Cards as HTML for notebooks; they need nothing from elsewhere.

The text of a card takes the colours of the notebook, so it is light and dark with it. Lines and
surfaces are half transparent grays; hues of medium lightness mark kinds.
"""

from __future__ import annotations

from collections.abc import Iterable

from spaces.markup.card import (
    Bullets,
    Card,
    CardChart,
    CardPart,
    Cell,
    Facts,
    Graph,
    Listing,
    Noted,
    Paragraph,
    Phrase,
    Share,
    Styled,
    Table,
    Tree,
    WrittenNumber,
)
from spaces.markup.charts.svg import chart_svg
from spaces.markup.element import Child, Markup, joined, share_bar, tag
from spaces.markup.graph import graph_svg
from spaces.markup.quantities import shown_number

_STYLE = (
    ".spaces-card{font:13px/1.45 system-ui,sans-serif;color:inherit;max-width:60rem;"
    "border:1px solid rgba(128,128,128,.35);border-radius:6px;padding:.6em .8em;margin:.2em 0;"
    "overflow-x:auto}"
    ".spaces-card h4{margin:0 0 .4em;font-size:1.05em}"
    ".spaces-card h4 small,.spaces-card .quiet{font-weight:400;opacity:.72}"
    ".spaces-card p{margin:.3em 0}"
    ".spaces-card ul{margin:.3em 0;padding-left:1.4em}"
    ".spaces-card pre{margin:.3em 0;padding:.4em .6em;background:rgba(128,128,128,.1);"
    "border-radius:4px;overflow-x:auto;font:12px/1.5 ui-monospace,monospace;white-space:pre;"
    "color:inherit;max-height:26em;overflow-y:auto}"
    ".spaces-card table{border-collapse:collapse;margin:.3em 0;color:inherit;background:none}"
    ".spaces-card th,.spaces-card td{text-align:left;padding:.15em .9em .15em 0;color:inherit;"
    "background:none;border:0;vertical-align:top}"
    ".spaces-card thead th{border-bottom:1px solid rgba(128,128,128,.4);opacity:.8}"
    ".spaces-card td.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".spaces-card .ok,.spaces-card .bad,.spaces-card .open{font-weight:600;padding:0 .45em;"
    "border-radius:3px;border:1px solid}"
    ".spaces-card .ok{border-color:#2f9e6b;background:rgba(47,158,107,.18)}"
    ".spaces-card .bad{border-color:#d9534f;background:rgba(217,83,79,.18)}"
    ".spaces-card .open{border-color:#c08a1e;background:rgba(192,138,30,.18)}"
    ".spaces-card .k{border-radius:3px}"
    ".spaces-card .k-store{opacity:.72}"
    ".spaces-card .k-parallel{background:rgba(155,89,182,.3)}"
    ".spaces-card .k-vectorized{background:rgba(47,158,107,.3)}"
    ".spaces-card .k-unrolled{background:rgba(192,138,30,.3)}"
    ".spaces-card .k-gpu_block{background:rgba(76,130,217,.3)}"
    ".spaces-card .k-gpu_thread{background:rgba(200,70,130,.3)}"
    ".spaces-card .bar{display:inline-block;width:8em;height:.7em;background:rgba(128,128,128,.18);"
    "border-radius:2px;overflow:hidden}"
    ".spaces-card .fill{display:block;height:100%;background:#4c82d9}"
    ".spaces-card svg{max-width:100%;height:auto}"
    ".spaces-card svg text{font:12px system-ui,sans-serif;fill:currentColor}"
    ".spaces-card .edge{fill:none;stroke:rgba(128,128,128,.8)}"
    ".spaces-card .box{fill:rgba(76,130,217,.14);stroke:#4c82d9}"
    ".spaces-card .input .box{fill:rgba(128,128,128,.12);stroke:rgba(128,128,128,.8)}"
    ".spaces-card .output .box{fill:rgba(47,158,107,.16);stroke:#2f9e6b}"
    ".spaces-card svg .quiet{opacity:.75;font-size:10px}"
)


def card_html(card: Card) -> Markup:
    """The card as HTML."""
    about = joined(" ", tag("small", card.about)) if card.about else None
    style = tag("style", Markup(_STYLE))
    return tag("div", style, tag("h4", card.title, about), map(_part, card.parts), class_=_CLASS)


_CLASS = "spaces-card"


def _part(part: CardPart) -> Markup:
    match part:
        case Paragraph(phrase=phrase):
            return tag("p", _phrase(phrase))
        case Listing(text=text):
            return tag("pre", text)
        case Bullets(items=items):
            return tag("ul", (tag("li", _phrase(item)) for item in items))
        case Noted(line=line, notes=notes):
            return joined(tag("pre", _phrase(line)), _part(Bullets(notes)))
        case Table(columns=columns, rows=rows):
            return _table(columns, rows)
        case Facts(named=named):
            rows_of = (tag("tr", tag("th", name), tag("td", one)) for name, one in named.items())
            return tag("table", rows_of)
        case Tree(rows=rows):
            lines = (("  " * row.depth, _phrase(row.phrase), "\n") for row in rows)
            return tag("pre", lines)
        case Graph(clusters=clusters, edges=edges, title=title):
            return graph_svg(clusters, edges, title)
        case CardChart(chart=chart):
            return chart_svg(chart)


def _phrase(phrase: Phrase) -> Markup:
    return joined(map(_piece, phrase))


def _piece(piece: str | Styled) -> Child:
    if isinstance(piece, str):
        return piece
    match piece.style:
        case "strong":
            return tag("b", piece.text)
        case "code":
            return tag("code", piece.text)
        case "ok" | "bad" | "open" | "quiet":
            return tag("span", piece.text, class_=piece.style)
        case "serial":
            return piece.text
        case _:
            return tag("span", piece.text, class_=f"k k-{piece.style}")


def _table(columns: Iterable[str], rows: Iterable[Iterable[Cell]]) -> Markup:
    head = tag("tr", (tag("th", column, scope="col") for column in columns))
    body = (tag("tr", map(_cell, row)) for row in rows)
    return tag("table", tag("thead", head), tag("tbody", body))


def _cell(cell: Cell) -> Markup:
    match cell:
        case Share(of_whole=share):
            return tag("td", share_bar(share))
        case WrittenNumber(text=text):
            return tag("td", text, class_="n")
        case int() | float():
            return tag("td", shown_number(cell), class_="n")
        case _:
            return tag("td", cell)
