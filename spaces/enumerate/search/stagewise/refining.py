"""What a search offers that a larger search begins with."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from spaces.enumerate.search.events import Event
from spaces.enumerate.search.pricer import Pricer


class RefiningSearch(Protocol):
    """A search that a larger one runs on a part of a space, such as :class:`Stagewise`."""

    def refined(self, pricer: Pricer, share: float = 1.0) -> Generator[Event, None, bool]:
        """Searches in a share of the time limit, and offers to a board what it finds. Returns
        whether it ended in time.
        """
        ...
