"""Programs written in Halide's Python, and what is needed to run one of them on both sides.

A program is a function that takes a source of random numbers and whether to give a schedule. It
builds new objects of Halide each time, so their names get numbers on the second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import halide as hl
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from spaces import HalideProgram, evaluate
from spaces.backend.arguments import Sizes, bind
from spaces.backend.buffers import empty_with_steps

Array = NDArray[Any]

STRICT = "host-strict_float"


@frozen
class Case:
    """A program of Halide with one set of arguments.

    Attributes:
        outputs: the Funcs.
        sizes: for each output the (min, extent) of each dimension.
        images: for each ImageParam its values, the innermost dimension last.
        params: for each Param its value.
        ulps: how far floats may be off.
        requirements: conditions of the whole pipeline, with messages.
        lost: the parts of the record that a file lacks.
        mins: the first coordinates of images, by name; 0 for those left out.
    """

    outputs: Sequence[Any]
    sizes: Sequence[Sequence[tuple[int, int]]]
    images: Sequence[tuple[Any, Array]] = ()
    params: Sequence[tuple[Any, Any]] = ()
    ulps: int = 0
    requirements: Sequence[tuple[Any, str]] = ()
    lost: Sequence[str] = ()
    mins: Mapping[str, Sequence[int]] = field(factory=dict)

    def pipeline(self) -> Any:
        """Halide's pipeline."""
        made = hl.Pipeline(list(self.outputs))
        for condition, message in self.requirements:
            made.add_requirement(condition, message)
        return made

    def arguments(self, program: HalideProgram) -> tuple[dict[str, Any], dict[str, Any], Sizes]:
        """The images, Params and sizes of outputs for a program that has come in."""
        ours = {theirs: name for name, theirs in program.names.items()}
        images: dict[str, Any] = dict(program.arrays)
        outputs = zip(program.pipeline.outputs, self.sizes, strict=True)
        sizes: dict[str, Any] = {name: tuple(ranges) for name, ranges in outputs}
        for image, values in self.images:
            name = ours.get(image.name(), image.name())
            images[name] = values
            if image.name() in self.mins:
                extents = values.shape[::-1]
                sizes[name] = tuple(zip(self.mins[image.name()], extents, strict=True))
        known = {scalar.name for scalar in program.pipeline.scalars}
        named = ((ours.get(p.name(), p.name()), value) for p, value in self.params)
        return images, {name: value for name, value in named if name in known}, sizes

    def estimates(self, program: HalideProgram) -> dict[str, Any]:
        """The arguments as usual sizes of images and outputs, and usual values of Params."""
        images, params, sizes = self.arguments(program)
        given = {name: array.shape[::-1] for name, array in images.items()}
        ranges = {name: [(0, extent) for extent in extents] for name, extents in given.items()}
        told = {name: ends for name, ends in {**ranges, **sizes}.items() if ends}
        return {name: ends for name, ends in told.items() if name not in program.arrays} | params

    def in_halide(self, program: HalideProgram) -> dict[str, Array]:
        """The outputs as Halide computes them, under the schedule that its Funcs have."""
        images, params, sizes = self.arguments(program)
        pipeline = program.pipeline
        bound = bind(pipeline, images, params, sizes)
        held = []
        for image, _ in self.images:
            name = {v: k for k, v in program.names.items()}.get(image.name(), image.name())
            if name in bound.images:
                given = bound.images[name]
                steps = pipeline.steps(name, given.ndim)
                held.append(empty_with_steps(given.shape, pipeline.image(name).type, steps))
                held[-1][...] = given
                image.set(_buffer(held[-1], bound.ranges[name]))
        for param, value in self.params:
            param.set(value)
        functions = map(pipeline.function, pipeline.outputs)
        made = {
            buffer: empty_with_steps(
                bound.shape(buffer), type, pipeline.steps(buffer, len(function.args))
            )
            for function in functions
            for buffer, type in zip(function.buffers, function.types, strict=True)
        }
        buffers = [_buffer(array, bound.ranges[name]) for name, array in made.items()]
        self.pipeline().realize(buffers, hl.Target(STRICT))
        return made

    def reference(self, program: HalideProgram) -> dict[str, Array]:
        """The outputs of the reference, which knows no schedule."""
        images, params, sizes = self.arguments(program)
        return evaluate(program.pipeline, images, params, sizes)


def _buffer(array: Array, ranges: Sequence[tuple[int, int]]) -> Any:
    if array.dtype == np.uint64:
        array = array.view(np.ulonglong)
    buffer = hl.Buffer(array)
    buffer.set_min([low for low, _ in ranges])
    return buffer


Program = Callable[[np.random.Generator, bool], Case]

PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Adds a function to the programs."""
    PROGRAMS[function.__name__] = function
    return function


_NO_OVERFLOW = {"int32": 1 << 12, "int64": 1 << 54}
"""By their types, magnitudes for which no program overflows: Halide may then compute anything."""


def pixels(rng: np.random.Generator, dtype: str, *extents: int) -> Array:
    """Random numbers of all sizes that Halide computes with; the innermost extent comes first."""
    shape = extents[::-1]
    if np.dtype(dtype).kind == "f":
        return rng.uniform(-4, 4, shape).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    most = _NO_OVERFLOW.get(dtype, info.max)
    return rng.integers(max(info.min, -most), most, shape, dtype=dtype, endpoint=True)
