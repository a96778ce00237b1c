"""How records print: on a few lines, whatever their size.

``repr`` gives an outline of a record: its class and its small fields on one line. ``str`` gives
what a person reads. The text of a record may need a printer that stands above its class, such as
that of directives; the printer registers itself::

    @shown.register
    def _(schedule: Schedule) -> str: ...

In a notebook, and where rich prints it, a record shows a card
(:class:`~spaces.markup.shows_card.ShowsCard`), whose maker registers itself likewise, at
:func:`shown_card`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Any

import attrs

from spaces.markup.card import Card, Listing, card

MOST_LINES = 30
"""The most lines that a record prints."""

_MOST_CHARACTERS = 60
"""An outline cuts the text of a field here."""

_MOST_ITEMS = 3
"""An outline shows this many items of a tuple."""


def outline(record: Any) -> str:
    """The class of an attrs record and its fields, each on a few characters: ``<Found cost=12.5
    schedule=<Schedule>>``. Records inside it show their class alone.
    """
    fields = attrs.fields(type(record))
    shown = [f"{f.name}={_brief(getattr(record, f.name))}" for f in fields if f.repr and f.init]
    return f"<{' '.join([type(record).__name__, *shown])}>"


def _brief(value: object) -> str:
    if isinstance(value, tuple | list):
        items = [_brief(item) for item in value[:_MOST_ITEMS]]
        more = len(value) - len(items)
        return f"({', '.join(items)}{f' and {more} more' if more else ''})"
    if isinstance(value, dict):
        return f"{len(value)} items"
    if attrs.has(type(value)):
        return str(getattr(value, "name", f"<{type(value).__name__}>"))
    text = repr(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."


def few_lines(lines: Iterable[str], most: int = MOST_LINES, rest: str = "lines") -> str:
    """The lines as a text; beyond ``most`` the last one counts those left out, in ``rest``."""
    every = list(lines)
    more = len(every) - most + 1
    if more <= 1:
        return "\n".join(every)
    return "\n".join([*every[: most - 1], f"... and {more:,} more {rest}"])


@singledispatch
def shown(record: Any) -> str:
    """What a record prints."""
    return outline(record)


@singledispatch
def shown_card(record: Any) -> Card:
    """The card of a record: what it prints."""
    return card(type(record).__name__, "", Listing(str(record)))
