"""``undef``: an undefined value. A value calculated from it is undefined, too. Where the value of a
definition is undefined, the definition stores nothing, and the Func keeps its old value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TypeAlias

from attrs import frozen

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.definitions import UNDEFINED
from spaces.model.expressions.expr import Call, Expr, Op, constant, logical, walk
from spaces.model.expressions.types import Bool, Type, type_of

_TRUE = constant(True, Bool)
_FALSE = constant(False, Bool)

DefinedPart: TypeAlias = tuple[Expr | None, Expr]
"""A value without its undefined parts (None if nothing remains), and the condition under which the
original value is defined.
"""


@frozen(eq=False, slots=True, repr=False)
class Undefined(Expr):
    """The undefined value of a type; it exists only inside definitions, never in a Pipeline."""


def undef(type: Type | str) -> Expr:
    """An undefined value: where an update selects it, the Func keeps its old value."""
    return Undefined(type_of(type))


def nothing(type: Type) -> Expr:
    """The value of a pure definition that defines no value."""
    return Op(type, UNDEFINED, ())


def inlined(stage: Stage, component: int) -> Expr:
    """The expression that replaces a call to an inlined pure definition."""
    value = stage.values[component]
    if not stage.predicates:
        return value
    holds = reduce(lambda a, b: logical("and", a, b), stage.predicates)
    return Op(value.type, "select", (holds, value, nothing(value.type)))


def read_undefined(function: Function) -> Iterator[tuple[int, int]]:
    """Yields (component, stage) for each component that the pure definition leaves undefined and
    that is read before it is stored. ``stage`` is the first update that reads the component where
    it writes; it is 0 if no update ever stores the component.
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


def may_keep(function: Function) -> bool:
    """Whether the pure definition of a Func may leave values undefined."""
    first = function.stages[0]
    return bool(first.predicates) or any(map(is_nothing, first.values))


def is_nothing(value: Expr) -> bool:
    """Whether ``value`` is the value of a pure definition that defines no value."""
    return isinstance(value, Op) and value.name == UNDEFINED


def defined(func: str, values: tuple[Expr, ...]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The values of a pure definition and the conditions under which it stores them.

    Raises:
        DefinitionError: as for :func:`written`.
    """
    nowhere = tuple(nothing(value.type) for value in values)
    return written(func, values, nowhere) or (nowhere, ())


def written(
    func: str, values: tuple[Expr, ...], now: Iterable[Expr]
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]] | None:
    """The values of an update and the conditions under which it stores them; None if it stores
    nothing. A component of a Tuple without a value keeps its value, given in ``now``.

    Raises:
        DefinitionError: the components of a Tuple are undefined in different places (Halide's
            rule).
    """
    if not any(isinstance(n, Undefined) for n in walk(*values)):
        return values, ()
    done: dict[Expr, DefinedPart] = {}
    parts = [_part(value, done) for value in values]
    conditions = {condition for value, condition in parts if value is not None}
    if len(conditions) > 1:
        raise DefinitionError(
            f"Func {func} stores its components under different conditions: "
            f"{', '.join(map(str, conditions))}; give each its own update, or one condition to all."
        )
    if not conditions:
        return None
    kept = zip(parts, now, strict=True)
    left = tuple(current if value is None else value for (value, _), current in kept)
    return left, tuple(c for c in conditions if c is not _TRUE)


def _part(value: Expr, done: dict[Expr, DefinedPart]) -> DefinedPart:
    """The defined part of a value. A value calculated from undef is undefined; a select is
    undefined where its chosen operand is.
    """
    if value not in done:
        done[value] = _found(value, done)
    return done[value]


def _found(value: Expr, done: dict[Expr, DefinedPart]) -> DefinedPart:
    if isinstance(value, Undefined):
        return None, _FALSE
    if not any(isinstance(n, Undefined) for n in walk(value)):
        return value, _TRUE
    children = [_part(child, done) for child in value.children]
    if isinstance(value, Op) and value.name == "select":
        (test, holds), first, second = children
        if test is None:
            return None, _FALSE
        chosen, condition = _either(test, first, second)
        return chosen, _both(condition, holds)
    operands = tuple(operand for operand, _ in children if operand is not None)
    if len(operands) < len(children):
        return None, _FALSE
    condition = reduce(_both, (condition for _, condition in children))
    return value.with_children(operands), condition


def _either(test: Expr, first: DefinedPart, second: DefinedPart) -> DefinedPart:
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
    if a is _FALSE or b is _FALSE:
        return _FALSE
    if a is b or b is _TRUE:
        return a
    return b if a is _TRUE else logical("and", a, b)
