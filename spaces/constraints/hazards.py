"""Which loops of an update stage depend on one another's iterations."""

from __future__ import annotations

from functools import lru_cache

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Call, Expr, Op, Variable, walk
from spaces.model.expressions.types import Int32
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.simplify import Simplifier

_COMMUTATIVE = ("add", "mul", "min", "max", "and", "or")
_EXACT_ON_FLOATS = ("min", "max")


@lru_cache(maxsize=4096)
def racing_dimensions(function: Function, index: int) -> frozenset[str]:
    """Dimensions of a stage of which two iterations may touch the same element.

    Iterations along a dimension are independent where some coordinate that is written is that
    dimension times a number, plus a number, and every read of the Func itself has the very same
    coordinate there. That suffices, and leaves only unusual updates out.
    """
    if index == 0:
        return frozenset()
    stage = function.stages[index]
    own = _own_reads(function, stage)
    free = set()
    for d, arg in enumerate(stage.args):
        name = _only_variable(arg, stage)
        if name is not None and all(read.args[d] is arg for read in own):
            free.add(name)
    return frozenset(stage.dimensions) - free


@lru_cache(maxsize=4096)
def ordered_dimensions(function: Function, index: int) -> tuple[str, ...]:
    """Dimensions of a stage whose iterations must run in the order written, outermost first.

    None where the stage is a reduction by an operator that is associative and commutative bit for
    bit: integer sums and products, minimum, maximum, logic.
    """
    racing = racing_dimensions(function, index)
    if not racing or is_commutative(function, function.stages[index]):
        return ()
    return tuple(d for d in reversed(function.stages[index].dimensions) if d in racing)


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


def _only_variable(arg: Expr, stage: Stage) -> str | None:
    """The dimension that ``arg`` is a multiple of plus a number, or None."""
    if arg.type != Int32 or any(isinstance(n, Call) for n in walk(arg)):
        return None
    form: Polynomial = Simplifier().polynomial(arg)
    terms = [m for m in form.terms if m]
    if len(terms) != 1 or len(terms[0]) != 1:
        return None
    (atom,) = terms[0]
    if isinstance(atom, Variable) and atom.name in stage.dimensions:
        return atom.name
    return None
