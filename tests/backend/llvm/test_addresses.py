"""Addresses: what varies in outer loops moves the pointer first, so that LLVM can take it out of
the inner ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import llvmlite.binding as llvm
from attrs import frozen

from spaces import Func, ImageParam, Int32, Pipeline, RDom, Schedule, Var, clamp, loop_nest
from spaces import pipeline as frozen_pipeline
from spaces.backend.llvm.codegen import llvm_module
from spaces.backend.lowering.cpu.passes import lower
from spaces.model.directives.directives import schedule

X, Y = Var("x"), Var("y")
LOOPS = ("output.s1.y", "output.s1.x", "output.s1.r.y", "output.s1.r.x")
"""The loops of the update from the outermost to the innermost."""


def convolution() -> Pipeline:
    image, weights = ImageParam(Int32, 2, "image"), ImageParam(Int32, 2, "weights")
    output, r = Func("output"), RDom([(0, 8), (0, 3)], "r")
    output[X, Y] += image[X + r.x, Y + r.y] * weights[r.x, r.y]
    return frozen_pipeline(output)


def emitted(algorithm: Pipeline, chosen: Schedule) -> str:
    return llvm_module(list(lower(loop_nest(algorithm, chosen)).values())[-1])


@frozen
class Steps:
    """The steps to addresses in a function; ``made`` has its instructions by name."""

    made: Mapping[str, Any]

    def loops(self, name: str) -> set[int]:
        """The loops whose variables a value varies with, by their depths from 1."""
        one = self.made.get(name)
        if one is None or one.opcode == "load":
            return set()
        if one.opcode == "phi":
            around = [loop for loop in LOOPS if name.startswith(loop)]
            return {LOOPS.index(max(around, key=len)) + 1}
        return set().union(*(self.loops(operand.name) for operand in one.operands))

    def of(self, address: str) -> Iterator[set[int]]:
        """The loops that each step to an address varies with, the last step first."""
        while (one := self.made.get(address)) and one.opcode == "getelementptr":
            pointer, index = (operand.name for operand in one.operands)
            if found := self.loops(index):
                yield found
            address = pointer


def test_the_terms_of_outer_loops_come_first() -> None:
    algorithm = convolution()
    module = llvm.parse_assembly(emitted(algorithm, schedule(algorithm).schedule))
    blocks = [block for function in module.functions for block in function.blocks]
    steps = Steps({i.name: i for block in blocks for i in block.instructions if i.name})
    (inner,) = (block for block in blocks if block.name == LOOPS[-1])
    loads = [i for i in inner.instructions if i.opcode == "load"]
    _, image, weights = ([*steps.of(next(i.operands).name)] for i in loads)
    assert image == [{4}, {1, 3}, {2}]
    assert weights == [{4}, {3}]


def test_numbers_move_the_address_of_each_lane_last() -> None:
    """So a number folds into the access of a lane, wherever the lane is."""
    table, image = ImageParam(Int32, 1, "table"), ImageParam(Int32, 2, "image")
    output = Func("output")
    place = clamp(image[X, Y], 0, 90)
    output[X, Y] = table[place] + table[place + 7]
    algorithm = frozen_pipeline(output)
    text = emitted(algorithm, schedule(algorithm).split("x", "x", "xi", 4).vectorize("xi").schedule)
    loads = re.findall(r" = (.+)\n  \S+ = load i32, ptr", text)
    moved = [re.fullmatch(r"getelementptr i32, ptr \S+, i64 7", made) is not None for made in loads]
    assert moved[:8] == [False] * 4 + [True] * 4
