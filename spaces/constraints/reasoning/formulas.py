"""Formulas made of other formulas: conjunctions, ranges, and copies for a second iteration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from spaces.model.expressions.expr import Const, Expr, Op, Variable, constant
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Bool, Int32

TRUE: Expr = constant(True, Bool)
FALSE: Expr = constant(False, Bool)


def all_of(conditions: Iterable[Expr]) -> Expr:
    """The conjunction of the conditions that are not literally true."""
    return reduce(_both, (c for c in conditions if c is not TRUE), TRUE)


def any_of(conditions: Iterable[Expr]) -> Expr:
    """The disjunction of the conditions that are not literally false."""
    return reduce(_either, (c for c in conditions if c is not FALSE), FALSE)


def _both(a: Expr, b: Expr) -> Expr:
    return b if a is TRUE else Op(Bool, "and", (a, b))


def _either(a: Expr, b: Expr) -> Expr:
    return b if a is FALSE else Op(Bool, "or", (a, b))


def negation(condition: Expr) -> Expr:
    """The negation of a condition."""
    if isinstance(condition, Const):
        return FALSE if condition.value else TRUE
    return Op(Bool, "not", (condition,))


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """The operands of the conjunction ``condition``, in order."""
    stack = [condition]
    while stack:
        node = stack.pop()
        if isinstance(node, Op) and node.name == "and":
            stack.extend(reversed(node.args))
        else:
            yield node


def within(value: Expr, low: Expr, high: Expr) -> tuple[Expr, Expr]:
    """``low <= value <= high``."""
    return at_most(low, value), at_most(value, high)


def at_most(a: Expr, b: Expr) -> Expr:
    """``a <= b``."""
    return Op(Bool, "le", (a, b))


def less(a: Expr, b: Expr) -> Expr:
    """``a < b``."""
    return Op(Bool, "lt", (a, b))


def equal(a: Expr, b: Expr) -> Expr:
    """``a == b``; literally true for the same expression."""
    return TRUE if a is b else Op(Bool, "eq", (a, b))


def different(a: Expr, b: Expr) -> Expr:
    """``a != b``."""
    return Op(Bool, "ne", (a, b))


def precedes(first: tuple[Expr, ...], second: tuple[Expr, ...], or_equal: bool = False) -> Expr:
    """Lexicographic order of two iterations, the outermost loop first."""
    result = TRUE if or_equal else FALSE
    for a, b in zip(reversed(first), reversed(second), strict=True):
        result = any_of(
            (less(a, b), all_of((equal(a, b), result)) if result is not FALSE else FALSE)
        )
    return result


SECOND = "~"
"""The suffix of the names of copies; SMT-LIB allows it in names."""


def primed(name: str) -> str:
    """The name of a variable's copy in a second iteration."""
    return name + SECOND


OPAQUE = "?"
"""The prefix of the names of opaque variables, which stand for values that a formula cannot
express.
"""


class Second:
    """A second iteration: copies of some loop variables, and of all opaque variables."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = frozenset(names)

    def __call__(self, expr: Expr) -> Expr:
        """``expr`` in the second iteration."""
        return rewrite(expr, self._copied)

    def _copied(self, node: Expr) -> Expr:
        if isinstance(node, Variable) and (node.name in self.names or node.name[0] == OPAQUE):
            return Variable(Int32, primed(node.name))
        return node
