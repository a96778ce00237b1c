"""Split loops into a steady state, where clamps and guards are decided, and two ends.

The iterations of a loop may test something that changes once or twice along it (is the pixel beyond
the edge? does the last tile fit?). Such a loop becomes three: before, steady and after. The steady
loop has no such tests, so vectors are loaded whole; the two ends keep the loop's body as it was. A
parallel loop, or one around further loops, stays one loop: each iteration tests whether it belongs
to the steady state.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import For, If, Statement, block
from spaces.backend.lowering.analyses.hints import has_hints, unhinted
from spaces.backend.lowering.analyses.known import inside_loop, known_sizes
from spaces.backend.lowering.cpu.decide import Decisions, MiddleValues
from spaces.backend.lowering.passes import named
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op
from spaces.model.expressions.types import Bool
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.domain_order import LoopKind, Partition


@named("partition")
def partition(program: LoopProgram) -> LoopProgram:
    """Gives a steady state to each loop that contains vectorized loops or tests with a hint, and to
    each loop that the schedule partitions always. A loop that the schedule partitions never stays
    whole. Removes `likely` hints.
    """
    outside = _Partitioning(known_sizes(program), MiddleValues.of(program), program.hinted)
    return unhinted(evolve(program, body=outside.statement(program.body)))


class _Partitioning:
    """Facts that hold around a statement, and the middle of each loop around it."""

    def __init__(self, known: Simplifier, middle: MiddleValues, hinted: bool) -> None:
        self.known = known
        self.middle = middle
        self.hinted = hinted

    def statement(self, statement: Statement) -> Statement:
        if isinstance(statement, For):
            return self._loop(statement)
        return map_children(statement, self.statement)

    def _loop(self, loop: For) -> Statement:
        known = inside_loop(self.known, loop.var, loop.min, loop.extent)
        inside = _Partitioning(known, self.middle.into(loop), self.hinted)
        usual = evolve(loop, body=inside.statement(loop.body))
        always = loop.partition is Partition.ALWAYS
        hinted = self.hinted and has_hints(loop.body)
        wanted = always or hinted or _contains(loop.body, lambda kind: kind is LoopKind.VECTORIZED)
        if not loop.kind.is_scalar_loop or loop.partition is Partition.NEVER or not wanted:
            return usual
        decisions = Decisions(loop.var, known, inside.middle, everywhere=always, hinted=hinted)
        steady = decisions.body(loop.body)
        if not decisions.lows and not decisions.highs:
            return usual
        steady_loop = evolve(loop, body=inside.statement(steady))
        is_outer = loop.kind is LoopKind.PARALLEL or _contains(
            loop.body, lambda kind: kind.is_scalar_loop
        )
        split = self._tested_loop if is_outer else self._split
        return split(usual, steady_loop, decisions)

    def _split(self, usual: For, steady: For, decisions: Decisions) -> Statement:
        """Three loops in sequence: before, steady, after."""
        start, end = usual.min, self.known(usual.min + usual.extent)
        first, last = start, end
        if decisions.lows:
            first = self.known(fn.max(fn.min(_largest(decisions.lows), end), start))
        if decisions.highs:
            last = self.known(fn.max(fn.min(_smallest(decisions.highs) + 1, end), first))
        parts = ((usual, start, first), (steady, first, last), (usual, last, end))
        return block(
            *(
                evolve(loop, min=low, extent=self.known(high - low))
                for loop, low, high in parts
                if low is not high
            )
        )

    def _tested_loop(self, usual: For, steady: For, decisions: Decisions) -> Statement:
        """One loop that tests in each iteration whether it is steady."""
        conditions: list[Expr] = []
        if decisions.lows:
            conditions.append(self.known(_largest(decisions.lows)) <= usual.var)
        if decisions.highs:
            conditions.append(usual.var <= self.known(_smallest(decisions.highs)))
        both = conditions[0] if len(conditions) == 1 else Op(Bool, "and", tuple(conditions))
        return evolve(usual, body=If(both, steady.body, usual.body))


def _contains(statement: Statement, is_wanted: Callable[[LoopKind], bool]) -> bool:
    return any(isinstance(s, For) and is_wanted(s.kind) for s in walk_nodes(statement))


def _largest(bounds: dict[Expr, None]) -> Expr:
    first, *others = bounds
    return fn.max(first, *others) if others else first


def _smallest(bounds: dict[Expr, None]) -> Expr:
    first, *others = bounds
    return fn.min(first, *others) if others else first
