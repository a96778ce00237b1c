"""``undef``: a value that is none. An update leaves its Func as it is where its value is undefined;
of a pure definition any value will do there, and it is 0.
"""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from spaces.model.definition_error import DefinitionError
from spaces.model.expr import Expr, Op, constant, logical, walk
from spaces.model.rewrite import rewrite
from spaces.model.types import Bool, Type, type_of

_TRUE = constant(True, Bool)
_FALSE = constant(False, Bool)

Part: TypeAlias = tuple[Expr | None, Expr]
"""A value without what is undefined, None if nothing is left, and the condition it holds under."""


@frozen(eq=False, slots=True, repr=False)
class Undefined(Expr):
    """No value of a type; it exists only while a Func is being defined."""


def undef(type: Type | str) -> Expr:
    """No value at all: an update whose select gives it leaves the Func as it is there."""
    return Undefined(type_of(type))


def any_value(value: Expr) -> Expr:
    """The value with 0 for what is undefined."""
    return rewrite(value, lambda n: constant(0, n.type) if isinstance(n, Undefined) else n)


def written(
    func: str, values: tuple[Expr, ...]
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]] | None:
    """The values of an update and the conditions under which they are stored; None if never.

    Raises:
        DefinitionError: undef stands elsewhere than alone or as an arm of select, or the components
            of a Tuple are undefined in different places.
    """
    if not any(isinstance(n, Undefined) for n in walk(*values)):
        return values, ()
    parts = [_part(func, value) for value in values]
    conditions = {condition for _, condition in parts}
    if len(conditions) > 1:
        raise DefinitionError(
            f"An update of Func {func} stores its components under different conditions: "
            f"{', '.join(map(str, conditions))}; give each its own update, or one condition to all."
        )
    left = tuple(value for value, _ in parts if value is not None)
    if len(left) < len(values):
        return None
    return left, tuple(c for c in conditions if c is not _TRUE)


def _part(func: str, value: Expr) -> Part:
    if isinstance(value, Undefined):
        return None, _FALSE
    if isinstance(value, Op) and value.name == "select":
        test, first, second = value.args
        _require_defined(func, test)
        return _either(test, _part(func, first), _part(func, second))
    _require_defined(func, value)
    return value, _TRUE


def _either(test: Expr, first: Part, second: Part) -> Part:
    a, where_a = first
    b, where_b = second
    if a is None:
        return b, _both(logical("not", test), where_b)
    if b is None:
        return a, _both(test, where_a)
    chosen = Op(a.type, "select", (test, a, b))
    if where_a is _TRUE and where_b is _TRUE:
        return chosen, _TRUE
    return chosen, _both(test, where_a) | _both(logical("not", test), where_b)


def _both(a: Expr, b: Expr) -> Expr:
    if b is _TRUE or b is _FALSE:
        return a if b is _TRUE else b
    return logical("and", a, b)


def _require_defined(func: str, value: Expr) -> None:
    if any(isinstance(n, Undefined) for n in walk(value)):
        raise DefinitionError(
            f"An update of Func {func} calculates with undef in `{value}`; undef stands alone, or "
            "is what select gives."
        )
