"""``require``: values that may be computed only where a condition holds."""

from __future__ import annotations

from attrs import field, frozen

from spaces.model.algorithm.rdom import RVar
from spaces.model.algorithm.reference import Reference
from spaces.model.algorithm.var import is_free_var
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.definitions import RANDOM
from spaces.model.expressions.expr import Arithmetic, Expr, ExprLike, Op, as_expr, walk
from spaces.model.expressions.message import text


@frozen(eq=False, slots=True, repr=False)
class Required(Expr):
    """``value`` if ``condition`` holds; otherwise the run stops with ``message``."""

    condition: Expr = field()
    value: Expr = field()
    message: tuple[Expr, ...] = field()
    varies: bool = field()
    """Whether the condition depends on coordinates or pixels."""

    def _children(self) -> tuple[Expr, ...]:
        return self.condition, self.value, *self.message

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        condition, value, *message = children
        return Required(self.type, condition, value, tuple(message), self.varies)


def require(condition: ExprLike, value: ExprLike, *message: object) -> Expr:
    """``value``, with a condition that must hold wherever a run computes it; otherwise the run
    stops with ``message``. The parts of the message are words and expressions; the run prints the
    values of the expressions, with spaces between the parts. If the condition depends on sizes and
    Params alone, a call that does not meet it fails before it begins.

    A run computes values on boxes, which may hold more points than are read.

    Raises:
        DefinitionError: ``condition`` is not a condition.
    """
    test, given = as_expr(condition), as_expr(value)
    if not test.type.is_bool:
        raise DefinitionError(f"require needs a condition first, but `{test}` is {test.type}.")
    parts = _parts(message) or (text(f"`{test}` does not hold."),)
    return Required(given.type, test, given, parts, varying(test) is not None)


def _parts(message: tuple[object, ...]) -> tuple[Expr, ...]:
    """The parts of a message: its expressions, and one text for the words between them."""
    found: list[Expr] = []
    words: list[str] = []
    for part in (*message, None):
        if part is not None and not isinstance(part, Arithmetic):
            words.append(str(part))
            continue
        if words:
            found.append(text(" ".join(words)))
            words = []
        if part is not None:
            found.append(part.as_expr())
    return tuple(found)


def varying(condition: Expr) -> Expr | None:
    """The first part of a condition that is unknown before a call begins: a Var, an RVar, a value
    or a random number. None for a condition on sizes and Params alone.
    """
    for node in walk(condition):
        is_var = is_free_var(node) and node.name.isidentifier()
        is_random = isinstance(node, Op) and node.name in RANDOM
        if is_var or is_random or isinstance(node, RVar | Reference):
            return node
    return None
