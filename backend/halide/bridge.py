"""Builds a pipeline and a schedule in Halide's own Python package, and runs them there.

>>> peer = build(pipeline, schedule)
>>> peer.realize({"input": image})["output"]

Arrays follow :mod:`backend.arguments`: dimension 0 is the last axis.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from backend.arguments import Arguments, Array, Scalars, Sizes, bind
from backend.buffers import empty_with_steps
from backend.halide.calls import halide_calls
from backend.halide.definition import PeerAlgorithm
from backend.halide.directives import PeerDirectives
from backend.halide.errors import LoweringError, RealizationError
from backend.halide.names import identifier
from backend.halide.peer import failing_as, hl
from backend.halide.scalars import set_scalar
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule

HOST = "host"
STRICT = "host-strict_float"
"""The host, with floating-point arithmetic as written: Halide reassociates and contracts
nothing.
"""

CUDA = "x86-64-linux-cuda-cuda_capability_80"
"""A target for reading the programs to which Halide lowers GPU schedules; they need not run."""


def compile_runtime(file: Path, target: str) -> None:
    """Writes an object file with what functions compiled for a target call."""
    hl.compile_standalone_runtime(str(file), hl.Target(target))


def build(pipeline: Pipeline, schedule: Schedule | None = None) -> HalidePipeline:
    """The same pipeline in Halide, with the directives of ``schedule`` (the default if None).

    Raises:
        DirectiveError: Halide refuses a definition or a directive.
        ValueError: ``schedule`` is not a schedule of this pipeline.
    """
    algorithm = PeerAlgorithm(pipeline)
    directives = PeerDirectives(algorithm)
    for stage_calls in halide_calls(pipeline, schedule or Schedule.default(pipeline)):
        directives.apply(stage_calls)
    return HalidePipeline(algorithm)


@define
class HalidePipeline:
    """A pipeline with its schedule; Halide compiles and runs it."""

    algorithm: PeerAlgorithm
    _built: Any = field(init=False)
    _held: dict[str, Array] = field(init=False, factory=dict)
    """The images that it reads; Halide keeps only their addresses."""

    def __attrs_post_init__(self) -> None:
        outputs = self.pipeline.outputs
        self._built = hl.Pipeline([self.algorithm.funcs[name] for name in outputs])

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that Halide computes."""
        return self.algorithm.pipeline

    def realize(
        self,
        inputs: Mapping[str, Array],
        params: Scalars | None = None,
        sizes: Sizes | None = None,
        target: str = HOST,
    ) -> dict[str, Array]:
        """Compiles and runs. Arguments and result are those of :func:`backend.reference.evaluate`.

        Raises:
            ArgumentError: the arguments do not fit the pipeline.
            LoweringError: Halide refuses the schedule.
            RealizationError: Halide refuses the arguments, for instance an image too small.
        """
        return self.prepare(inputs, params, sizes, target)()

    def prepare(
        self,
        inputs: Mapping[str, Array],
        params: Scalars | None = None,
        sizes: Sizes | None = None,
        target: str = HOST,
    ) -> Callable[[], dict[str, Array]]:
        """Compiles for the arguments of :meth:`realize`. Returns a function; each call of it runs
        the pipeline again, into the same arrays.

        Raises:
            ArgumentError: the arguments do not fit the pipeline.
            LoweringError: Halide refuses the schedule.
        """
        arguments = bind(self.pipeline, inputs, params, sizes)
        chosen = self.compile(target)
        outputs, self._held = self._arrays(arguments)
        for name, array in self._held.items():
            self.algorithm.images[name].set(_buffer(array, arguments.ranges[name]))
        for scalar in self.pipeline.scalars:
            value = arguments.scalars[scalar.name]
            set_scalar(self.algorithm.scalars[scalar.name], scalar.type, value)
        buffers = [_buffer(array, arguments.ranges[name]) for name, array in outputs.items()]

        def run() -> dict[str, Array]:
            with failing_as(RealizationError, f"Halide fails to run {self.pipeline.name}"):
                self._built.realize(buffers, chosen)
            return outputs

        return run

    def _arrays(self, arguments: Arguments) -> tuple[dict[str, Array], dict[str, Array]]:
        """New arrays for the outputs, and the images, with the strides that the pipeline says."""
        functions = [self.pipeline.function(name) for name in self.pipeline.outputs]
        outputs = {
            buffer: empty_with_steps(
                arguments.shape(buffer), type, self.pipeline.steps(buffer, len(function.args))
            )
            for function in functions
            for buffer, type in zip(function.buffers, function.types, strict=True)
        }
        images = {}
        for image in self.pipeline.images:
            given = arguments.images[image.name]
            steps = self.pipeline.steps(image.name, image.dimensions)
            images[image.name] = empty_with_steps(given.shape, image.type, steps)
            images[image.name][...] = given
        return outputs, images

    def compile(self, target: str = HOST) -> Any:
        """Lowers and generates machine code, once for each target, and returns Halide's target.

        Raises:
            LoweringError: Halide refuses the schedule.
        """
        chosen = hl.Target(target)
        with failing_as(LoweringError, f"Halide refuses the schedule of {self.pipeline.name}"):
            self._built.compile_jit(chosen)
        return chosen

    def compile_ahead(self, file: Path, function: str, target: str) -> tuple[str, ...]:
        """Writes an object file with a C function for a target, which this machine need not be.

        Returns the names of its arguments in order: images, scalars and outputs.

        Raises:
            LoweringError: Halide refuses the schedule.
        """
        images = (image.name for image in self.pipeline.images)
        scalars = (scalar.name for scalar in self.pipeline.scalars)
        names = {identifier(name): name for name in (*images, *scalars)}
        with failing_as(LoweringError, f"Halide refuses the schedule of {self.pipeline.name}"):
            arguments: list[Any] = self._built.infer_arguments()
            made = {hl.OutputFileType.object: str(file)}
            self._built.compile_to(made, arguments, function, hl.Target(target))
        outputs = (self.pipeline.function(name).buffers for name in self.pipeline.outputs)
        results = (buffer for buffers in outputs for buffer in buffers)
        return (*(names[str(argument.name)] for argument in arguments), *results)

    def autoschedule(self, target: Any, parameters: Any) -> str:
        """Gives its Funcs the schedule that one of Halide's autoschedulers finds; and that schedule
        as the autoscheduler writes it, C++ in its own manner.
        """
        return str(self._built.apply_autoscheduler(target, parameters).schedule_source)

    def loop_nest(self) -> str:
        """The output of Halide's ``print_loop_nest``.

        It writes to the standard error of the process, which this method redirects meanwhile.

        Raises:
            LoweringError: Halide refuses the schedule.
        """
        with tempfile.TemporaryFile() as file:
            with (
                failing_as(LoweringError, f"Halide refuses the schedule of {self.pipeline.name}"),
                _standard_error_to(file.fileno()),
            ):
                self._built.print_loop_nest()
            file.seek(0)
            return file.read().decode()

    def lowered(self, target: str = HOST) -> str:
        """Halide's lowered statement for a target, also for a GPU that this machine does not have.

        Raises:
            LoweringError: Halide refuses the schedule.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lowered.stmt"
            with failing_as(LoweringError, f"Halide refuses the schedule of {self.pipeline.name}"):
                arguments = self._built.infer_arguments()
                text = hl.StmtOutputFormat.Text
                self._built.compile_to_lowered_stmt(str(path), arguments, text, hl.Target(target))
            return path.read_text()


def _buffer(array: Array, ranges: tuple[tuple[int, int], ...]) -> Any:
    """Halide's view of an array whose coordinates begin at the mins of ``ranges``."""
    if array.dtype == np.uint64:
        array = array.view(np.ulonglong)  # of two equal types, Halide knows the code of this one
    buffer = hl.Buffer(array)
    buffer.set_min([low for low, _ in ranges])
    return buffer


@contextmanager
def _standard_error_to(descriptor: int) -> Iterator[None]:
    saved = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
