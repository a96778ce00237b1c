"""The arrays of one run of kernels: in the memory of a GPU, or in that of the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import combinations
from typing import Any, TypeAlias

from attrs import frozen

from spaces.backend.access import AccessMode
from spaces.backend.arguments import ArgumentError, Arguments
from spaces.backend.arrays.device_array import DeviceArray
from spaces.backend.arrays.given import AnyArray, GivenArrays, on_gpu
from spaces.backend.arrays.streams import Stream
from spaces.backend.buffers import Outputs, image_arrays, kept_buffers
from spaces.backend.cuda.host import MOST_ELEMENTS
from spaces.backend.cuda.number_ends import FARTHEST
from spaces.backend.cuda.program import CudaExecutor
from spaces.backend.cuda.relayout import relayout
from spaces.model.algorithm.pipeline import Pipeline

Copy: TypeAlias = tuple[DeviceArray, DeviceArray]
"""An array, and the one that gets its values."""


@frozen(eq=False)
class GpuArrays:
    """The arrays of a run.

    Attributes:
        outputs: the outputs in the memory of the CPU.
        on_gpu: the images and outputs that stay in the memory of the GPU, as kernels use them.
        results: what a run returns, by the name of the output.
        has_elements: for each output, whether it is not empty.
    """

    outputs: Outputs
    on_gpu: Mapping[str, DeviceArray]
    results: Mapping[str, Any]
    has_elements: tuple[bool, ...]
    _runner: CudaExecutor
    _others: tuple[Stream, ...]
    """The streams of arrays, besides that of the run."""
    _before: tuple[Copy, ...]
    _after: tuple[Copy, ...]
    """Copies of arrays that kernels cannot use in place."""

    @staticmethod
    def make(
        pipeline: Pipeline,
        arguments: Arguments,
        given: GivenArrays,
        runner: CudaExecutor,
        access_mode: AccessMode,
    ) -> GpuArrays:
        """The given arrays, and new ones for the other outputs: on the GPU if a given one is.

        Raises:
            ArgumentError: two outputs share memory of the GPU.
        """
        names, kept = pipeline.output_arrays, kept_buffers(pipeline)
        images, outputs = on_gpu(given.images), _device_outputs(pipeline, arguments, given, runner)
        staged = {name: _beside(one, runner) for name, one in outputs.items() if _is_apart(one)}
        written = {**outputs, **staged}
        copies = {
            name: _beside(one, runner)
            for name, one in images.items()
            if _is_apart(one) or any(one.overlaps(other) for other in written.values())
        }
        on_host = Outputs.make(
            pipeline, arguments, given, access_mode, names.keys() - outputs.keys()
        )
        results = {**on_host.returned, **outputs, **given.handed}
        streams = {one.stream for one in (*images.values(), *outputs.values())}
        kept_before = ((outputs[name], one) for name, one in staged.items() if name in kept)
        return GpuArrays(
            on_host,
            {**images, **copies, **written},
            {name: results[name] for name in names},
            tuple(0 not in arguments.shape(name) for name in names),
            runner,
            tuple(streams - {runner.stream}),
            (*((images[name], one) for name, one in copies.items()), *kept_before),
            tuple((one, outputs[name]) for name, one in staged.items()),
        )

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """What is launched inside finds all values in ``on_gpu``, and leaves its own there. It
        waits for the streams of all arrays, and they wait for it: there the arrays are computed,
        used, and their memory is used again.
        """
        gpu, own = self._runner.memory, self._runner.stream
        if gpu is None:
            yield
            return
        for other in self._others:
            gpu.order(other, own)
        for source, target in self._before:
            relayout(self._runner, source, target)
        yield
        for source, target in self._after:
            relayout(self._runner, source, target)
        for other in self._others:
            gpu.order(own, other)

    def buffers(self, pipeline: Pipeline, arguments: Arguments) -> dict[str, AnyArray]:
        """What kernels and the CPU use, by the name of the image or output.

        Raises:
            ArgumentError: an image is empty.
        """
        written = self.outputs.written
        for image in pipeline.images:
            if image.name in self.on_gpu and not self.on_gpu[image.name].size:
                shape = self.on_gpu[image.name].shape
                raise ArgumentError(f"Image {image.name} is empty (its shape is {shape}).")
        return {**image_arrays(pipeline, arguments, written), **written, **self.on_gpu}

    def values(self, arguments: Arguments) -> dict[str, int | float]:
        """All sizes, strides in device memory, and scalars of a call.

        Raises:
            ArgumentError: an array is too large for kernels, or too far from the origin.
        """
        found: dict[str, int] = {}
        for buffer, ranges in arguments.ranges.items():
            strides = self.strides(buffer, tuple(extent for _, extent in ranges))
            reach = 0
            for d, ((low, extent), stride) in enumerate(zip(ranges, strides, strict=True)):
                found[f"{buffer}.stride.{d}"] = stride
                reach += max(abs(low), abs(low + extent)) * stride
            farthest = max(
                (abs(end) for low, extent in ranges for end in (low, low + extent, extent)),
                default=0,
            )
            if reach > MOST_ELEMENTS or farthest > FARTHEST:
                raise ArgumentError(
                    f"{buffer} is too large or too far from the origin: kernels can index "
                    f"at most {MOST_ELEMENTS} elements, and have coordinates from {-FARTHEST} to "
                    f"{FARTHEST}, at most {FARTHEST} in a dimension."
                )
        return {**arguments.sizes(), **found, **arguments.scalars}

    def strides(self, buffer: str, extents: tuple[int, ...]) -> tuple[int, ...]:
        """The elements from one element to the next as kernels see it, innermost dimension first:
        arrays of the CPU lie in device memory without gaps.
        """
        dense, step = [], 1
        for extent in extents:
            dense.append(step)
            step *= extent
        array = self.on_gpu.get(buffer)
        if array is None:
            return tuple(dense)
        steps = zip(reversed(array.strides), extents, dense, strict=True)
        return tuple(
            step // array.dtype.itemsize if extent > 1 else plain for step, extent, plain in steps
        )


def _is_apart(array: DeviceArray) -> bool:
    """Whether kernels, which go along the last axis without gaps and never back, cannot use it."""
    steps = [stride for stride, n in zip(array.strides, array.shape, strict=True) if n > 1]
    has_gaps = array.ndim > 0 and array.shape[-1] > 1 and array.strides[-1] != array.dtype.itemsize
    return array.size > 0 and (has_gaps or any(step < 0 for step in steps))


def _beside(array: DeviceArray, runner: CudaExecutor) -> DeviceArray:
    """A new array of the same shape and type without gaps."""
    assert runner.memory is not None  # an array on a GPU has one
    return runner.memory.empty(array.shape, array.dtype, runner.stream)


def _device_outputs(
    pipeline: Pipeline, arguments: Arguments, given: GivenArrays, runner: CudaExecutor
) -> dict[str, DeviceArray]:
    """The outputs in the memory of the GPU."""
    found = on_gpu(given.outputs)
    for (name, one), (other_name, other) in combinations(found.items(), 2):
        if one.overlaps(other):
            raise ArgumentError(
                f"The arrays to write outputs {name} and {other_name} to share memory of the GPU; "
                "give arrays that do not overlap."
            )
    gpu = runner.memory
    if gpu is None or not given.are_on_gpu:
        return found
    kept = kept_buffers(pipeline)
    for name, type in pipeline.output_arrays.items():
        if name not in given.outputs:
            make = gpu.zeros if name in kept else gpu.empty
            found[name] = make(arguments.shape(name), type.dtype, runner.stream)
    return found
