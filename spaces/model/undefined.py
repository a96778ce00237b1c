"""``undef``: a value that is none. A definition that gives nothing else stores nothing, and an
update leaves its Func as it is where its value is undefined; inside the value of a pure definition
any value will do, and it is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from attrs import frozen

from spaces.model.definition_error import DefinitionError
from spaces.model.definitions import UNDEFINED
from spaces.model.expr import Call, Expr, Op, constant, logical, walk
from spaces.model.pipeline import Function
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
    """The value of a pure definition with 0 for what is undefined inside; nothing, if all is."""
    if isinstance(value, Undefined):
        return Op(value.type, UNDEFINED, ())
    return rewrite(value, lambda n: constant(0, n.type) if isinstance(n, Undefined) else n)


def read_undefined(function: Function) -> Iterator[tuple[int, int]]:
    """Components to which the pure definition gives no value, with the first stage that reads them
    where it writes, before any has stored them; 0 for the stage where none ever does.
    """
    for component, value in enumerate(function.stages[0].values):
        stage = _first_use(function, component) if is_nothing(value) else None
        if stage is not None:
            yield component, stage


def _first_use(function: Function, component: int) -> int | None:
    number = function.components[component]
    for index, stage in enumerate(function.stages[1:], start=1):
        own = Call(function.types[component], function.name, stage.args, number)
        kept = stage.values[component] is own
        others = [v for c, v in enumerate(stage.values) if c != component or not kept]
        if any(node is own for node in walk(*others, *stage.predicates)):
            return index
        if not kept:
            return None
    return 0


def is_nothing(value: Expr) -> bool:
    """Whether a pure definition gives no value at all."""
    return isinstance(value, Op) and value.name == UNDEFINED


def written(
    func: str, values: tuple[Expr, ...], now: Iterable[Expr]
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]] | None:
    """The values of an update and the conditions under which they are stored; None if never. A
    component of a Tuple without any value becomes what it is ``now``.

    Raises:
        DefinitionError: undef stands elsewhere than alone or as an arm of select, or the components
            of a Tuple are undefined in different places (Halide's rule).
    """
    if not any(isinstance(n, Undefined) for n in walk(*values)):
        return values, ()
    parts = [_part(func, value) for value in values]
    conditions = {condition for value, condition in parts if value is not None}
    if len(conditions) > 1:
        raise DefinitionError(
            f"An update of Func {func} stores its components under different conditions: "
            f"{', '.join(map(str, conditions))}; give each its own update, or one condition to all."
        )
    if not conditions:
        return None
    kept = zip(parts, now, strict=True)
    left = tuple(current if value is None else value for (value, _), current in kept)
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
