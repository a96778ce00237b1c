"""Exhaustive search: every legal schedule of a space."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.enumerate.board import Board, Limits
from spaces.enumerate.events import Event, Expanded, Found
from spaces.enumerate.space import ScheduleSpace


def exhaustive(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    """Scores every choice of every structure: for spaces of up to some thousand structures.

    Each structure is one step.
    """
    board = Board(limits)
    complete = True
    for number, structure in enumerate(space.structures(), start=1):
        if board.out_of_time:
            complete = False
            break
        yield Expanded(number, 0, "structure")
        legal = space.legal(structure)
        if not legal.any():
            continue
        batch = Batch.of(space.pipeline, structure.schedule, structure.columns)
        costs = np.where(legal, board.score(model, batch), np.inf)
        yield board.scored
        cheapest = int(np.argmin(costs))
        found = Found(float(costs.flat[cheapest]), structure.at(cheapest))
        yield from board.offer(structure.schedule, found)
    yield board.done(space, complete)
