"""How the solver is asked: with which tactics, and for how many steps.

A step is z3's own unit of work, the same on every machine. A question in a context of its own,
limited by steps alone, always has the same answer. It does not matter what the process did before,
or what else the machine does. z3's default solver is different: it limits some of its tactics by
the clock.
"""

from __future__ import annotations

from collections.abc import Callable

import z3
from attrs import frozen

from spaces.model.formulas.smt import Term


@frozen
class Attempt:
    """One way to ask a question.

    Attributes:
        solver: makes a solver in a context.
        steps: the most steps for one answer; 0 for no limit.
    """

    solver: Callable[[z3.Context], Term]
    steps: int = 0

    def made(self, context: z3.Context) -> Term:
        """A new solver with this limit."""
        solver = self.solver(context)
        if self.steps:
            solver.set("rlimit", self.steps)
        return solver


def _default(context: z3.Context) -> Term:
    return z3.Solver(ctx=context)


def _direct(context: z3.Context) -> Term:
    return z3.SimpleSolver(ctx=context)


def _without_selections(context: z3.Context) -> Term:
    return z3.Then("simplify", "elim-term-ite", "smt", ctx=context).solver()


BY_TIME = (Attempt(_default),)
"""z3's default solver, for callers that limit its time."""

BY_STEPS = (Attempt(_direct, 200_000), Attempt(_without_selections, 600_000))
"""The formula as it is; then with a variable for each minimum, maximum and selection, which decides
most that the first attempt gives up. Both together take at most about half a second.
"""
