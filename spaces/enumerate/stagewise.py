"""Stage-by-stage search, from the outputs backwards.

As in [A21] section 4, the search decides one Func after another, consumers first, and keeps a beam
of half-decided schedules. The search leaves out choices that [S19] section 3 proves dominated: it
stores only at the compute level or at the outermost level where windows slide, and computes nothing
inside the loop over vectors.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Generator, Iterator, Sequence

import numpy as np
from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.board import Board, Limits
from spaces.enumerate.events import Event, Expanded
from spaces.enumerate.half_decided import COMPLETING, HalfDecided, PricedWay, StageDecisions
from spaces.enumerate.ladder import incumbents
from spaces.enumerate.space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import OutOfTime


@frozen(kw_only=True)
class Stagewise:
    """Stage-by-stage search of the whole patterns of a space (``ScheduleSpace.of_patterns``).

    Attributes:
        width: the number of half-decided schedules that the search keeps after each Func.
        lattice: the largest number of choices of tile sizes to score at once; beyond it, Funcs
            decided earlier keep the values found then.
        polished: the number of complete schedules whose numbers the search chooses again at the
            end, one Func at a time.
        rounds: how often it chooses them again.
        alike: how many of the half-decided schedules may compute and store all Funcs at the same
            levels, with the same loops of the Func decided last.
    """

    width: int = 6
    lattice: int = 4096
    polished: int = 3
    rounds: int = 1
    alike: int = 2

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        board = Board(limits)
        yield from incumbents(space, model, board)
        complete = yield from self.refined(space, model, board)
        yield board.done(space, complete)

    def refined(
        self, space: ScheduleSpace, model: CostModel, board: Board, share: float = 1.0
    ) -> Generator[Event, None, bool]:
        """Searches in a share of the time limit, and offers to a board what it finds. Returns
        whether it ended in time.
        """
        space = space.of_patterns
        task = StageDecisions(space, model, board, self.lattice, board.until(share))
        states = [task.start]
        names = [one.name for one in reversed(states[0].partial.state.pipeline.functions)]
        steps = len(names) + 1
        width = max(self.width, board.limits.top)
        try:
            for step, name in enumerate(names, start=1):
                yield Expanded(step, steps, name)
                with board.until(share * (1 - COMPLETING)).kept():
                    states = self._decided(task, states, names[:step], width)
                yield board.scored
            if names[-1] in space.kept_names:
                with task.deadline.kept():
                    ways = task.whole(states)
                    states = self._cheapest(task, space.pipeline, ways, len(states))
        except OutOfTime:
            yield from task.completions(states)
            return False
        yield Expanded(steps, steps, "numbers")
        try:
            yield from task.refined(states[: max(self.polished, board.limits.top)], self.rounds)
        except OutOfTime:
            return False
        yield board.scored
        return True

    def _decided(
        self, task: StageDecisions, states: list[HalfDecided], names: Sequence[str], width: int
    ) -> list[HalfDecided]:
        """The ``width`` cheapest legal states after the last of some Funcs is decided."""
        if not states:
            return []
        if names[-1] in task.space.kept_names:
            return [task.passed(state, names[-1]) for state in states]
        part = task.part(states, names)
        ways = (task.scored(part, way) for state in states for way in task.ways(state, names))
        return self._cheapest(task, part, [way for way in ways if way is not None], width)

    def _cheapest(
        self, task: StageDecisions, part: Pipeline, ways: list[PricedWay], width: int
    ) -> list[HalfDecided]:
        """The states of the ``width`` cheapest ways that have a legal choice.

        Checks the legality only of the ways that may be among them.
        """
        queue = [(way.cost, i) for i, way in enumerate(ways)]
        heapq.heapify(queue)
        states: list[HalfDecided] = []
        alike: Counter[object] = Counter()
        while queue and len(states) < width:
            cost, i = heapq.heappop(queue)
            if not np.isfinite(cost):
                break
            if ways[i].is_legal:
                levels = ways[i].levels
                alike[levels] += 1
                if alike[levels] <= self.alike:
                    states.append(ways[i].chosen)
            else:
                ways[i] = task.legal(part, ways[i])
                heapq.heappush(queue, (ways[i].cost, i))
        return states
