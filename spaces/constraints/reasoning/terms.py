"""Conditions as terms of the solver."""

from __future__ import annotations

from collections.abc import Iterable

import z3
from attrs import define, field

from spaces.model.expressions.expr import Expr
from spaces.model.formulas.smt import Term, condition, new_context


@define
class Terms:
    """Conditions as terms of one context, each made once."""

    context: z3.Context = field(factory=new_context)
    _variables: dict[str, Term] = field(factory=dict)
    _done: dict[Expr, Term] = field(factory=dict)

    def variables(self, formulas: Iterable[Expr]) -> dict[str, Term]:
        """The terms of the variables in ``formulas``, by name."""
        names = sorted(frozenset[str]().union(*(f.names for f in formulas)))
        for name in names:
            if name not in self._variables:
                self._variables[name] = z3.Int(name, self.context)
        return {n: self._variables[n] for n in names}

    def condition(self, formula: Expr) -> Term:
        """A boolean formula as a term."""
        return condition(formula, self.variables((formula,)), self.context, self._done)
