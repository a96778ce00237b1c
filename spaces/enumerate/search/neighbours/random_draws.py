"""Random search: what every other search has to beat."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.search_steps import (
    PART,
    conclude_search,
    offer_cheapest,
    offer_first,
)
from spaces.enumerate.space.counting.draws import draws
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure


@frozen(kw_only=True)
class RandomDraws:
    """Prices random schedules (``ScheduleSpace.draws``), each with the numbers that it is drawn
    with. It is a baseline for all presets of options, and skips no option.

    Attributes:
        draws: the number of draws, legal or not.
    """

    draws: int = 1000

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        yield from offer_first(pricer)
        yield from conclude_search(pricer, self._price_draws(pricer))

    def _price_draws(self, pricer: Pricer) -> Iterator[Event]:
        space, board = pricer.space, pricer.board
        drawn = islice(draws(space, board.limits.seed), self.draws)
        for number, draw in enumerate(drawn):
            if number % PART == 0:
                yield Expanded(number // PART + 1, -(-self.draws // PART), "draw")
                yield board.scored
            if draw.schedule is None:
                board.considered += 1
            else:
                yield from offer_cheapest(pricer, Structure(draw.schedule, {}))


STRATEGIES = {"random": RandomDraws()}
