"""Leave out the iterations at the ends of a loop that do nothing.

A reduction over a triangle, ``where(r.x < r.y)``, visits a whole box and tests each of its points.
The test holds from one iteration on, or up to one: the loop begins or ends there, and needs no
test. Halide's ``trim_no_ops`` does the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce

from attrs import evolve, frozen

from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import Allocate, Block, For, If, Statement
from spaces.backend.lowering.analyses.conditions import conjuncts, is_comparison_of_coordinates
from spaces.backend.lowering.analyses.hints import TRUE
from spaces.backend.lowering.analyses.known import inside_loop, known_sizes
from spaces.backend.lowering.cpu.claims import LoopLimit, claims, limit_along
from spaces.backend.lowering.passes import named
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, constant, logical
from spaces.model.expressions.types import Int32
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier

_ZERO = constant(0, Int32)


@named("trim")
def trim(program: LoopProgram) -> LoopProgram:
    """Shortens each serial or parallel loop to the iterations in which the tests of coordinates
    around its whole body can hold, and drops the tests that hold in all of these.
    """
    return evolve(program, body=_trimmed(program.body, known_sizes(program)))


def _trimmed(statement: Statement, known: Simplifier) -> Statement:
    if not any(isinstance(part, If) for part in walk_nodes(statement)):
        return statement
    if not isinstance(statement, For):
        return map_children(statement, lambda inner: _trimmed(inner, known))
    loop = statement
    inside = inside_loop(known, loop.var, loop.min, loop.extent)
    if loop.kind.is_scalar_loop:
        needs = [one for one in _Needs(loop, inside).of(loop.body) if not one.holds]
        if needs:
            loop = _shortened(loop, [one.limit for one in needs], known)
            whole = frozenset(one.test for one in needs if one.is_whole)
            loop = evolve(loop, body=_without(whole, loop.body))
            inside = inside_loop(known, loop.var, loop.min, loop.extent)
    return evolve(loop, body=_trimmed(loop.body, inside))


@frozen
class _Need:
    """What must hold for an iteration to do something.

    Attributes:
        test: the test that asks for it.
        limit: where along the loop it can hold.
        is_whole: whether the test holds within the limit.
        holds: whether the limit holds in all iterations.
    """

    test: Expr
    limit: LoopLimit
    is_whole: bool
    holds: bool


@frozen
class _Needs:
    """What the statements inside ``loop`` need to do anything; ``known`` are facts inside it."""

    loop: For
    known: Simplifier

    def of(self, statement: Statement, between: tuple[For, ...] = ()) -> dict[_Need, None]:
        """The needs of a statement; the loops ``between`` lie around it, inside this one."""
        match statement:
            case If(condition=condition, body=body, otherwise=None):
                own = dict.fromkeys(self._of_tests(condition, between))
                return own | self.of(body, between)
            case For(body=body):
                return self.of(body, (*between, statement))
            case Allocate(body=body):
                return self.of(body, between)
            case Block(body=(first, *others)):
                shared = self.of(first, between)
                for other in others:
                    found = self.of(other, between) if shared else {}
                    shared = {need: None for need in shared if need in found}
                return shared
            case _:
                return {}

    def _of_tests(self, condition: Expr, between: tuple[For, ...]) -> Iterator[_Need]:
        name = self.loop.var.name
        tests = [
            test
            for test in conjuncts(condition)
            if name in test.names and is_comparison_of_coordinates(test)
        ]
        if not tests:
            return
        analysis = Ranges(self.known, self._ranges(between))
        for test in tests:
            terms = _terms(test)
            for term in terms:
                most = analysis.most(term)
                limit = None if most is None else limit_along(self.loop.var, most, self.known)
                if limit is not None and not limit.bound.names & analysis.ranges.keys():
                    is_whole = len(terms) == 1 and not test.names & analysis.ranges.keys()
                    yield _Need(test, limit, is_whole, self._always(limit))

    def _ranges(self, between: tuple[For, ...]) -> dict[str, Interval]:
        ranges: dict[str, Interval] = {}
        for loop in between:
            analysis = Ranges(self.known, dict(ranges))
            low, high = analysis.least(loop.min), analysis.most(loop.min + loop.extent - 1)
            ranges[loop.var.name] = Interval(low, high)
        return ranges

    def _always(self, limit: LoopLimit) -> bool:
        """Whether all iterations lie within the limit."""
        loop, known = self.loop, self.known
        if limit.is_low:
            return known.at_most(limit.bound, loop.min)
        return known.at_most(loop.min + loop.extent - 1, limit.bound)


def _terms(test: Expr) -> tuple[Expr, ...]:
    """The terms that are all at least 0 where a test holds; none if they are not known."""
    if isinstance(test, Op) and test.name == "eq":
        a, b = test.args
        return (a - b, b - a)
    for outcome, terms in claims(test):
        if outcome is TRUE:
            return terms
    return ()


def _shortened(loop: For, limits: list[LoopLimit], known: Simplifier) -> For:
    """The loop without the iterations beyond the limits."""
    first, end = loop.min, loop.min + loop.extent
    for limit in limits:
        if limit.is_low:
            first = fn.max(first, limit.bound)
        else:
            end = fn.min(end, limit.bound + 1)
    return evolve(loop, min=known(first), extent=known(fn.max(end - first, _ZERO)))


def _without(tests: frozenset[Expr], statement: Statement) -> Statement:
    """The statement without these tests."""
    if not isinstance(statement, If):
        return map_children(statement, lambda inner: _without(tests, inner))
    kept = [one for one in conjuncts(statement.condition) if one not in tests]
    inner = map_children(statement, lambda inside: _without(tests, inside))
    assert isinstance(inner, If)
    if not kept:
        return inner.body
    return evolve(inner, condition=reduce(partial(logical, "and"), kept))
