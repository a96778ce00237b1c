"""How a search ended and what it proves, as sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping

from spaces.enumerate.search.events import Done, Ending

_ENDINGS: Mapping[Ending, str] = {
    "finished": "The search finished after {:.1f} s.",
    "no tried change is cheaper": "The search ended after {:.1f} s: no change that it tried makes "
    "the first schedule cheaper.",
    "cut": "The search was cut after {:.1f} s, before its end.",
}
"""What is said about the end of a search, with its seconds."""


def ending_sentence(done: Done) -> str:
    """How a search ended."""
    return _ENDINGS[done.ending].format(done.seconds)


def proof_sentence(done: Done) -> str:
    """How near the best schedules are to the cheapest ones, as far as the search proves it; empty
    if it proves nothing.
    """
    if done.certificate is None:
        return ""
    proven, bound = done.certificate.proven, done.certificate.bound
    if proven == len(done.best):
        which = "this one" if proven == 1 else f"these {proven}"
        return f"Proven: no schedule with another structure costs less than {which}."
    limit = f"no schedule of the space costs less than {bound:.4g}"
    if proven:
        which = "first is" if proven == 1 else f"first {proven} are"
        return f"Proven: {limit}. Of the list, the {which} certainly the cheapest."
    cost = done.best[0].cost
    if not 0 < cost < math.inf:
        return f"Proven: {limit}."
    return f"Proven: {limit}, {(cost - bound) / cost:.1%} below the first of the list."
