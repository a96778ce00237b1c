"""Exhaustive search: every legal schedule of a space."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.enumerate.board import Board, Limits
from spaces.enumerate.events import Event, Expanded, Found
from spaces.enumerate.ladder import incumbents
from spaces.enumerate.space import ScheduleSpace
from spaces.enumerate.structure import Structure
from spaces.model.deadline import OutOfTime


def exhaustive(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    """Scores every choice of every structure: for spaces of up to some thousand structures.

    Each structure is one step. The search scores a large lattice part by part.
    """
    board = Board(limits)
    yield from incumbents(space, model, board)
    structures = space.structures()
    try:
        for number in count(1):
            with board.deadline.kept():
                structure = next(structures, None)
            if structure is None:
                break
            yield Expanded(number, 0, "structure")
            board.considered += 1
            is_legal = False
            for part in structure.parts():
                with board.deadline.kept():
                    found = cheapest(space, model, board, part)
                if found is not None:
                    board.legal += not is_legal
                    is_legal = True
                    yield board.scored
                    yield from board.offer(found)
    except OutOfTime:
        yield board.done(space, complete=False)
        return
    yield board.done(space, complete=True)


def cheapest(space: ScheduleSpace, model: CostModel, board: Board, part: Structure) -> Found | None:
    """The cheapest legal choice of a part of a structure; None if it has no legal choice."""
    legal = space.legal(part)
    if not legal.any():
        return None
    batch = Batch.of(space.pipeline, part.schedule, part.columns, memo=space.memo)
    costs = np.where(legal, board.score(model, batch), np.inf)
    cheapest = int(np.argmin(costs))
    return Found(float(costs.flat[cheapest]), part.at(cheapest))
