"""Which loops of an update stage depend on one another's iterations."""

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

    Any, where the stage is a reduction by an operator that is associative and commutative: integer
    sums and products, logic, minimum and maximum. Which of several zeros and NaN of floats these
    keep depends on the order; ``exact.order`` is about that.
    """
    found = dependences(function, index)
    if not found.dimensions or is_commutative(function, function.stages[index]):
        return Ordering()
    return found


def ordered_dimensions(function: Function, index: int) -> tuple[str, ...]:
    """Dimensions of a stage whose iterations depend on one another's order, outermost first."""
    return ordering(function, index).dimensions


def is_commutative(function: Function, stage: Stage) -> bool:
    """Whether a stage is ``f(args) = f(args) op e`` with ``e`` and ``args`` not reading ``f``, for
    an ``op`` whose operands may come in any order; of a Tuple, whether each component is.
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
    """Whether a stage reads the Func that it updates: to run an iteration of it twice then may give
    something else than to run it once.
    """
    return bool(_own_reads(function, stage))


def _reads(function: Function, *exprs: Expr) -> bool:
    """Whether one of ``exprs`` calls the Func."""
    return any(isinstance(n, Call) and n.target == function.name for n in walk(*exprs))


def _own_reads(function: Function, stage: Stage) -> list[Call]:
    return [c for c in stage.calls if c.target == function.name]
