"""Exhaustive search: every legal schedule of a space."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

import numpy as np
from numpy.typing import NDArray

from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.enumerate.search.board import Board, Limits
from spaces.enumerate.search.events import Event, Expanded, Found
from spaces.enumerate.search.first_schedules import incumbents
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import OutOfTime


def exhaustive(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    """Scores every choice of every structure: for spaces of up to some thousand structures, as
    ``Options.small`` makes of few Funcs.

    Each structure is one step. The search scores a large lattice part by part. With a
    :class:`~spaces.cost.model.BoundedModel`, it prunes partial schedules whose lower bound is above
    the worst cost that it keeps. The result is the same: no completion would be kept. So it skips
    no option because others dominate it, and a complete search certifies its best schedules.
    """
    board = Board(limits)
    yield from incumbents(space, model, board)

    def may_be_kept(partial: PartialSchedule) -> bool:
        worst = board.worst
        is_dear = worst < math.inf and partial.bound(model) > worst
        board.pruned += is_dear
        return not is_dear

    structures = space.structures(may_be_kept)
    try:
        for number in count(1):
            with board.deadline.kept():
                structure = next(structures, None)
            if structure is None:
                break
            yield Expanded(number, 0, "structure")
            yield from scored(space, model, board, structure)
    except OutOfTime:
        yield board.done(space, complete=False)
        return
    if board.pruned:
        yield board.scored
    yield board.done(space, complete=True, left=math.inf)


def scored(
    space: ScheduleSpace, model: CostModel, board: Board, structure: Structure
) -> Iterator[Event]:
    """Scores all choices of a structure, and offers the cheapest legal one of each part.

    Raises:
        OutOfTime: a limit of the search is reached.
    """
    board.considered += 1
    is_legal = False
    for found in board.deadline.each(_cheapest_of_parts(space, model, board, structure)):
        if found is not None:
            board.legal += not is_legal
            is_legal = True
            yield board.scored
            yield from board.offer(found)


def _cheapest_of_parts(
    space: ScheduleSpace, model: CostModel, board: Board, structure: Structure
) -> Iterator[Found | None]:
    """The cheapest legal choice of each part of a structure; None for a part without one. The cost
    of a choice does not depend on its part: all have the formulas of the whole structure.
    """
    batch: Batch | None = None
    for part in structure.parts():
        legal = space.legal(part)
        if legal.any():
            columns = part.all_columns
            if batch is None:
                batch = Batch.of(space.pipeline, structure.schedule, columns, memo=space.memo)
            yield _cheapest(model, board, part, batch.at(columns), legal)
        else:
            yield None


def cheapest(
    space: ScheduleSpace, model: CostModel, board: Board, structure: Structure
) -> Found | None:
    """The cheapest legal choice of a structure; None if it has no legal choice."""
    legal = space.legal(structure)
    if not legal.any():
        return None
    batch = Batch.of(space.pipeline, structure.schedule, structure.columns, memo=space.memo)
    return _cheapest(model, board, structure, batch, legal)


def _cheapest(
    model: CostModel, board: Board, structure: Structure, batch: Batch, legal: NDArray[np.bool_]
) -> Found:
    costs = np.where(legal, board.score(model, batch), np.inf)
    cheapest = int(np.argmin(costs))
    return Found(float(costs.flat[cheapest]), structure.at(cheapest))
