"""Every operator of the language with every combination of types that it may have."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

from attrs import frozen

from spaces.model.expressions.definitions import (
    FOREIGN,
    LANGUAGE,
    LIKELY_AT,
    REQUIRE,
    UNDEFINED,
    fits,
)
from spaces.model.expressions.expr import Expr, Op, Text
from spaces.model.expressions.types import SCALAR_TYPES, Bool, Int32, Type

TYPES = tuple(SCALAR_TYPES.values())

WITHOUT_VALUE = (UNDEFINED, LIKELY_AT, FOREIGN)
"""What is no operator of values: nothing at all, words about the coordinates of a call, and what
foreign code computes.
"""

OPERATORS = tuple(name for name in LANGUAGE if name not in WITHOUT_VALUE)

_MOST_OPERANDS = 3


@frozen
class Form:
    """An operator, the type of its result and those of its operands."""

    name: str
    result: Type
    operands: tuple[Type, ...]

    def of(self, *operands: Expr) -> Expr:
        """The operator applied to operands of these types."""
        words = (Text(Int32, "words"),) if self.name == REQUIRE else ()
        return Op(self.result, self.name, (*operands, *words))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.operands))}) -> {self.result}"


@cache
def forms(name: str) -> tuple[Form, ...]:
    """All forms of an operator, of as many operands as it takes at least."""
    if name == REQUIRE:
        return tuple(Form(name, type, (Bool, type)) for type in TYPES)
    return tuple(_forms(name))


def _forms(name: str) -> Iterator[Form]:
    for count in range(1, _MOST_OPERANDS + 1):
        found = [
            Form(name, result, operands)
            for operands in itertools.product(TYPES, repeat=count)
            for result in TYPES
            if fits(name, result, operands)
        ]
        if found:
            yield from found
            return


def some(name: str, most: int) -> tuple[Form, ...]:
    """No more than ``most`` forms of an operator, spread over all of them."""
    found = forms(name)
    step = -(-len(found) // most)
    return found[:: max(step, 1)]
