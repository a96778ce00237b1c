"""Normal forms that simplifiers have found, for others that know the same of the variables."""

from __future__ import annotations

from typing import TypeAlias

from attrs import define, field

from spaces.model.expressions.expr import Expr
from spaces.model.formulas.polynomial import Polynomial

KnownLimits: TypeAlias = tuple[tuple[str, Expr | None, Expr | None], ...]
"""Variables, each with its least and its largest value, in the order of their loops."""


@define
class KnownForms:
    """The normal form of each expression, by all that is known of its variables. At ``most`` forms
    it drops all of them.

    Loop nests of similar schedules simplify mostly the same expressions within the same loops.
    """

    most: int = 1 << 16
    _numbers: dict[KnownLimits, int] = field(init=False, factory=dict)
    _forms: dict[tuple[Expr, int], tuple[Polynomial, Expr]] = field(init=False, factory=dict)
    _count: int = field(init=False, default=0)

    def number(self, limits: KnownLimits) -> int:
        """A number that stands for these limits only."""
        found = self._numbers.get(limits)
        if found is None:
            if len(self._numbers) >= self.most:
                self._numbers.clear()
            found = self._numbers[limits] = self._count
            self._count += 1
        return found

    def find(self, expr: Expr, limits: int) -> tuple[Polynomial, Expr] | None:
        """The normal form of an expression under limits, as a sum and as an expression."""
        return self._forms.get((expr, limits))

    def keep(self, expr: Expr, limits: int, form: Polynomial, normal: Expr) -> None:
        """Keeps a normal form."""
        if len(self._forms) >= self.most:
            self._forms.clear()
        self._forms[expr, limits] = form, normal
