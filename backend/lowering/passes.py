"""What a pass is, and what a road of passes makes of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from attrs import frozen

from backend.ir.program import LoopProgram

Transform: TypeAlias = Callable[[LoopProgram], LoopProgram]

START = "start"
"""The name of the first step, which makes a program of a loop nest."""


@frozen
class Pass:
    """A step from program to program.

    Attributes:
        name: what programs after it are called; no other pass of a road has it.
        transform: gives the program after it.
    """

    name: str
    transform: Transform

    def __call__(self, program: LoopProgram) -> LoopProgram:
        """The program after the pass."""
        return self.transform(program)


def named(name: str) -> Callable[[Transform], Pass]:
    """Make a pass of that name of the function that follows."""
    return lambda transform: Pass(name, transform)


def after_each(program: LoopProgram, passes: Iterable[Pass]) -> dict[str, LoopProgram]:
    """The program at the start and after each pass, by name."""
    stages = {START: program}
    for one in passes:
        stages[one.name] = program = one(program)
    return stages
