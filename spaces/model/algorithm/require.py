"""``require``: values that are computed only where a condition holds."""

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
    """``value``, where ``condition`` holds; else what is computed stops with ``message``."""

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
    """``value``, where ``condition`` holds; a run that computes it where it does not, stops with
    ``message``, words and expressions of which the values are told, with spaces between. A call
    whose sizes and Params do not meet a condition on these alone is refused before it begins.

    Values are computed on boxes, which may hold more points than are read.

    Raises:
        DefinitionError: ``condition`` is no condition.
    """
    test, given = as_expr(condition), as_expr(value)
    if not test.type.is_bool:
        raise DefinitionError(f"require needs a condition first, and `{test}` is {test.type}.")
    parts = _parts(message) or (text(f"`{test}` does not hold."),)
    return Required(given.type, test, given, parts, varying(test) is not None)


def _parts(message: tuple[object, ...]) -> tuple[Expr, ...]:
    """Expressions, and the words between them."""
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
    """The first part of a condition that is not known before a call begins, as the sizes of images
    and outputs and Params are.
    """
    for node in walk(condition):
        is_var = is_free_var(node) and node.name.isidentifier()
        is_random = isinstance(node, Op) and node.name in RANDOM
        if is_var or is_random or isinstance(node, RVar | Reference):
            return node
    return None
