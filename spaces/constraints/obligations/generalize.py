"""A stronger statement in smaller formulas.

The beginning and the extent of a region are long formulas of sizes, the same in every condition
about the region; the goal seldom depends on their form. So each quotient, remainder, minimum,
maximum and selection of sizes alone becomes a variable with the same numeric range. A goal that
holds for every value of the variable holds for the formula. A failure here says nothing about the
original.
"""

from __future__ import annotations

from attrs import define, evolve, field

from spaces.constraints.obligations.records import Obligation
from spaces.constraints.reasoning.formulas import at_most
from spaces.model.expressions.expr import Expr, Op, Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.simplify import Simplifier

PREFIX = "%"
"""The prefix of variables that stand for formulas of sizes."""


@define
class Generalizer:
    """Generalizes obligations; the same formula gets the same name in all."""

    _simplify: Simplifier = field(factory=Simplifier)
    _variables: dict[Expr, Variable] = field(factory=dict)
    _limits: dict[str, tuple[Expr, ...]] = field(factory=dict)
    _done: dict[frozenset[str], dict[Expr, Expr]] = field(factory=dict)

    def __call__(self, obligation: Obligation) -> Obligation:
        """An obligation that implies the given one; the given one if there is no formula to
        replace.
        """
        sizes = frozenset(obligation.sizes)
        done = self._done.setdefault(sizes, {})
        goal = self._generalized(obligation.goal, sizes, done)
        given = [self._generalized(h, sizes, done) for h in obligation.hypotheses]
        names = frozenset[str]().union(goal.names, *(h.names for h in given))
        limits = [c for name in sorted(names & self._limits.keys()) for c in self._limits[name]]
        if not names & self._limits.keys():
            return obligation
        return evolve(obligation, hypotheses=(*limits, *given), goal=goal)

    def _generalized(self, root: Expr, sizes: frozenset[str], done: dict[Expr, Expr]) -> Expr:
        """An expression with variables in place of the largest formulas of sizes."""
        stack = [root]
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
            elif node.type == Int32 and node.names <= sizes:
                done[stack.pop()] = self._of_sizes(node)
            else:
                missing = [c for c in node.children if c not in done]
                if missing:
                    stack += missing
                    continue
                stack.pop()
                children = tuple(done[c] for c in node.children)
                done[node] = node.with_children(children) if children else node
        return done[root]

    def _of_sizes(self, node: Expr) -> Expr:
        """A sum of sizes, numbers and variables that stand for formulas of sizes."""
        if not isinstance(node, Op):
            return node
        total = Polynomial.of(0)
        for monomial, coefficient in self._simplify.polynomial(node).terms.items():
            product = Polynomial.of(coefficient)
            for atom in monomial:
                product *= Polynomial.of(self._named(atom))
            total += product
        return total.expr()

    def _named(self, atom: Expr) -> Expr:
        """The variable that stands for an atom, with the same numeric range."""
        if not isinstance(atom, Op):
            return atom
        if atom not in self._variables:
            variable = Variable(Int32, f"{PREFIX}{len(self._variables)}")
            low, high = self._simplify.ends(Polynomial.of(atom))
            below = () if low is None else (at_most(constant(low, Int32), variable),)
            above = () if high is None else (at_most(variable, constant(high, Int32)),)
            self._variables[atom] = variable
            self._limits[variable.name] = (*below, *above)
        return self._variables[atom]
