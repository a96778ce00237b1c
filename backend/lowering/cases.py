"""One program of several, each for the calls of one case."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from attrs import evolve

from backend.lowering.statements import EMPTY
from backend.program import If, LoopProgram, Requirement
from spaces.model.expressions.expr import Expr, Op, constant
from spaces.model.expressions.types import Bool
from spaces.model.schedules.conditions import implied


def together(programs: Sequence[LoopProgram]) -> LoopProgram:
    """The program that runs the first of ``programs`` whose assumptions hold; one of them does."""
    *others, last = programs
    body = last.body
    for program in reversed(others):
        body = If(_all(program.assumptions), program.body, body)
    running = [set(p.requirements) for p in programs if p.body is not EMPTY]
    requirements = dict.fromkeys(
        one
        if running and all(one in others for others in running)
        else Requirement(implied(program.assumptions, one.condition), one.message)
        for program in programs
        for one in program.requirements
    )
    return evolve(last, requirements=tuple(requirements), body=body, assumptions=())


def refused(program: LoopProgram, assumptions: tuple[Expr, ...], message: str) -> LoopProgram:
    """A program with the parameters of ``program`` that refuses all calls for which
    ``assumptions`` hold.
    """
    never = (refusal(message),)
    return evolve(program, requirements=never, body=EMPTY, assumptions=assumptions)


def refusal(message: str) -> Requirement:
    """What no call meets."""
    return Requirement(constant(False, Bool), message)


def _all(conditions: tuple[Expr, ...]) -> Expr:
    true: Expr = constant(True, Bool)
    return reduce(lambda a, b: Op(Bool, "and", (a, b)), conditions) if conditions else true
