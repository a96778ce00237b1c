"""The schedules that a search hands over beside the best one, if its model says how far its prices
may be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spaces.cost.errors import PriceParts
from spaces.cost.model import UncertainModel
from spaces.enumerate.search.board import REMEMBERED
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.fastest_together import choose_together
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.structure_distance import is_nearer, strip_factors
from spaces.model.deadline import OutOfTime

WORTH = 2.0
"""How many times as much as the best schedule another one may cost: of dearer ones, hardly one in
ten is faster.
"""

CHOOSING = 0.1
"""Seconds after the time limit in which to choose."""


def choose_companions(pricer: Pricer) -> None:
    """Fills the places of a board behind the best schedule with the offered schedules that may turn
    out to be the fastest (:func:`choose_together`). If the model does not say how far its prices
    may be wrong, or if there is no time to ask, the cheapest ones stay.
    """
    board, model = pricer.board, pricer.model
    places = board.limits.top
    if not (places > 1 and board.best and isinstance(model, UncertainModel)):
        return
    first = board.best[0]
    if not 0 < first.cost < math.inf:
        return
    structure = strip_factors(first.schedule)
    offered = board.offered_below(WORTH * first.cost)
    others = [one for one in offered if strip_factors(one.schedule) != structure]
    candidates = [first, *others[: REMEMBERED - 1]]
    prices: list[PriceParts] = []
    try:
        with board.deadline.later(CHOOSING).kept():
            for one in candidates:
                prices.append(pricer.read_parts(model, one.schedule))
    except OutOfTime:
        pass
    if len(prices) < places:
        return
    alike = _too_near(candidates[: len(prices)], board.limits.apart)
    chosen = [candidates[n] for n in choose_together(model.errors, prices, places, alike)]
    board.keep(chosen)


def _too_near(found: Sequence[Found], least: int) -> NDArray[np.bool_]:
    """For each two structures, whether they differ in fewer than ``least`` decisions."""
    structures = [strip_factors(one.schedule) for one in found]
    return np.array([[is_nearer(one, other, least) for other in structures] for one in structures])
