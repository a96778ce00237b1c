"""Compiling and running GPU schedules in tests, against the reference that knows no schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spaces.backend.compile_gpu import compile_gpu_unchecked
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.program import CudaExecutor
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.reference import evaluate
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.directives import Directives
from spaces.model.schedules.schedule import Schedule

ORDERS: tuple[CudaExecutor, ...] = (
    Emulator("forward"),
    Emulator("reverse"),
    Emulator("shuffled", seed=7),
)
"""All orders in which the emulator runs threads."""


def image(pipeline: Pipeline, name: str, *extents: int) -> NDArray[Any]:
    """An image with the given extents, innermost first; floats lie in [0, 1]."""
    generator = np.random.default_rng(len(name) + sum(extents))
    type = next(i.type for i in pipeline.images if i.name == name)
    shape = tuple(reversed(extents))
    if type.is_float:
        return generator.random(shape).astype(type.dtype)
    return generator.integers(type.min_value, type.max_value, shape, type.dtype, endpoint=True)


def check(
    pipeline: Pipeline,
    schedule: Schedule | Directives,
    inputs: Mapping[str, NDArray[Any]],
    sizes: Mapping[str, Sequence[int | tuple[int, int]]],
    params: Mapping[str, int] | None = None,
    executors: Sequence[CudaExecutor] = ORDERS,
) -> GpuPipeline:
    """Compiles and runs on each executor; every bit must equal the reference."""
    plain = schedule if isinstance(schedule, Schedule) else schedule.schedule
    compiled = compile_gpu_unchecked(pipeline, plain)
    check_values(compiled, inputs, sizes, params, executors)
    return compiled


def check_values(
    compiled: GpuPipeline,
    inputs: Mapping[str, NDArray[Any]],
    sizes: Mapping[str, Sequence[int | tuple[int, int]]],
    params: Mapping[str, int] | None = None,
    executors: Sequence[CudaExecutor] = ORDERS,
) -> None:
    """Runs a compiled pipeline, and compares as :func:`check` does."""
    expected = evaluate(compiled.pipeline, inputs, params, sizes)
    for executor in executors:
        outputs = compiled.run(inputs, params, sizes, executor=executor)
        for name, values in expected.items():
            np.testing.assert_array_equal(outputs[name], values, err_msg=f"{name} on {executor}")
