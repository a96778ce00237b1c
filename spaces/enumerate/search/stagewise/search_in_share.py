"""Searches that run alone, or as a part of a larger one."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Protocol

from spaces.enumerate.search.events import Event
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.runners_up import offer_runners_up
from spaces.enumerate.search.search_steps import offer_draw_if_none


class SearchInShare(Protocol):
    """A search that a larger one runs on a part of a space, such as :class:`Stagewise`."""

    def search_in_share(self, pricer: Pricer, share: float = 1.0) -> Generator[Event, None, bool]:
        """Searches in a share of the time limit, and offers to a board what it finds. Returns
        whether it ended in time.
        """
        ...


def search_alone(search: SearchInShare, pricer: Pricer, first: Iterator[Event]) -> Iterator[Event]:
    """All events of a search that is no part of a larger one.

    Args:
        search: the search.
        pricer: judges and prices its candidates.
        first: offers the first schedules.
    """
    yield from first
    complete = yield from search.search_in_share(pricer)
    yield from offer_draw_if_none(pricer)
    yield from offer_runners_up(pricer)
    yield pricer.board.done(pricer.space, complete)
