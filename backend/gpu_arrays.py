"""The arrays of one run of kernels: in the memory of a GPU, or in that of the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import combinations
from typing import Any

from attrs import field, frozen

from backend.access import AccessMode
from backend.arguments import ArgumentError, Arguments
from backend.arrays.device_array import DeviceArray
from backend.arrays.given import AnyArray, GivenArrays, on_gpu
from backend.arrays.streams import Stream
from backend.buffers import Outputs, image_arrays, kept_buffers
from backend.cuda.program import CudaExecutor
from spaces.model.algorithm.pipeline import Pipeline


@frozen(eq=False)
class GpuArrays:
    """The arrays of a run.

    Attributes:
        outputs: the outputs in the memory of the CPU.
        on_gpu: the images and outputs that stay in the memory of the GPU.
        results: what a run returns, by the name of the output.
        has_elements: for each output, whether it is not empty.
    """

    outputs: Outputs
    on_gpu: Mapping[str, DeviceArray]
    results: Mapping[str, Any]
    has_elements: tuple[bool, ...]
    _runner: CudaExecutor
    _others: tuple[Stream, ...] = field(init=False)
    """The streams of arrays, besides that of the run."""

    @_others.default
    def _found_others(self) -> tuple[Stream, ...]:
        streams = {array.stream for array in self.on_gpu.values()}
        return tuple(streams - {self._runner.stream})

    @contextmanager
    def ordered(self) -> Iterator[None]:
        """What is launched inside waits for the streams of all arrays, and they wait for it: there
        the arrays are computed, used, and their memory is used again.
        """
        gpu, own = self._runner.memory, self._runner.stream
        if gpu is None or not self._others:
            yield
            return
        for other in self._others:
            gpu.order(other, own)
        yield
        for other in self._others:
            gpu.order(own, other)

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
        made = _device_outputs(pipeline, arguments, given, runner)
        names = pipeline.output_arrays
        outputs = Outputs.make(pipeline, arguments, given, access_mode, names.keys() - made.keys())
        images = {
            name: image.copied() if any(image.overlaps(o) for o in made.values()) else image
            for name, image in on_gpu(given.images).items()
        }
        for name, image in images.items():
            if not image.size:
                raise ArgumentError(f"Image {name} is empty (its shape is {image.shape}).")
        results = {**outputs.returned, **made, **given.handed}
        return GpuArrays(
            outputs,
            {**images, **made},
            {name: results[name] for name in names},
            tuple(0 not in arguments.shape(name) for name in names),
            runner,
        )

    def buffers(self, pipeline: Pipeline, arguments: Arguments) -> dict[str, AnyArray]:
        """What kernels and the CPU use, by the name of the image or output.

        Raises:
            ArgumentError: an image is empty.
        """
        written = self.outputs.written
        return {**image_arrays(pipeline, arguments, written), **written, **self.on_gpu}

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
