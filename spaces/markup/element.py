"""Elements of HTML and SVG, made by functions that escape every text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import TypeAlias

from spaces.markup.quantities import shown_number


class Markup(str):
    """A text that is HTML already; every other text is escaped where an element takes it."""

    __slots__ = ()


Child: TypeAlias = "str | int | float | Iterable[Child] | None"
"""The content of an element: Markup as it stands, other texts escaped, nothing for None."""

_VOID = frozenset({"br", "hr", "img", "input", "meta", "link", "col"})

_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that HTML forbids, or that no file in UTF-8 can hold."""


def escaped(text: str) -> Markup:
    """The text as HTML, safe in an attribute, too; a character that HTML forbids becomes U+FFFD."""
    return Markup(html.escape(_UNSHOWN.sub("\ufffd", text), quote=True))


def joined(*children: Child) -> Markup:
    """The children one after the other."""
    return Markup("".join(_flat(children)))


def _flat(child: Child) -> Iterable[str]:
    if child is None:
        return
    if isinstance(child, Markup):
        yield child
    elif isinstance(child, str):
        yield escaped(child)
    elif isinstance(child, int | float):
        yield str(child)
    else:
        for inner in child:
            yield from _flat(inner)


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Markup:
    """An element.

    Args:
        name: its name, such as ``div``.
        children: its content.
        attributes: by name; ``_`` stands for ``-``, and one at the end is dropped (``class_``).
            None and False leave an attribute out, True gives one without a value.

    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def _attribute(name: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    return f" {shown}" if value is True else f' {shown}="{escaped(str(value))}"'


def table(
    columns: Iterable[Child], rows: Iterable[Iterable[Child]], class_: str | None = None
) -> Markup:
    """A table with a head; cells that are numbers stand at the right."""
    head = tag("tr", [tag("th", column, scope="col") for column in columns])
    body = [tag("tr", [_cell(cell) for cell in row]) for row in rows]
    return tag("table", tag("thead", head), tag("tbody", body), class_=class_)


def _cell(cell: Child) -> Markup:
    if isinstance(cell, int | float):
        return tag("td", shown_number(cell), class_="n")
    return tag("td", cell)


def share_bar(share: float, what: str = "") -> Markup:
    """A bar as long as a share of its place; ``what`` names its kind for the style sheet."""
    width = 100 * min(max(share, 0.0), 1.0)
    return tag(
        "span",
        tag("span", style=f"width:{width:.1f}%", class_=f"fill {what}".strip()),
        class_="bar",
        aria_hidden="true",
    )
