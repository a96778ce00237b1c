"""The host program of a GPU program for calls of the same sizes, as a plan for an executor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from spaces.backend.arguments import ArgumentError, whole_numbers
from spaces.backend.cuda.c_text import ctype
from spaces.backend.cuda.dim3 import Dim3
from spaces.backend.cuda.host_part import HostFunction
from spaces.backend.cuda.kernel import AllocStep, FreeStep, HostStep, LaunchStep, ProgramStep
from spaces.backend.cuda.plan import Plan, plan
from spaces.backend.cuda.printer import PrintedProgram
from spaces.backend.ir.host import (
    GlobalArray,
    HostBlock,
    HostIf,
    HostLoop,
    HostNode,
    HostPart,
    Launch,
)
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.sizes import elements
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.formulas.algebra import evaluate

MOST_ELEMENTS = 2**31 - 1
"""Indices are int, in kernels as in Halide."""


@frozen(eq=False)
class HostProgram:
    """What calls of the same sizes and numbers do.

    Attributes:
        planned: what an executor does.
        shared: the elements and the type of the buffers, besides those of the caller, that the CPU
            and the GPU share.
    """

    planned: Plan
    shared: Mapping[str, tuple[int, np.dtype[Any]]]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The shared buffers of one call."""
        return {name: np.empty(count, dtype) for name, (count, dtype) in self.shared.items()}


def host_program(
    body: HostNode,
    printed: PrintedProgram,
    parts: Mapping[str, HostFunction],
    values: Mapping[str, int | float],
) -> HostProgram:
    """What calls with these values do.

    Args:
        body: the host's part of the program.
        printed: its kernels.
        parts: the parts that the CPU computes, by name.
        values: all size variables, strides included, and all scalars.

    Raises:
        ArgumentError: an intermediate result is too large to index.
    """
    host = _Host(printed, parts)
    steps = tuple(host.steps(body, values, {}))
    return HostProgram(plan(printed.module, steps, {}), host.shared)


@define
class _Host:
    printed: PrintedProgram
    parts: Mapping[str, HostFunction]
    shared: dict[str, tuple[int, np.dtype[Any]]] = field(factory=dict)

    def steps(
        self, node: HostNode, values: Mapping[str, int | float], names: Mapping[str, str]
    ) -> Iterator[ProgramStep]:
        """The steps of ``node``; ``names`` maps each allocated buffer to its name in the steps."""
        match node:
            case HostBlock(body=body):
                for part in body:
                    yield from self.steps(part, values, names)
            case HostLoop(var=var, min=low, body=inside):
                first = _number(low, values)
                for place in range(first, first + _number(node.extent, values)):
                    yield from self.steps(inside, {**values, var.name: place}, names)
            case HostIf(condition=condition, body=inside):
                if _number(condition, values):
                    yield from self.steps(inside, values, names)
            case GlobalArray():
                yield from self._allocated(node, values, names)
            case Launch():
                yield self._launch(node, values, names)
            case HostPart():
                yield self._compute(self.parts[node.name], values, names)

    def _allocated(
        self, node: GlobalArray, values: Mapping[str, int | float], names: Mapping[str, str]
    ) -> Iterator[ProgramStep]:
        total = _elements(node, values)
        inside = (self.parts[n.name] for n in walk_nodes(node.body) if isinstance(n, HostPart))
        if not any(node.buffer in part.buffers for part in inside):
            yield AllocStep(node.buffer, ctype(node.type), total)
            yield from self.steps(node.body, values, names)
            yield FreeStep(node.buffer)
            return
        # The CPU's arrays belong to the call; each iteration of a loop has its own array.
        name = f"{node.buffer}@{len(self.shared)}"
        self.shared[name] = total, node.type.dtype
        yield from self.steps(node.body, values, {**names, node.buffer: name})

    def _launch(
        self, launch: Launch, values: Mapping[str, int | float], names: Mapping[str, str]
    ) -> LaunchStep:
        kernel = self.printed.kernels[launch.kernel.name]
        x, y, z = (max(_number(size, values), 0) for size in launch.kernel.grid)
        grid: Dim3 = (x, y, z)
        buffers = (names.get(buffer, buffer) for buffer in kernel.buffers)
        scalars = (_passed(scalar, kernel.numbers, values) for scalar in kernel.scalars)
        return LaunchStep(kernel.record.name, grid, (*buffers, *scalars))

    def _compute(
        self, part: HostFunction, values: Mapping[str, int | float], names: Mapping[str, str]
    ) -> HostStep:
        actual = {buffer: names.get(buffer, buffer) for buffer in part.buffers}
        known = {variable.name: values[variable.name] for variable in part.variables}

        def run(arrays: Mapping[str, NDArray[Any]]) -> None:
            part({buffer: arrays[name] for buffer, name in actual.items()}, known)

        reads = tuple(actual[buffer] for buffer in part.reads)
        return HostStep(part.name, run, reads, tuple(actual[buffer] for buffer in part.writes))


def _passed(
    scalar: Variable, numbers: Mapping[str, Expr], values: Mapping[str, int | float]
) -> int | float:
    """What a launch passes for a variable. A number beyond its type is a coordinate that no thread
    uses, or a sum that wraps in a kernel, too.
    """
    if scalar.name not in numbers:
        return values[scalar.name]
    return scalar.type.wrap(_number(numbers[scalar.name], values))


def _number(formula: Expr, values: Mapping[str, int | float]) -> int:
    """The value of a formula over sizes, loop variables and integer scalars."""
    return evaluate(formula, whole_numbers(values))


def _elements(node: GlobalArray, values: Mapping[str, int | float]) -> int:
    total = elements(node.sizes, lambda size: _number(size, values))
    if total > MOST_ELEMENTS:
        raise ArgumentError(
            f"{node.buffer} has {total} elements to store, but kernels can index "
            f"at most {MOST_ELEMENTS}; ask for a smaller output, or compute {node.buffer} inside "
            "a loop of its consumer."
        )
    return total
