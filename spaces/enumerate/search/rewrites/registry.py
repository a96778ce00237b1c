"""The rewrites that a search tries, in this order."""

from __future__ import annotations

from spaces.enumerate.search.rewrites.clone import find_clones
from spaces.enumerate.search.rewrites.factor import find_factors
from spaces.enumerate.search.rewrites.inline import find_funcs_to_inline
from spaces.enumerate.search.rewrites.numbers import find_stale_numbers
from spaces.enumerate.search.rewrites.rewrite import FindRewrites
from spaces.enumerate.search.rewrites.strips import find_strips
from spaces.enumerate.search.rewrites.turn_vectors import find_chains
from spaces.enumerate.search.rewrites.wrap import find_wrappers

REWRITES: tuple[FindRewrites, ...] = (
    find_clones,
    find_wrappers,
    find_factors,
    find_chains,
    find_stale_numbers,
    find_strips,
    find_funcs_to_inline,
)
