"""The rewrites that a search tries."""

from __future__ import annotations

from functools import cache

from spaces.enumerate.search import rewrites
from spaces.enumerate.search.rewrites import (
    clone,
    factor,
    inline,
    numbers,
    strips,
    turn_vectors,
    wrap,
)
from spaces.enumerate.search.rewrites.rewrite import FindRewrites
from spaces.model.discovery import find_in_files

_FIRST: tuple[FindRewrites, ...] = (
    *clone.REWRITES,
    *wrap.REWRITES,
    *factor.REWRITES,
    *turn_vectors.REWRITES,
    *numbers.REWRITES,
    *strips.REWRITES,
    *inline.REWRITES,
)
"""Those whose order matters."""


@cache
def list_rewrites() -> tuple[FindRewrites, ...]:
    """What finds rewrites, in the order in which a search tries them: :data:`_FIRST`, then the
    ``REWRITES`` of every other file of the folder.
    """
    found = (one for of_file in find_in_files(rewrites, "REWRITES") for one in of_file)
    return tuple(dict.fromkeys((*_FIRST, *found)))
