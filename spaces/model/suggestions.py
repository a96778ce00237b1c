"""Names that a mistyped one may have been meant for, and those that there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_LONGEST = 200
"""Characters of a name that somebody may have mistyped; comparing takes their square."""


def suggestion(name: str, known: Iterable[str], most: int = 1) -> str:
    """``" (is blur meant?)"``, to be put after an unknown name: the nearest of ``known``, at most
    ``most`` of them; empty where none is near.
    """
    if len(name) > _LONGEST:
        return ""
    close = difflib.get_close_matches(name, list(known), n=most, cutoff=0.6)
    if not close:
        return ""
    *others, last = close
    return f" (is {', '.join(others)} or {last} meant?)" if others else f" (is {last} meant?)"


MOST_LISTED = 12
"""Names that are listed where any of them could be meant."""


def some_of(names: Sequence[str]) -> str:
    """The names, of many only the first."""
    more = len(names) - MOST_LISTED
    if more <= 1:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_LISTED])} and {more} more"
