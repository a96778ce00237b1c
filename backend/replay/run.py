"""Replays a loop nest, or its kernels, at the sizes of a counterexample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeAlias

import numpy as np
from attrs import evolve

from spaces.backend.arguments import ArgumentError, Array, Range, holds
from spaces.backend.ir.host import GpuProgram
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import For
from spaces.backend.lowering.start import start
from spaces.backend.reference import ImageBoundsError, evaluate
from spaces.backend.replay.formulas import stored
from spaces.backend.replay.inputs import Inputs, TooLargeError, inputs_for
from spaces.backend.replay.kernels import host_steps
from spaces.backend.replay.machine import Frame, Machine, TooMuchWorkError
from spaces.backend.replay.memory import Picture, ReplayBuffer, count, same
from spaces.backend.replay.orders import Order, TaskSteps
from spaces.backend.replay.report import (
    Action,
    Coordinate,
    Fault,
    FaultKind,
    Number,
    Replay,
    WrongValue,
)
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Op, walk
from spaces.model.expressions.intrinsics import FLOAT_FUNCTIONS
from spaces.model.expressions.types import Type
from spaces.model.nest.loopnest import LoopNest

_Program: TypeAlias = Callable[[Machine, Frame], TaskSteps]

_CLOSE = 1e-5
"""The relative difference of floats that functions like ``exp`` may cause."""


class _Layout(Enum):
    """How a program addresses the caller's buffers."""

    COORDINATES = "by coordinate"
    FLAT = "by the distance from the first element"

    def ranges(self, ranges: tuple[Range, ...]) -> tuple[Range, ...]:
        """The addresses of a buffer with these ranges."""
        flat = self is _Layout.FLAT or not ranges
        return ((0, count(ranges)),) if flat else ranges


def replay_nest(nest: LoopNest, sizes: Mapping[str, int]) -> Replay:
    """Runs the loop nest of a schedule, legal or not, unchecked and value by value.

    Args:
        nest: the loop nest of the schedule.
        sizes: sizes and parameters by name, as a counterexample lists them. Sizes left out are
            chosen small.
    """
    program = start(nest)
    concurrent = any(isinstance(s, For) and s.kind.uses_threads for s in walk_nodes(program.body))
    orders = tuple(Order) if concurrent else (Order.ASCENDING,)
    return _replayed(
        nest, sizes, orders, _Layout.COORDINATES, lambda m, frame: m.run(program.body, frame)
    )


def replay_kernels(nest: LoopNest, program: GpuProgram, sizes: Mapping[str, int]) -> Replay:
    """Runs a GPU program with its barriers, unchecked and value by value.

    Args:
        nest: the loop nest of the program.
        program: the kernels and the host program.
        sizes: as for :func:`replay_nest`.
    """
    return _replayed(
        nest, sizes, tuple(Order), _Layout.FLAT, lambda m, frame: host_steps(m, program.body, frame)
    )


def _replayed(
    nest: LoopNest,
    sizes: Mapping[str, int],
    orders: tuple[Order, ...],
    layout: _Layout,
    program: _Program,
) -> Replay:
    pipeline = nest.pipeline
    opaque = [function.name for function in pipeline.functions if function.is_opaque]
    if opaque:
        reason = f"It was not run: foreign code computes {', '.join(opaque)}."
        return Replay(dict(sizes), (), (), (), reason)
    try:
        inputs = inputs_for(nest, sizes)
        if not all(holds(condition, inputs.constants) for condition in nest.assumptions):
            elsewhere = "It was not run: the sizes chosen for it are those of another case."
            return Replay(dict(sizes), (), (), (), elsewhere)
        buffers = (*pipeline.outputs, *(image.name for image in pipeline.images))
        sizes_given = {name: inputs.ranges[name] for name in buffers}
        expected = evaluate(pipeline, inputs.images, inputs.scalars, sizes_given)
    except (TooLargeError, ImageBoundsError) as error:
        return Replay(dict(sizes), (), (), (), f"It was not run: {error}")
    faults: dict[tuple[FaultKind, Action, str], Fault] = {}
    wrong: dict[str, WrongValue] = {}
    done: list[str] = []
    limit = ""
    for order in orders:
        label = str(order) if len(orders) > 1 else ""
        machine = Machine(inputs.constants, order)
        memory = _memory(pipeline, inputs, layout)
        try:
            _run(program(machine, Frame({}, memory)))
        except TooMuchWorkError:
            limit = "The run was stopped early: the sizes ask for too much work."
        else:
            done.append(label)
            for name, type in pipeline.output_arrays.items():
                for at, value, finding in memory[name].made_of_unset:
                    machine.report("read", name, at, finding, Frame({}, memory), value)
                values = _written(memory[name], inputs.ranges[name], layout)
                close = _CLOSE if _uses_functions(pipeline) else 0.0
                found = _compared(name, type, inputs.ranges[name], values, expected[name], close)
                if found is not None:
                    wrong.setdefault(name, evolve(found, order=label))
        for fault in machine.faults:
            key = (fault.kind, fault.access, fault.buffer)
            faults.setdefault(key, evolve(fault, order=label))
    repeated = tuple(_with_expected(pipeline, inputs, fault) for fault in faults.values())
    return Replay(inputs.sizes, tuple(done), repeated, tuple(wrong.values()), limit)


def _run(steps: TaskSteps) -> None:
    with np.errstate(all="ignore"):
        for _ in steps:
            pass


def _memory(
    pipeline: Pipeline, inputs: Inputs, layout: _Layout
) -> dict[str, Picture | ReplayBuffer]:
    """The images and outputs before the program runs."""
    made: dict[str, Picture | ReplayBuffer] = {}
    for image in pipeline.images:
        ranges = layout.ranges(inputs.ranges[image.name])
        array = inputs.images[image.name].reshape([extent for _, extent in reversed(ranges)])
        made[image.name] = Picture(image.name, image.type, ranges, array)
    for name, type in pipeline.output_arrays.items():
        ranges = layout.ranges(inputs.ranges[name])
        made[name] = ReplayBuffer(name, type, ranges, (None,) * len(ranges))
    return made


def _written(
    memory: Picture | ReplayBuffer, ranges: tuple[Range, ...], layout: _Layout
) -> dict[Coordinate, Number]:
    """The values of an output by coordinate."""
    cells = memory.cells.items() if isinstance(memory, ReplayBuffer) else ()
    if layout is _Layout.COORDINATES:
        return {at[: len(ranges)]: cell.value for at, cell in cells}
    values = {}
    for (index,), cell in cells:
        at = []
        for low, extent in ranges:
            at.append(low + index % extent)
            index //= extent
        values[tuple(at)] = cell.value
    return values


def _compared(
    name: str,
    type: Type,
    ranges: tuple[Range, ...],
    values: Mapping[Coordinate, Number],
    expected: Array,
    close: float,
) -> WrongValue | None:
    """The first difference of an output from the reference by more than the relative error
    ``close``. None if all values agree.
    """
    wrong: list[tuple[Coordinate, Number | None, Number]] = []
    for index in np.ndindex(expected.shape):
        at = tuple(low + i for (low, _), i in zip(ranges, reversed(index), strict=True))
        found, right = values.get(at), stored(type, expected[index])
        if found is None or not (same(found, right) or abs(found - right) <= close * abs(right)):
            wrong.append((at, found, right))
    if not wrong:
        return None
    at, found, right = wrong[0]
    return WrongValue(name, at, found, right, len(wrong), expected.size, "")


def _uses_functions(pipeline: Pipeline) -> bool:
    """Whether a pipeline computes functions like ``exp``, whose last bits may differ."""
    stages = (stage for function in pipeline.functions for stage in function.stages)
    values = (value for stage in stages for value in stage.values)
    return any(isinstance(node, Op) and node.name in FLOAT_FUNCTIONS for node in walk(*values))


def _with_expected(pipeline: Pipeline, inputs: Inputs, fault: Fault) -> Fault:
    """The fault, with the value of the reference added if it reads a pure Func."""
    function = next((f for f in pipeline.functions if fault.buffer in f.buffers), None)
    known = function is not None and function.is_pure and fault.access == "read"
    if function is None or not known or len(fault.coordinate) != len(function.args):
        return fault
    alone = evolve(pipeline, outputs=(function.name,), estimates=())
    place = {function.name: [(x, 1) for x in fault.coordinate]}
    images = {image.name: inputs.ranges[image.name] for image in pipeline.images}
    try:
        value = evaluate(alone, inputs.images, inputs.scalars, {**images, **place})
    except ArgumentError:
        return fault
    type = function.types[function.buffers.index(fault.buffer)]
    return evolve(fault, expected=stored(type, value[fault.buffer].reshape(-1)[0]))
