"""Associative operators, and what an update accumulates by them: one component of a Func, or
several that change together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce

from attrs import frozen

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.types import Type

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
class Part:
    """What some components of a Func accumulate, which change together.

    Attributes:
        components: their numbers.
        operands: what each accumulates; none reads the Func.
        identities: what changes no value, and is changed to any.
        pattern: what becomes of the variables ``now.0`` and ``next.0`` of component 0, and so on.
        operator: the operator of a component that changes alone.
        order: what an update does whose order matters, in words; else nothing.
        of_some: whether ``identities`` change a value that is there already, so that only results
            of something may follow it.
        inexact: why floats that are combined in another order may give other bits, in words; empty
            where the bits are the same.
    """

    components: tuple[int, ...]
    operands: tuple[Expr, ...]
    identities: tuple[Const, ...]
    pattern: tuple[Expr, ...]
    operator: str = ""
    order: str = ""
    of_some: bool = False
    inexact: str = ""


ROUNDED = "each sum and each product of floats is rounded"
"""Why sums and products of floats depend on the order of what they combine."""

KEPT = "the order decides which of a zero and a negative zero stays, and whether a NaN stays"
"""Why the least and the greatest of floats depend on it: comparisons do not tell these apart."""


def why_inexact(operator: str, type: Type) -> str:
    """Why ``operator`` gives other bits where what it combines comes in another order; empty where
    it does not: integers wrap, and no operator on them rounds.
    """
    if not type.is_float:
        return ""
    return KEPT if operator in ("min", "max") else ROUNDED


def by_operator(function: Function, stage: Stage, number: int) -> Part | None:
    """A component that accumulates by one operator."""
    value, type = stage.values[number], function.types[number]
    found = combined_with(function, stage, number, value)
    if found is None:
        return None
    operator, operand = found
    return Part(
        (number,),
        (operand,),
        (identity(operator, type),),
        (Op(type, operator, (now(function, number), following(function, number))),),
        operator,
        inexact=why_inexact(operator, type),
    )


def combined_with(
    function: Function, stage: Stage, number: int, value: Expr
) -> tuple[str, Expr] | None:
    """The operator that combines what a component is with something else to ``value``, and what
    that is; None where it is something else, or reads the Func.
    """
    value = _saturating(value)
    if not isinstance(value, Op) or value.name not in ASSOCIATIVE:
        return None
    if value.name == "saturating_add" and not value.type.is_uint:
        return None
    operands = operands_of(value, value.name)
    others = [o for o in operands if not is_now(function, stage, number, o)]
    if len(others) != len(operands) - 1 or reads_own(function, *others):
        return None
    return value.name, reduce(lambda a, b: Op(value.type, value.name, (a, b)), others)


def _saturating(value: Expr) -> Expr:
    """A sum that is limited after it was widened, as the saturating sum that it is."""
    match value:
        case Op(name="saturating_cast", args=(Op(name="widening_add", args=(a, b)),)):
            return Op(value.type, "saturating_add", (a, b)) if a.type == value.type else value
    return value


def operands_of(value: Expr, operator: str) -> tuple[Expr, ...]:
    """What one operator combines in ``value``, however it is grouped."""
    if isinstance(value, Op) and value.name == operator:
        return tuple(o for arg in value.args for o in operands_of(arg, operator))
    return (value,)


def now(function: Function, number: int) -> Variable:
    """What a component is, in a pattern."""
    return Variable(function.types[number], f"now.{number}")


def following(function: Function, number: int) -> Variable:
    """What is accumulated in a component after that, in a pattern."""
    return Variable(function.types[number], f"next.{number}")


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
    raise ValueError(
        f"{operator} is not an associative operator; these are: {', '.join(ASSOCIATIVE)}."
    )


def is_now(function: Function, stage: Stage, number: int, value: Expr) -> bool:
    """Whether ``value`` is a component of what the stage is about to change."""
    return (
        isinstance(value, Call)
        and value.target == function.name
        and value.component == function.components[number]
        and value.args == stage.args
    )


def own_numbers(function: Function, value: Expr) -> Iterable[int]:
    """The components of its own Func that a value reads."""
    for node in walk(value):
        if isinstance(node, Call) and node.target == function.name:
            yield node.component or 0


def reads_own(function: Function, *exprs: Expr) -> bool:
    """Whether expressions read the Func itself."""
    return any(isinstance(n, Call) and n.target == function.name for n in walk(*exprs))
