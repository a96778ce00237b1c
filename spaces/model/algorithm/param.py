"""Param: a scalar parameter of a pipeline."""

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
    """A scalar that every call gives a value.

    Args:
        type: the element type, ``Int32`` for instance.
        name: its name in messages, schedules and calls.
        default: its value in calls that give none; None if every call must give one.
        lowest, highest: the limits, as for :meth:`set_range`.

    Raises:
        DefinitionError: ``name`` is not a name; ``type`` does not hold the default or a limit; or
            the limits leave no value, or exclude the default.
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
        """``value`` in the type of the parameter; a float type rounds it.

        Raises:
            DefinitionError: the type does not hold ``value``, or a limit is NaN.
        """
        if value is None:
            return None
        try:
            number = number_in(self.type, value)
        except NumberError as error:
            raise DefinitionError(f"The {what} of Param {self.name} {error}.") from None
        if what != "default" and math.isnan(number):
            raise DefinitionError(f"The {what} of Param {self.name} is nan; give a number.")
        return number

    def __repr__(self) -> str:
        return f"<Param {self.name}: {self.type}>"

    def as_expr(self) -> Expr:
        return ScalarVariable(self.type, self.name, self)

    def set_range(self, lowest: int | float, highest: int | float) -> Param:
        """Limits the values to the range from ``lowest`` to ``highest``. A call with another value
        fails; bounds use the range.

        Raises:
            DefinitionError: the range holds no value, or does not hold the default.
        """
        return self.set_min_value(lowest).set_max_value(highest)

    def set_min_value(self, lowest: int | float) -> Param:
        """Limits the values to at least ``lowest``, as :meth:`set_range` does."""
        self.lowest = self._number("least value", lowest)
        self._check_range()
        return self

    def set_max_value(self, highest: int | float) -> Param:
        """Limits the values to at most ``highest``, as :meth:`set_range` does."""
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
                f"Param {self.name} must lie between {low} and {high}"
                f"{'' if self.default is None else f', but its default {self.default} does not'}; "
                "give it a range that holds values."
            )

    def __hash__(self) -> int:
        return id(self)
