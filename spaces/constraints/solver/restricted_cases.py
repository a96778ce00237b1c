"""What restrictions say of choices that the rules exclude.

The clauses of a universe ask restrictions only about structures that the rules allow. To find out
which rules are needed beside a restriction, it is asked about other choices, too.
"""

from __future__ import annotations

from collections.abc import Collection

import z3
from attrs import frozen

from spaces.constraints.rules.findings import fails
from spaces.constraints.rules.rule import SpaceRule
from spaces.constraints.solver.clauses import readers
from spaces.constraints.solver.encode import Encoded, Label
from spaces.constraints.solver.universe import Assignment
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.splits import OrderError
from spaces.model.schedules.levels import LevelError


@frozen
class RestrictedCases:
    """The restrictions of an encoded universe, by the assertions that switch them on."""

    encoded: Encoded
    labels: Collection[Label]

    def exclude(self) -> bool:
        """Asserts that a restriction excludes the last model of the solver, and all choices that
        agree with it on what the restriction reads. Returns whether there is such a restriction. A
        schedule without a loop nest has no features, and satisfies none.
        """
        model = self.encoded.solver.model()
        universe = self.encoded.universe
        choice = {
            decision: option
            for (decision, option), term in self.encoded.chosen.items()
            if z3.is_true(model.eval(term, model_completion=True))
        }
        if len(choice) < len(universe.decisions):
            return False
        for label in self.labels:
            rule = next(one for one in universe.rules if one.id == label.rule)
            read = self._broken(rule, choice)
            if read is not None:
                names = self._deciding(rule) | read
                case = [self.encoded.chosen[name, choice[name]] for name in sorted(names)]
                switch = self.encoded.labels[label]
                self.encoded.solver.add(z3.Not(z3.And(switch, *case)))
                return True
        return False

    def _deciding(self, rule: SpaceRule) -> frozenset[str]:
        """The structural decisions that decide a restriction."""
        universe = self.encoded.universe
        consumers = readers(universe.pipeline)
        funcs = rule.funcs.union(*(consumers.get(func, frozenset()) for func in rule.funcs))
        all_ = not funcs or universe.is_joint
        return frozenset(d.name for d in universe.structural if all_ or d.func in funcs)

    def _broken(self, rule: SpaceRule, choice: Assignment) -> frozenset[str] | None:
        """The numeric decisions that a broken restriction reads; None if the choice satisfies
        it.
        """
        universe = self.encoded.universe
        numbers = {d.name: int(choice[d.name]) for d in universe.numeric}
        try:
            checks = tuple(rule.check(universe.structure(choice), universe.pipeline.name))
        except (LevelError, OrderError, UnboundedError):
            return frozenset()
        broken: list[Expr] = [one.holds for one in checks if fails(one, numbers, {})]
        return frozenset(broken[0].names) if broken else None
