"""Suggestions for a mistyped name, and short lists of names, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_LONGEST = 200
"""Longer names get no suggestion: the time of a comparison grows with the square of the length."""


def suggestion(name: str, known: Iterable[str], most: int = 1) -> str:
    """Returns ``" (is blur meant?)"``, for a message to put after an unknown name: the nearest
    names of ``known``, at most ``most``. The text is empty when no known name is near.
    """
    if len(name) > _LONGEST:
        return ""
    close = difflib.get_close_matches(name, list(known), n=most, cutoff=0.6)
    if not close:
        return ""
    *others, last = close
    return f" (is {', '.join(others)} or {last} meant?)" if others else f" (is {last} meant?)"


MOST_LISTED = 12
"""The most names that a message lists."""


def some_of(names: Sequence[str]) -> str:
    """The names with commas between; a long list ends in ``and 5 more``."""
    more = len(names) - MOST_LISTED
    if more <= 1:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_LISTED])} and {more} more"
