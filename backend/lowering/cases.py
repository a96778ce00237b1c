"""Joins several programs into one, each for the calls of one case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from attrs import evolve

from spaces.backend.ir.program import LoopProgram, SizeCheck
from spaces.backend.ir.statements import EMPTY, If
from spaces.backend.lowering.start import over_arrays
from spaces.constraints.reasoning.formulas import all_of
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Bool
from spaces.model.nest.loopnest import LoopNest, loop_nest
from spaces.model.schedules.cases import Case
from spaces.model.schedules.conditions import implied
from spaces.model.schedules.schedule import Schedule

_P = TypeVar("_P")


def combined(programs: Sequence[LoopProgram]) -> LoopProgram:
    """The program that runs the first of ``programs`` whose assumptions hold; for each call there
    is one.
    """
    *others, last = programs
    body = last.body
    for program in reversed(others):
        body = If(all_of(program.assumptions), program.body, body)
    running = [set(p.size_checks) for p in programs if p.body is not EMPTY]
    size_checks = dict.fromkeys(
        one
        if running and all(one in others for others in running)
        else SizeCheck(implied(program.assumptions, one.condition), one.message)
        for program in programs
        for one in program.size_checks
    )
    return evolve(last, size_checks=tuple(size_checks), body=body, assumptions=())


def each(
    pipeline: Pipeline,
    cases: Iterable[Case],
    lower: Callable[[LoopNest, tuple[_P, ...]], _P],
    refuse: Callable[[_P, tuple[Expr, ...], str], _P],
) -> tuple[_P, ...]:
    """Lowers each case. ``lower`` gets the nest of a case and the programs of the cases before.
    ``refuse`` turns a program into one that refuses every call that selects a `specialize_fail`
    case.
    """
    cases, lowered = tuple(cases), tuple[_P, ...]()
    for case in cases:
        if not case.failure:
            nest = loop_nest(pipeline, case.schedule, case.assumptions)
            lowered += (lower(nest, lowered),)
    some = lowered[0] if lowered else lower(loop_nest(pipeline, Schedule.default(pipeline)), ())
    chosen = iter(lowered)
    return tuple(
        refuse(some, over_arrays(pipeline, case.assumptions), case.failure)
        if case.failure
        else next(chosen)
        for case in cases
    )


def refused(program: LoopProgram, assumptions: tuple[Expr, ...], message: str) -> LoopProgram:
    """A program with the parameters of ``program`` that refuses every call for which
    ``assumptions`` hold.
    """
    never = (refusal(message),)
    return evolve(program, size_checks=never, body=EMPTY, assumptions=assumptions)


def refusal(message: str) -> SizeCheck:
    """A check that fails in every call, with this message."""
    return SizeCheck(constant(False, Bool), message)
