"""Decide tests along a loop: find the side that a min, max, condition or modulo takes in nearly all
iterations, and the first and last iteration where it does.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, evolve, field, frozen

from spaces.backend.ir.identities import folded
from spaces.backend.ir.node import map_children
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import EMPTY, For, If, Provide, Statement
from spaces.backend.ir.walk import map_own
from spaces.backend.lowering.analyses.conditions import is_coordinate
from spaces.backend.lowering.analyses.hints import wishes, without_hints
from spaces.backend.lowering.cpu.claims import claims, limit_along
from spaces.model.expressions.expr import Const, Expr, Op, Variable, constant
from spaces.model.expressions.rewrite import rewrite, variables
from spaces.model.expressions.types import Bool, Int32
from spaces.model.formulas.algebra import FormulaError, evaluate
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.domain_order import LoopKind

SHORT = 16
"""A loop of at most this many iterations stays whole; partition rather splits the loop around
it.
"""

_OUTPUT_EXTENT, _IMAGE_EXTENT = 1 << 10, 1 << 20
"""Assumed sizes for a guess at the usual side; images are so large that their edges are far
away.
"""

_TILES = 8
"""An assumed output has room for at least this many of the smallest outputs that the program takes,
in each dimension: the middle of a loop over tiles must be a place of the output.
"""


@frozen
class MiddleValues:
    """A value for every variable: the middle of each loop, at assumed sizes."""

    values: Mapping[str, int]

    @staticmethod
    def of(program: LoopProgram) -> MiddleValues:
        """The values outside of all loops."""
        values = {scalar.name: 1 for scalar in program.scalars}
        of_outputs: dict[str, int] = {}
        for buffer in program.buffers:
            extents = [f"{buffer.name}.extent.{d}" for d in range(buffer.dimensions)]
            values |= {f"{buffer.name}.min.{d}": 0 for d in range(buffer.dimensions)}
            if buffer.is_output:
                of_outputs |= dict.fromkeys(extents, _OUTPUT_EXTENT // _TILES)
            else:
                values |= dict.fromkeys(extents, _IMAGE_EXTENT)
        for check in program.size_checks:
            of_outputs = _grown_to_hold(check.condition, of_outputs, values)
        return MiddleValues(values | {name: _TILES * n for name, n in of_outputs.items()})

    def into(self, loop: For) -> MiddleValues:
        """The values in the middle of a loop."""
        try:
            low, extent = (evaluate(e, self.values) for e in (loop.min, loop.extent))
        except FormulaError:
            return self
        return MiddleValues({**self.values, loop.var.name: low + extent // 2})

    def holds(self, condition: Expr) -> bool | None:
        """Whether a condition holds at these values; None if it depends on data."""
        try:
            return bool(evaluate(condition, self.values))
        except FormulaError:
            return None


def _grown_to_hold(
    condition: Expr, extents: Mapping[str, int], others: Mapping[str, int]
) -> dict[str, int]:
    """Extents of outputs with which a condition holds, if doubling those that it names makes it
    hold before an output is as large as images are; else the same extents.
    """
    grown = dict(extents)
    named = grown.keys() & set(variables(condition))
    while named and MiddleValues({**others, **grown}).holds(condition) is False:
        for name in named:
            grown[name] *= 2
        if max(grown.values()) * _TILES > _IMAGE_EXTENT:
            return dict(extents)
    return grown


@frozen
class Inside:
    """The loops between a statement and the loop that is split.

    Attributes:
        ranges: the range of each of their variables.
        splittable: variables of the loops that partition may split instead.
        vectorized: variables of the vectorized loops.
        is_innermost: whether none of them is a serial or parallel loop.
    """

    ranges: Mapping[str, Interval] = {}
    splittable: frozenset[str] = frozenset()
    vectorized: frozenset[str] = frozenset()
    is_innermost: bool = True


@define
class Decisions:
    """The tests of a loop's body that its variable decides, and the iterations where it does.

    Attributes:
        var: the variable of the loop.
        known: facts that hold inside the loop.
        middle: the values in the middle of the loop.
        everywhere: whether to decide also tests on which no vector depends.
        hinted: whether the program may have hints.
        lows: for all decisions to hold, the variable must be at least each of these.
        highs: for all decisions to hold, the variable must be at most each of these.
    """

    var: Variable
    known: Simplifier
    middle: MiddleValues
    everywhere: bool = False
    hinted: bool = False
    lows: dict[Expr, None] = field(factory=dict)
    highs: dict[Expr, None] = field(factory=dict)
    _chosen: dict[Expr, Expr] = field(factory=dict)

    def body(self, statement: Statement) -> Statement:
        """The loop's body in its steady state."""
        decided = self._with_choices(self._statement(statement, Inside(), self.middle))
        if decided is statement or not (self.lows or self.highs):
            return decided
        # Loops inside may be short now, so that this loop decides tests along them.
        return self._with_choices(self._statement(decided, Inside(), self.middle))

    def _statement(self, statement: Statement, inside: Inside, middle: MiddleValues) -> Statement:
        match statement:
            case For():
                deeper = self._inside(statement, inside)
                body = self._statement(statement.body, deeper, middle.into(statement))
                return evolve(statement, body=body)
            case If() if statement.otherwise is None:
                body = self._statement(statement.body, inside, middle)
                return If(self._value(statement.condition, inside, middle), body)
            case Provide():
                args = tuple(self._value(a, inside, middle) for a in statement.args)
                value = self._value(statement.value, inside, middle)
                return evolve(statement, args=args, value=value)
            case _:
                return map_children(statement, lambda s: self._statement(s, inside, middle))

    def _inside(self, loop: For, inside: Inside) -> Inside:
        analysis = Ranges(self.known, dict(inside.ranges))
        low = analysis.least(loop.min)
        high = analysis.most(loop.min + loop.extent - 1)
        name = loop.var.name
        extent = self.known(loop.extent)
        is_short = isinstance(extent, Const) and extent.value <= SHORT
        may_split = loop.kind.is_scalar_loop
        return Inside(
            {**inside.ranges, name: Interval(low, high)},
            inside.splittable | ({name} if may_split and not is_short else frozenset()),
            inside.vectorized | ({name} if loop.kind is LoopKind.VECTORIZED else frozenset()),
            inside.is_innermost and not may_split,
        )

    def _value(self, value: Expr, inside: Inside, middle: MiddleValues) -> Expr:
        wished = dict(wishes(value, inside.is_innermost)) if self.hinted else {}
        # Coordinates in calls are in normal form; the same coordinates in hints are not.
        wished |= {self.known(k): self.known(v) for k, v in wished.items() if is_coordinate(k)}
        if not (inside.vectorized or self.everywhere or wished):
            return value
        return rewrite(value, lambda node: self._node(node, inside, middle, wished))

    def _node(
        self, given: Expr, inside: Inside, middle: MiddleValues, wished: Mapping[Expr, Expr]
    ) -> Expr:
        node = without_hints(given) if wished and given.type in (Int32, Bool) else given
        wish = wished.get(node)
        if self._is_candidate(node, inside, wish):
            if node in self._chosen:
                return self._chosen[node]
            choice = self._choose(node, inside, middle, wish)
            if choice is not None:
                self._chosen[node] = choice
                return choice
        return folded(given)

    def _is_candidate(self, node: Expr, inside: Inside, wish: Expr | None) -> bool:
        names = node.names
        if node.loads or self.var.name not in names or names & inside.splittable:
            return False
        if wish is None and not (inside.vectorized or self.everywhere):
            return False
        if isinstance(node, Op) and node.name == "eq":
            return self._asks_for_first(node)
        counts = self.everywhere or wish is not None or inside.is_innermost
        return (counts or bool(names & inside.vectorized)) and bool(claims(node))

    def _asks_for_first(self, node: Op) -> bool:
        """Whether a test asks for the first iteration of the loop, in which a window that slides
        computes more than in others. Other values of the variable may lie anywhere: a steady state
        beyond one of them would be a part of the loop.
        """
        variable, value = node.args
        return variable is self.var and self.known.at_most(value, variable)

    def _choose(
        self, node: Expr, inside: Inside, middle: MiddleValues, wish: Expr | None
    ) -> Expr | None:
        """The outcome of a test assumed in the steady state: ``wish``, or else the outcome in the
        middle of the loop. Notes the limits in ``lows`` and ``highs``. None if no outcome is known
        to hold between limits.
        """
        for choice, terms in claims(node):
            usual = all(middle.holds(claim >= 0) for claim in terms)
            if not usual if wish is None else choice is not wish:
                continue
            limits = [self._limit(claim, inside) for claim in terms]
            if any(limit is None for limit in limits):
                return None
            for limit in limits:
                if limit is not None:
                    is_low, bound = limit
                    if bound is not None:
                        (self.lows if is_low else self.highs)[bound] = None
            return choice
        return None

    def _limit(self, claim: Expr, inside: Inside) -> tuple[bool, Expr | None] | None:
        """Where ``claim >= 0`` holds in all iterations of inner loops, as (is it a lower bound?,
        bound on the variable). The bound is None if the claim always holds; the pair is None if
        unknown.
        """
        least = Ranges(self.known, dict(inside.ranges)).least(claim)
        if least is None:
            return None
        if self.known.at_most(constant(0, Int32), least):
            return True, None
        limit = limit_along(self.var, least, self.known)
        return None if limit is None else (limit.is_low, limit.bound)

    def _with_choices(self, statement: Statement) -> Statement:
        """The statement with each chosen test replaced wherever it occurs, also in bounds and
        sizes.
        """
        done: dict[Expr, Expr] = {}

        def chosen(value: Expr) -> Expr:
            return rewrite(value, lambda node: self._chosen.get(node, node), done)

        def changed(part: Statement) -> Statement:
            if isinstance(part, If) and isinstance(part.condition, Const) and not part.otherwise:
                return changed(part.body) if part.condition.value else EMPTY
            return map_children(map_own(part, chosen), changed)

        return changed(statement)
