"""The loops of an update stage whose iterations depend on each other."""

from __future__ import annotations

from spaces.constraints.dependences.iterations import Ordering, dependences
from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Call, Expr, Op, walk

_COMMUTATIVE = ("add", "mul", "min", "max", "and", "or")
_EXACT_ON_FLOATS = ("min", "max")


def racing_dimensions(function: Function, index: int) -> frozenset[str]:
    """Dimensions of a stage along which two iterations may touch the same element."""
    return frozenset(dependences(function, index).dimensions)


def ordering(function: Function, index: int) -> Ordering:
    """The order in which the iterations of a stage must run.

    Any order, if the stage reduces by an associative and commutative operator: integer sums and
    products, logic, minimum and maximum. The order decides which zero or NaN a minimum or maximum
    of floats keeps; ``exact.order`` judges that.
    """
    found = dependences(function, index)
    if not found.dimensions or is_commutative(function, function.stages[index]):
        return Ordering()
    return found


def is_commutative(function: Function, stage: Stage) -> bool:
    """Whether a stage is ``f(args) = f(args) op e`` where ``e`` and ``args`` do not read ``f``, and
    the operands of ``op`` may come in any order. For a Tuple, whether each component is.
    """
    return not _reads(function, *stage.predicates) and all(
        _is_commutative(function, stage, component, value)
        for component, value in zip(function.components, stage.values, strict=True)
    )


def _is_commutative(function: Function, stage: Stage, component: int | None, value: Expr) -> bool:
    if not isinstance(value, Op) or len(value.args) != 2:
        return False
    inexact = value.type.is_float and value.name not in _EXACT_ON_FLOATS
    if inexact or value.name not in (*_COMMUTATIVE, "sub"):
        return False
    left, right = value.args
    pairs = [(left, right)] if value.name == "sub" else [(left, right), (right, left)]
    return any(
        isinstance(accumulator, Call)
        and accumulator.target == function.name
        and accumulator.component == component
        and accumulator.args == stage.args
        and not _reads(function, operand, *stage.args)
        for accumulator, operand in pairs
    )


def reads_itself(function: Function, stage: Stage) -> bool:
    """Whether a stage reads the Func that it updates. Then an iteration that runs twice may give
    another result than one that runs once.
    """
    return bool(_own_reads(function, stage))


def _reads(function: Function, *exprs: Expr) -> bool:
    """Whether one of ``exprs`` calls the Func."""
    return any(isinstance(n, Call) and n.target == function.name for n in walk(*exprs))


def _own_reads(function: Function, stage: Stage) -> list[Call]:
    return [c for c in stage.calls if c.target == function.name]
