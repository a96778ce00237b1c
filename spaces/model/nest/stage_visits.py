"""The loops of a Func's stages when it computes a box, and what they visit of it and beyond."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from attrs import define, field

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.formulas.boxes import united
from spaces.model.formulas.counts import last_of
from spaces.model.formulas.interval import Box, Interval
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.sliding import Storage
from spaces.model.nest.splits import Division, divide, tail_of_reads, tail_of_writes
from spaces.model.nest.traversal import Traversal, box_of, traverse
from spaces.model.nest.visits import visits
from spaces.model.schedules.domain_order import Tail
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import Schedule, StageOf


@define
class StageVisits:
    """The loops of stages and what they visit, by the domain orders of ``schedule``."""

    schedule: Schedule
    simplify: Simplifier
    _divisions: dict[tuple[str, int, Box], Division] = field(init=False, factory=dict)
    _visited: dict[tuple[str, int, Box, Callable[[Tail], Tail]], dict[str, Interval]] = field(
        init=False, factory=dict
    )

    @cached_property
    def _parameters(self) -> frozenset[str]:
        return frozenset(parameters(self.schedule))

    def traversals(self, function: Function, box: Box) -> tuple[Traversal, ...]:
        """The loops of each stage when the Func computes ``box``."""
        return tuple(self._traversal(function, i, box) for i in range(len(function.stages)))

    def _traversal(self, function: Function, index: int, box: Box) -> Traversal:
        stage, order = function.stages[index], self.schedule.of(function.name).stages[index]
        division = self._division(function, index, self.stage_box(function, stage, box))
        return traverse(function.name, index, order, division, self.simplify)

    def stage_box(self, function: Function, stage: Stage, box: Box) -> dict[str, Interval]:
        """The range of each Var and RVar of one stage when its Func computes ``box``."""
        pure = box_of(function.args, box)
        ranges = {name: pure[name] for name in stage.pure_vars}
        for rvar in stage.rvars:
            last = last_of(rvar.min, rvar.extent, self.simplify)
            ranges[rvar.name] = Interval(self.simplify(rvar.min), last)
        return ranges

    def read_from(
        self, function: Function, storage: Storage, index: int, limits: dict[str, Interval]
    ) -> dict[str, Interval]:
        """Where the iterations of a stage read, in one visit of its Func."""
        visited = self._visits(function, index, limits, tail_of_reads)
        if index or not storage.slides:
            return visited
        # Of a window that slides the first iteration is known apart from the later ones.
        written = self._visits(function, index, limits, tail_of_writes)
        turns = box_of(function.args, storage.computed)
        return {n: turns[n] if visited[n] == written[n] else visited[n] for n in visited}

    def widened(self, function: Function, box: Box) -> Box:
        """``box`` and all that its stages visit beyond it because of tails."""
        whole = box
        for index, stage in enumerate(function.stages):
            pure = {n: i for n, i in box_of(function.args, box).items() if n in stage.pure_vars}
            whole_stage = self.stage_box(function, stage, box)
            visited = self._visits(function, index, whole_stage, tail_of_writes)
            if any(visited[name] is not i for name, i in pure.items()):
                reached = [visited.get(name, i) for name, i in zip(function.args, box, strict=True)]
                whole = tuple(
                    known if there is i else united((known, there), self.simplify)
                    for known, there, i in zip(whole, reached, box, strict=True)
                )
        return whole

    def _division(self, function: Function, index: int, box: dict[str, Interval]) -> Division:
        """How the splits of a stage divide ``box``. Callers ask for the required, the visited and
        the remaining box, which are often equal, so results are kept.
        """
        key = (function.name, index, tuple(box.values()))
        if key not in self._divisions:
            stage, order = function.stages[index], self.schedule.of(function.name).stages[index]
            name = str(StageOf(function.name, index))
            self._divisions[key] = divide(
                name, stage, order, index > 0, box, self.simplify, self._parameters
            )
        return self._divisions[key]

    def _visits(
        self,
        function: Function,
        index: int,
        box: dict[str, Interval],
        meaning: Callable[[Tail], Tail],
    ) -> dict[str, Interval]:
        """What the loops of a stage visit when it computes ``box``: where it reads, or where it
        writes.
        """
        if not self.schedule.of(function.name).stages[index].splits:
            return box
        key = (function.name, index, tuple(box.values()), meaning)
        if key not in self._visited:
            division = self._division(function, index, box).with_tails(meaning)
            self._visited[key] = visits(division, box, self.simplify)
        return self._visited[key]
