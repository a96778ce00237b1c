"""Updates that accumulate by an associative operator, whose parts may be accumulated apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, reduce

from attrs import frozen

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.rewrite import substitute
from spaces.model.expressions.types import Bool, Type

ASSOCIATIVE = (
    *("add", "mul", "min", "max", "and", "or"),
    *("bit_and", "bit_or", "bit_xor", "saturating_add"),
)
"""Operators that are associative and commutative, and have an identity: on integers and booleans
bit for bit, wrapping included; sums and products of floats up to rounding. Saturating sums are so
of unsigned integers only.
"""

IN_ONE_STEP = ("add", "mul", "min", "max", "and", "or", "bit_and", "bit_or", "bit_xor")
"""Those by which one element can be changed in one step."""


@frozen
class Accumulation:
    """``f(args) = f(args) op operand``, up to how it is grouped, where ``operand`` does not read
    ``f``; of a Tuple in each component, or the first of the best.

    Attributes:
        operators: the operator of each component; empty where the best is kept, which are compared
            in one component.
        takes_last: whether of equally good ones the last is kept, so that nothing at all, which is
            as bad as can be, would take the place of what is as bad.
        operands: what is accumulated.
        identities: what changes no value, and is changed to any.
        pattern: what becomes of the variables ``now.0`` and ``next.0``, and so on.
    """

    operators: tuple[str, ...]
    takes_last: bool
    operands: tuple[Expr, ...]
    identities: tuple[Const, ...]
    pattern: tuple[Expr, ...]

    @property
    def is_commutative(self) -> bool:
        """Whether the order does not matter; of the best the first or the last is kept."""
        return bool(self.operators)

    @property
    def is_exact(self) -> bool:
        """Whether the result is the same bit for bit however it is grouped."""
        pairs = zip(self.operators, self.identities, strict=False)
        return all(not i.type.is_float or op in ("min", "max") for op, i in pairs)

    def combined(self, now: Sequence[Expr], following: Sequence[Expr]) -> tuple[Expr, ...]:
        """The values after those of ``now`` and, accumulated after them, of ``following``."""
        values = {f"now.{i}": value for i, value in enumerate(now)}
        values |= {f"next.{i}": value for i, value in enumerate(following)}
        return tuple(substitute(value, values) for value in self.pattern)


@lru_cache(maxsize=4096)
def accumulation(function: Function, index: int) -> Accumulation | None:
    """How an update stage accumulates; None where it does something else."""
    stage = function.stages[index]
    if index == 0 or _reads(function, *stage.args, *stage.predicates):
        return None
    found = [
        _by_operator(function, stage, component, value)
        for component, value in zip(function.components, stage.values, strict=True)
    ]
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return _best(function, stage)
    operators, operands = zip(*parts, strict=True)
    return Accumulation(
        operators,
        False,
        operands,
        tuple(identity(op, t) for op, t in zip(operators, function.types, strict=True)),
        tuple(
            Op(t, op, (Variable(t, f"now.{i}"), Variable(t, f"next.{i}")))
            for i, (op, t) in enumerate(zip(operators, function.types, strict=True))
        ),
    )


def _by_operator(
    function: Function, stage: Stage, component: int | None, value: Expr
) -> tuple[str, Expr] | None:
    """The operator by which one component accumulates, and what."""
    if not isinstance(value, Op) or value.name not in ASSOCIATIVE:
        return None
    if value.name == "saturating_add" and not value.type.is_uint:
        return None
    operands = _operands(value, value.name)
    others = [o for o in operands if not _is_now(function, stage, component, o)]
    if len(others) != len(operands) - 1 or _reads(function, *others):
        return None
    return value.name, reduce(lambda a, b: Op(value.type, value.name, (a, b)), others)


def _operands(value: Expr, operator: str) -> tuple[Expr, ...]:
    """What one operator combines in ``value``, however it is grouped."""
    if isinstance(value, Op) and value.name == operator:
        return tuple(o for arg in value.args for o in _operands(arg, operator))
    return (value,)


def operand_of(value: Expr, operator: str, func: str) -> Expr:
    """What ``value``, in which a call of ``func`` is combined with others by ``operator``, combines
    it with.
    """
    others = [
        o for o in _operands(value, operator) if not (isinstance(o, Call) and o.target == func)
    ]
    return reduce(lambda a, b: Op(value.type, operator, (a, b)), others)


_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_NEGATED = {"lt": "ge", "gt": "le", "le": "gt", "ge": "lt"}
_ORDERS = {"lt": "min", "gt": "max", "le": "min", "ge": "max"}
"""How the operand of a component compares with what there is, where it is taken."""


def _best(function: Function, stage: Stage) -> Accumulation | None:
    """A Tuple of which one component keeps its least value, or its greatest, and all others change
    where that does; of equal ones the first or the last stays.
    """
    for key, type in enumerate(function.types):
        # The last of equal floats may be no number.
        for name in ("lt", "gt") if type.is_float else _ORDERS:
            operands = tuple(
                _taken(function, stage, component, key, name) for component in function.components
            )
            found = tuple(operand for operand in operands if operand is not None)
            if len(found) == len(operands) and not _reads(function, *found):
                return _best_by(name, key, found, function.types)
    return None


def _taken(
    function: Function, stage: Stage, component: int | None, key: int, name: str
) -> Expr | None:
    """What a component takes where the operand of component ``key`` is less (``lt``) or greater
    (``gt``) than what there is, or equal (``le``, ``ge``), if it does so.
    """
    value = stage.values[component or 0]
    if not isinstance(value, Op):
        return None
    if value.name == _ORDERS[name] and component == function.components[key]:
        others = [a for a in value.args if not _is_now(function, stage, component, a)]
        return others[0] if len(others) == 1 else None
    if value.name != "select":
        return None
    test, taken, kept = value.args
    negated = _is_now(function, stage, component, taken)
    if negated:
        taken, kept = kept, taken
    if not _is_now(function, stage, component, kept) or not isinstance(test, Op):
        return None
    order = _NEGATED.get(test.name, "") if negated else test.name
    first, second = test.args[0], test.args[-1]
    mirrored = _MIRRORED.get(order, "")
    for left, right, comparison in ((first, second, order), (second, first, mirrored)):
        is_key = component == function.components[key]
        compared = taken if is_key else _key_operand(function, stage, key)
        now = _is_now(function, stage, function.components[key], right)
        if comparison == name and left is compared and now:
            return taken
    return None


def _key_operand(function: Function, stage: Stage, key: int) -> Expr | None:
    """What the values of component ``key`` are compared with."""
    value, component = stage.values[key], function.components[key]
    args = value.args[1:] if isinstance(value, Op) and value.name == "select" else value.children
    others = [a for a in args if not _is_now(function, stage, component, a)]
    return others[0] if len(others) == 1 else None


def _best_by(
    name: str, key: int, operands: tuple[Expr, ...], types: tuple[Type, ...]
) -> Accumulation:
    now = tuple(Variable(t, f"now.{i}") for i, t in enumerate(types))
    following = tuple(Variable(t, f"next.{i}") for i, t in enumerate(types))
    better = Op(Bool, name, (following[key], now[key]))
    worst = identity(_ORDERS[name], types[key])
    return Accumulation(
        (),
        name in ("le", "ge"),
        operands,
        tuple(worst if i == key else constant(0, t) for i, t in enumerate(types)),
        tuple(
            Op(t, "select", (better, b, a)) for t, a, b in zip(types, now, following, strict=True)
        ),
    )


def identity(operator: str, type: Type) -> Const:
    """The value that ``operator`` combines with any other to that other."""
    match operator:
        case "add" | "or" | "bit_or" | "bit_xor" | "saturating_add":
            return constant(0, type)
        case "mul" | "and":
            return constant(1, type)
        case "bit_and":
            return constant(type.max_value if type.is_uint else -1, type)
        case "min":
            return constant(math.inf if type.is_float else type.max_value, type)
        case "max":
            return constant(-math.inf if type.is_float else type.min_value, type)
    raise ValueError(f"{operator} is none of {', '.join(ASSOCIATIVE)}.")


def _is_now(function: Function, stage: Stage, component: int | None, value: Expr) -> bool:
    """Whether ``value`` is what the stage is about to change."""
    return (
        isinstance(value, Call)
        and value.target == function.name
        and value.component == component
        and value.args == stage.args
    )


def _reads(function: Function, *exprs: Expr) -> bool:
    return any(isinstance(n, Call) and n.target == function.name for n in walk(*exprs))
