"""Param: a scalar chosen at each run."""

from __future__ import annotations

import math
from typing import Any

from attrs import define, field, frozen

from spaces.model.algorithm.var import check_name
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Arithmetic, Expr, Variable
from spaces.model.expressions.numbers import NumberError, number_in
from spaces.model.expressions.types import Type, type_of


@frozen(eq=False, slots=True, repr=False)
class ScalarVariable(Variable):
    """The value of a :class:`Param` inside an expression."""

    source: Param = field()


@define(eq=False, repr=False)
class Param(Arithmetic):
    """A scalar chosen at each run.

    Args:
        type: the element type, ``Int32`` for instance.
        name: what messages, schedules and calls know it by.
        default: its value in calls that give none; None if every call has to.
        lowest, highest: limits, as of :meth:`set_range`.

    Raises:
        DefinitionError: the name is none; the default or a limit is no value of the type, or no
            finite number of the type is near it; or the limits leave no value.
    """

    type: Type = field(converter=type_of)
    name: str = field()
    default: int | float | None = field(default=None)
    lowest: int | float | None = field(default=None)
    highest: int | float | None = field(default=None)

    @name.validator
    def _is_name(self, _: Any, name: str) -> None:
        check_name("Param", name)

    def __attrs_post_init__(self) -> None:
        self.default = self._number("default", self.default)
        self.lowest = self._number("least value", self.lowest)
        self.highest = self._number("largest value", self.highest)
        self._check_range()

    def _number(self, what: str, value: Any) -> int | float | None:
        """``value`` in the type of the parameter, rounded where that is a float.

        Raises:
            DefinitionError: it is no number of that type, or it is no number at all (NaN).
        """
        if value is None:
            return None
        try:
            number = number_in(self.type, value)
        except NumberError as error:
            raise DefinitionError(f"The {what} of Param {self.name} {error}.") from None
        if what != "default" and math.isnan(number):
            raise DefinitionError(f"The {what} of Param {self.name} is nan, which limits nothing.")
        return number

    def __repr__(self) -> str:
        return f"<Param {self.name}: {self.type}>"

    def as_expr(self) -> Expr:
        return ScalarVariable(self.type, self.name, self)

    def set_range(self, lowest: int | float, highest: int | float) -> Param:
        """Every call gives a value from ``lowest`` to ``highest``, or is refused; bounds know it.

        Raises:
            DefinitionError: no value, or not the default, lies in the range.
        """
        return self.set_min_value(lowest).set_max_value(highest)

    def set_min_value(self, lowest: int | float) -> Param:
        """Every call gives at least ``lowest``."""
        self.lowest = self._number("least value", lowest)
        self._check_range()
        return self

    def set_max_value(self, highest: int | float) -> Param:
        """Every call gives at most ``highest``."""
        self.highest = self._number("largest value", highest)
        self._check_range()
        return self

    def _check_range(self) -> None:
        low, high = self.lowest, self.highest
        at_least = self.default if self.default is not None else high
        at_most = self.default if self.default is not None else low
        if (low is not None and at_least is not None and at_least < low) or (
            high is not None and at_most is not None and at_most > high
        ):
            raise DefinitionError(
                f"Param {self.name} is to lie between {low} and {high}"
                f"{'' if self.default is None else f', and its default {self.default} does not'}; "
                "give it a range that holds values."
            )

    def __hash__(self) -> int:
        return id(self)
