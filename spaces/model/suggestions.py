"""Names that a mistyped one may have been meant for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str], most: int = 1) -> str:
    """``" (is blur meant?)"``, to be put after an unknown name: the nearest of ``known``, at most
    ``most`` of them; empty where none is near.
    """
    close = difflib.get_close_matches(name, list(known), n=most, cutoff=0.6)
    if not close:
        return ""
    *others, last = close
    return f" (is {', '.join(others)} or {last} meant?)" if others else f" (is {last} meant?)"
