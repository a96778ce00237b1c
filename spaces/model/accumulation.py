"""Updates that accumulate by an associative operator, whose parts may be accumulated apart."""

from __future__ import annotations

import math
from functools import lru_cache, reduce

from attrs import frozen

from spaces.model.expr import Call, Const, Expr, Op, constant, walk
from spaces.model.pipeline import Function
from spaces.model.types import Type

ASSOCIATIVE = ("add", "mul", "min", "max", "and", "or")
"""Operators that are associative and commutative, and have an identity: on integers and booleans
bit for bit, wrapping included; sums and products of floats up to rounding.
"""


@frozen
class Accumulation:
    """``f(args) = f(args) operator operand``, up to how it is grouped, where ``operand`` does not
    read ``f``; no value is changed by ``identity``.
    """

    operator: str
    operand: Expr
    identity: Const

    @property
    def is_exact(self) -> bool:
        """Whether the result is the same bit for bit in whatever order it is accumulated."""
        return not self.identity.type.is_float or self.operator in ("min", "max")


@lru_cache(maxsize=4096)
def accumulation(function: Function, index: int) -> Accumulation | None:
    """How an update stage accumulates; None where it does something else."""
    stage = function.stages[index]
    value = stage.value
    if index == 0 or not isinstance(value, Op) or value.name not in ASSOCIATIVE:
        return None
    operands = _operands(value, value.name)
    own = [o for o in operands if isinstance(o, Call) and o.target == function.name]
    others = [o for o in operands if not (isinstance(o, Call) and o.target == function.name)]
    if len(own) != 1 or own[0].args != stage.args or _reads(function, *others, *stage.args):
        return None
    combined = reduce(lambda a, b: Op(value.type, value.name, (a, b)), others)
    return Accumulation(value.name, combined, identity(value.name, value.type))


def _operands(value: Expr, operator: str) -> tuple[Expr, ...]:
    """What one operator combines in ``value``, however it is grouped."""
    if isinstance(value, Op) and value.name == operator:
        return tuple(o for arg in value.args for o in _operands(arg, operator))
    return (value,)


def identity(operator: str, type: Type) -> Const:
    """The value that ``operator`` combines with any other to that other."""
    match operator:
        case "add" | "or":
            return constant(0, type)
        case "mul" | "and":
            return constant(1, type)
        case "min":
            return constant(math.inf if type.is_float else type.max_value, type)
        case "max":
            return constant(-math.inf if type.is_float else type.min_value, type)
    raise ValueError(f"{operator} is none of {', '.join(ASSOCIATIVE)}.")


def _reads(function: Function, *exprs: Expr) -> bool:
    return any(isinstance(n, Call) and n.target == function.name for n in walk(*exprs))
