"""The cases of a schedule with specializations: the assumptions of each, and its schedule.

The value of a condition is the same during a whole run, so each run tests it once, for all stages.
Under the assumptions of a case, the schedule has no specializations. Halide tests the conditions
where a stage begins, also in kernels; their blocks then reserve memory for every case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs
from attrs import frozen

from spaces.model.expressions.definitions import arithmetic
from spaces.model.expressions.expr import Const, Expr
from spaces.model.formulas.algebra import FormulaError, evaluate
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.conditions import assume, negation
from spaces.model.schedules.schedule import FuncSchedule, Schedule

MOST_CASES = 16
"""Each case is a program of its own."""


@frozen
class Case:
    """In calls where all ``assumptions`` hold, the pipeline follows ``schedule``, which has no
    specializations. If ``failure`` is given, the pipeline stops with that message instead.
    """

    assumptions: tuple[Expr, ...]
    schedule: Schedule
    failure: str = ""


def is_specialized(schedule: Schedule) -> bool:
    """Whether any stage has specializations."""
    return any(func.specializations for func in schedule.funcs)


def cases(schedule: Schedule) -> Iterator[Case]:
    """The cases of a schedule. Exactly one holds in a call; in the last one no condition holds."""
    return _cases(schedule, ())


def followed(schedule: Schedule, values: Mapping[str, float]) -> Schedule:
    """The schedule without specializations that the pipeline follows for these sizes and
    parameters. A condition on anything else counts as false, and no case fails.
    """
    funcs: list[FuncSchedule] = []
    for func in schedule.funcs:
        stages = list(func.stages)
        for one in reversed(func.specializations):
            if not one.failure and holds(one.condition, values):
                stages[one.stage] = one.order
        funcs.append(attrs.evolve(func, stages=tuple(stages), specializations=()))
    return schedule.with_funcs(funcs)


def holds(condition: Expr, values: Mapping[str, float]) -> bool:
    """Whether a condition on sizes and parameters holds. A condition on anything else, or one that
    calculates with floats, counts as false.
    """
    try:
        return bool(evaluate(condition, values))
    except FormulaError:
        return False


def _cases(schedule: Schedule, assumed: tuple[Expr, ...]) -> Iterator[Case]:
    func = next((f for f in schedule.funcs if f.specializations), None)
    if func is None:
        yield Case(assumed, schedule)
        return
    first, *others = func.specializations
    condition = arithmetic(first.condition)
    known = _known(condition, assumed)
    if known is not False:
        then = assumed if known else (*assumed, condition)
        if first.failure:
            yield Case(then, schedule, first.failure)
        else:
            rest = tuple(o for o in others if o.stage != first.stage)
            stages = (*func.stages[: first.stage], first.order, *func.stages[first.stage + 1 :])
            chosen = attrs.evolve(func, stages=stages, specializations=rest)
            yield from _cases(schedule.replace(chosen), then)
    if known is not True:
        left: FuncSchedule = attrs.evolve(func, specializations=tuple(others))
        otherwise = assumed if known is False else (*assumed, negation(condition))
        yield from _cases(schedule.replace(left), otherwise)


def _known(condition: Expr, assumed: tuple[Expr, ...]) -> bool | None:
    """Whether a condition follows from others, or its opposite does; None if neither follows."""
    if condition in assumed:
        return True
    if negation(condition) in assumed:
        return False
    simplify = Simplifier()
    for one in assumed:
        assume(simplify, one)
    simple = simplify(condition)
    return bool(simple.value) if isinstance(simple, Const) else None
