"""Beam search by transformers, as in [TOY]: from the default schedule, move by move."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import attrs
import numpy as np
from attrs import frozen

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.enumerate.board import Board, Limits
from spaces.enumerate.events import Event, Expanded, Found
from spaces.enumerate.space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.transformers import CPU_KINDS, Move, SplitLoop, moves
from spaces.model.formulas.regions import UnboundedError
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import Schedule

FACTOR = "factor"
"""The parameter of a split whose factor is still open."""

_GPU_KINDS = (LoopKind.SERIAL, LoopKind.UNROLLED, LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)


@frozen(kw_only=True)
class Beam:
    """Beam search over moves; the defaults are the published ones ([TOY], Evaluation).

    The search starts at the default schedule and ignores the patterns and placements of the space,
    so it may find schedules outside the space. A move that splits a loop keeps its factor as a
    parameter, so the search scores all factors at once. It leaves out schedules that combine floats
    in another order than the algorithm.

    Attributes:
        depth: the number of moves from the default schedule.
        width: the number of schedules that the search keeps after each move.
        factors: the split factors to choose from.
    """

    depth: int = 10
    width: int = 300
    factors: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128)

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        board = Board(limits)
        start = Schedule.default(space.pipeline)
        seen = {start}
        states = [Found(float(board.score(model, Batch.of(space.pipeline, start))), start)]
        verdict = verify(space.pipeline, start, space.device)
        # If the pipeline itself changes the rounding, as partial sums do, no move is the cause.
        exact = not isinstance(verdict, CheckedSchedule) or verdict.is_exact
        if verdict:
            yield from board.offer(start, states[0])
        for step in range(1, self.depth + 1):
            yield Expanded(step, self.depth, "move")
            neighbours: list[Found] = []
            for state in states:
                if not board.out_of_time:
                    neighbours += self._neighbours(space, model, board, state.schedule, seen)
            yield board.scored
            width = limits.top if board.out_of_time else self.width
            states = _cheapest(space, neighbours, width, exact)
            for found in states:
                yield from board.offer(found.schedule, found)
            if board.out_of_time or not states:
                break
        yield board.done(space, complete=not board.out_of_time)

    def _neighbours(
        self,
        space: ScheduleSpace,
        model: CostModel,
        board: Board,
        schedule: Schedule,
        seen: set[Schedule],
    ) -> Iterator[Found]:
        """The new schedules that one move gives, with their costs."""
        pipeline = space.pipeline
        for move in moves(pipeline, schedule, self.factors[:1], _kinds(space.device)):
            structure = _family(pipeline, schedule, move)
            is_family = isinstance(move, SplitLoop)
            menu = self.factors if is_family else (0,)
            bound = [bind(structure, {FACTOR: n}) if is_family else structure for n in menu]
            fresh = [i for i, s in enumerate(bound) if s not in seen]
            if not fresh:
                continue
            seen.update(bound)
            columns = {FACTOR: np.array(menu)} if is_family else {}
            try:
                batch = Batch.of(pipeline, structure, columns)
            except UnboundedError:
                continue
            costs = np.atleast_1d(board.score(model, batch))
            yield from (Found(float(costs[i]), bound[i]) for i in fresh)


def _family(pipeline: Pipeline, schedule: Schedule, move: Move) -> Schedule:
    """The schedule after a move; the factor of a split stays open."""
    opened = attrs.evolve(move, factor=FACTOR) if isinstance(move, SplitLoop) else move
    return opened.apply(pipeline, schedule)


def _cheapest(space: ScheduleSpace, found: list[Found], width: int, exact: bool) -> list[Found]:
    """The ``width`` cheapest legal schedules, cheapest first; with ``exact`` only those whose
    results are the algorithm's bit for bit.
    """
    order = [(f.cost, i) for i, f in enumerate(found) if np.isfinite(f.cost)]
    heapq.heapify(order)
    kept: list[Found] = []
    while order and len(kept) < width:
        _, index = heapq.heappop(order)
        if verify(space.pipeline, found[index].schedule, space.device, exact=exact):
            kept.append(found[index])
    return kept


def _kinds(device: Device) -> tuple[LoopKind, ...]:
    return CPU_KINDS if isinstance(device, CpuDevice) else _GPU_KINDS
