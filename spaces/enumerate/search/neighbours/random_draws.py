"""Random search: what every other search has to beat."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.board import Board, Limits
from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.judging import PART, concluded, judged, opened
from spaces.enumerate.space.space import ScheduleSpace
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
        board = Board(limits)
        yield from opened(space, model, board)
        yield from concluded(space, board, self._priced(space, model, board))

    def _priced(self, space: ScheduleSpace, model: CostModel, board: Board) -> Iterator[Event]:
        draws = islice(space.draws(board.limits.seed), self.draws)
        for number, draw in enumerate(draws):
            if number % PART == 0:
                yield Expanded(number // PART + 1, -(-self.draws // PART), "draw")
                yield board.scored
            if draw.schedule is None:
                board.considered += 1
            else:
                yield from judged(space, model, board, Structure(draw.schedule, {}))
