"""Compiled code against the reference, on buffers with traps or canaries around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spaces.backend.compile import CompiledPipeline, compile_cpu_unchecked
from spaces.backend.reference import evaluate
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.nest.loopnest import LoopNest, loop_nest
from spaces.model.schedules.schedule import Schedule
from tests.backend.cpu_pipelines import random_image
from tests.backend.guarded import assert_untouched, guarded

Ranges = dict[str, list[tuple[int, int]]]


def picture(height: int, width: int) -> NDArray[np.uint16]:
    """A grey image, with a different pattern for each height."""
    return np.random.default_rng(height).integers(0, 9999, (height, width)).astype(np.uint16)


def buffer_sizes(
    pipeline: Pipeline, nest: LoopNest, outputs: Ranges, least: tuple[int, ...] = (1, 1, 1)
) -> Ranges:
    """The (min, extent) of each output and, for each image, the smallest range that covers all
    reads.
    """
    sizes = dict(outputs)
    values = {
        f"{name}.{part}.{d}": value
        for name, ranges in outputs.items()
        for d, limits in enumerate(ranges)
        for part, value in zip(("min", "extent"), limits, strict=True)
    }
    for image in pipeline.images:
        for d in range(image.dimensions):
            values |= {f"{image.name}.min.{d}": 0, f"{image.name}.extent.{d}": least[d]}
        box = nest.inputs[image.name]
        ends = [
            (number(i.min, values), number(i.max, values))
            for i in box
            if i.min is not None and i.max is not None
        ]
        first = [min(low, 0) for low, _ in ends]
        last = [max(low, high, least[d] - 1) for d, (low, high) in enumerate(ends)]
        sizes[image.name] = [(a, b - a + 1) for a, b in zip(first, last, strict=True)]
    return sizes


def images(pipeline: Pipeline, sizes: Ranges, seed: int, *, at_end: bool = True) -> dict[str, Any]:
    """A random array for each image, directly beside a page that traps."""
    arrays = {}
    for image in pipeline.images:
        shape = tuple(extent for _, extent in reversed(sizes[image.name]))
        values = random_image(image.type, shape, seed)
        arrays[image.name] = guarded(values, at_end=at_end, padding=seed % 3)[0]
    return arrays


def run_guarded(
    compiled: CompiledPipeline, inputs: dict[str, Any], sizes: Ranges
) -> dict[str, NDArray[Any]]:
    """Runs into outputs with canaries, and checks the canaries."""
    out, canaries = {}, []
    for function in map(compiled.pipeline.function, compiled.pipeline.outputs):
        shape = tuple(extent for _, extent in reversed(sizes[function.name]))
        for buffer, type in zip(function.buffers, function.types, strict=True):
            out[buffer], canary = guarded(np.zeros(shape, type.dtype), padding=3)
            canaries.append(canary)
    result = compiled.run(inputs, sizes=sizes, out=out)
    for canary in canaries:
        assert_untouched(canary)
    return result


def check(
    pipeline: Pipeline,
    schedule: Schedule,
    outputs: Ranges,
    seed: int = 0,
    least: tuple[int, ...] = (1, 1, 1),
    threads: int = 2,
    at_end: bool = True,
) -> CompiledPipeline:
    """Compiles, runs, and compares every output with the reference bit for bit.

    Raises:
        SizeError: the schedule does not work for these sizes.
    """
    compiled = compile_cpu_unchecked(pipeline, schedule, threads=threads)
    check_values(compiled, outputs, seed, least, at_end)
    return compiled


def check_values(
    compiled: CompiledPipeline,
    outputs: Ranges,
    seed: int = 0,
    least: tuple[int, ...] = (1, 1, 1),
    at_end: bool = True,
) -> None:
    """Runs compiled code, and compares as :func:`check` does."""
    pipeline = compiled.pipeline
    sizes = buffer_sizes(pipeline, loop_nest(pipeline, compiled.schedule), outputs, least)
    inputs = images(pipeline, sizes, seed, at_end=at_end)
    found = run_guarded(compiled, inputs, sizes)
    wanted = evaluate(pipeline, inputs, sizes=sizes)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
