"""A pass from program to program, and the program after each of several passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from attrs import frozen

from spaces.backend.ir.program import LoopProgram

Transform: TypeAlias = Callable[[LoopProgram], LoopProgram]

START = "start"
"""The name of the first step, which turns a loop nest into a program."""


@frozen
class Pass:
    """A step from program to program.

    Attributes:
        name: the name of the pass and of the program after it, unique among the passes for one
        target.
        transform: gives the program after it.
    """

    name: str
    transform: Transform

    def __call__(self, program: LoopProgram) -> LoopProgram:
        """The program after the pass."""
        return self.transform(program)


def named(name: str) -> Callable[[Transform], Pass]:
    """Decorates a function as a pass of that name."""
    return lambda transform: Pass(name, transform)


def after_each(program: LoopProgram, passes: Iterable[Pass]) -> dict[str, LoopProgram]:
    """The program at the start and after each pass, by name."""
    stages = {START: program}
    for one in passes:
        stages[one.name] = program = one(program)
    return stages
