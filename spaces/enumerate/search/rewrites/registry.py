"""The rewrites that a search tries, in this order."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.enumerate.search.events import Found
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites.clone import find_clones
from spaces.enumerate.search.rewrites.factor import find_factors
from spaces.enumerate.search.rewrites.inline import find_funcs_to_inline
from spaces.enumerate.search.rewrites.numbers import find_stale_numbers
from spaces.enumerate.search.rewrites.rewrite import FindRewrites, FoundSchedule, OpenNumbers
from spaces.enumerate.search.rewrites.strips import find_strips
from spaces.enumerate.search.rewrites.wrap import find_wrappers
from spaces.enumerate.space.structure import Structure

REWRITES: tuple[FindRewrites, ...] = (
    find_clones,
    find_wrappers,
    find_factors,
    find_stale_numbers,
    find_strips,
    find_funcs_to_inline,
)


def rewrite_schedule(pricer: Pricer, found: Found) -> Iterator[Structure]:
    """The candidates that rewrites make of a schedule without deciding Funcs anew."""
    schedule = FoundSchedule.of_found(pricer, found)
    for find in REWRITES:
        for rewrite in find(schedule):
            for opening in rewrite.open(schedule):
                if isinstance(opening, OpenNumbers):
                    yield opening.structure(schedule)
