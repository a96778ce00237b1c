"""The arrays that a call gives: NumPy's, and those of other libraries, which are not copied."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from spaces.backend.argument_error import ArgumentError
from spaces.backend.arrays.device_array import DeviceArray
from spaces.backend.arrays.dlpack import ON_GPU, ON_HOST, received
from spaces.model.algorithm.pipeline import Image, Pipeline
from spaces.model.amounts import amount
from spaces.model.articles import shown_kind
from spaces.model.expressions.types import Type

Array: TypeAlias = NDArray[Any]
AnyArray: TypeAlias = Array | DeviceArray

ArrayReader: TypeAlias = Callable[[object], AnyArray]
"""Gives an array for what a caller gives.

Raises:
    UnreadableArray: a pipeline that runs where this one does cannot read it.
"""


class UnreadableArray(Exception):
    """Something is no array that a call can use. The message is the end of a sentence about it.

    Attributes:
        array: its type and shape, if they are known.
    """

    def __init__(self, message: str, array: AnyArray | None = None) -> None:
        super().__init__(message)
        self.array = array


@frozen
class GivenArrays:
    """The arrays of a call, of the right types and dimensions.

    Attributes:
        images: an array for each image.
        outputs: arrays to write outputs to.
        handed: what the caller gave for each of ``outputs``, which the call returns.
    """

    images: Mapping[str, AnyArray]
    outputs: Mapping[str, AnyArray]
    handed: Mapping[str, Any]

    @property
    def are_on_gpu(self) -> bool:
        """Whether one of them is in the memory of a GPU."""
        return bool(on_gpu(self.images) or on_gpu(self.outputs))


def on_host(arrays: Mapping[str, AnyArray]) -> dict[str, Array]:
    """Those in the memory of the CPU."""
    return {name: one for name, one in arrays.items() if isinstance(one, np.ndarray)}


def on_gpu(arrays: Mapping[str, AnyArray]) -> dict[str, DeviceArray]:
    """Those in the memory of a GPU."""
    return {name: one for name, one in arrays.items() if isinstance(one, DeviceArray)}


def host_array(given: object) -> Array:
    """The NumPy array of what a caller gives to a pipeline that runs on the CPU."""
    if isinstance(given, np.ndarray):
        return given
    if lies_on_gpu(given):
        raise UnreadableArray(
            f"is given {shown_kind(given)} on a GPU, but the pipeline runs on the CPU; copy it to "
            f"the CPU, for example with {_way_to_host(given)}."
        )
    if hasattr(given, "__dlpack__") and not hasattr(given, "__array_interface__"):
        return _from_dlpack(given)
    return np.asarray(given)


def array_beside_kernels(runner: str, given: object) -> Array:
    """The NumPy array of what a caller gives where ``runner`` runs kernels on the CPU."""
    if lies_on_gpu(given):
        raise UnreadableArray(
            f"is given {shown_kind(given)} on a GPU, but {runner} runs the kernels on the CPU; run "
            "them on that GPU with executor=GpuExecutor(), or copy the array to the CPU, for "
            f"example with {_way_to_host(given)}."
        )
    return host_array(given)


def lies_on_gpu(given: object) -> bool:
    """Whether an object says that its elements are in the memory of a GPU."""
    if hasattr(given, "__cuda_array_interface__"):
        return True
    if not hasattr(given, "__dlpack_device__"):
        return False
    kind = given.__dlpack_device__()[0]
    return kind in ON_GPU and kind not in ON_HOST


def _way_to_host(given: object) -> str:
    """How arrays of CuPy and pycuda, PyTorch, and ours are copied to the CPU."""
    ways = (".get()", ".cpu()", ".to_numpy()")
    return next((way for way in ways if hasattr(given, way[1:-2])), "numpy.from_dlpack")


def _from_dlpack(given: object) -> Array:
    try:
        found = received(given)
    except (TypeError, BufferError, RuntimeError, ValueError) as error:
        raise UnreadableArray(
            f"is given {shown_kind(given)}, which hands out no array: {error}."
        ) from error
    if found.device_kind not in ON_HOST:
        raise UnreadableArray(
            f"is given {shown_kind(given)} in memory that the CPU can't read (kind "
            f"{found.device_kind} of DLPack); copy it to the CPU."
        )
    ends = [stride * (n - 1) for stride, n in zip(found.strides, found.shape, strict=True)]
    if 0 in found.shape:
        return np.empty(found.shape, found.dtype)
    low, high = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
    memory = (ctypes.c_uint8 * (high - low + found.dtype.itemsize)).from_address(
        found.address + low
    )
    memory.__dict__["owner"] = found.owner  # as long as an array refers to the memory
    held = np.frombuffer(memoryview(memory), np.uint8)
    array: Array = np.ndarray(found.shape, found.dtype, held, -low, found.strides)
    array.flags.writeable = not found.is_read_only
    return array


def given_arrays(
    pipeline: Pipeline,
    inputs: Mapping[str, Any],
    out: Mapping[str, Any] | None,
    read: ArrayReader = host_array,
) -> GivenArrays:
    """Checks the arrays of a call, apart from their sizes.

    Raises:
        ArgumentError: something is missing, unknown, no array, of the wrong type or number of
            dimensions, or an output cannot be written. The message names all that is wrong.
    """
    out = {} if out is None else out
    names, outputs = [i.name for i in pipeline.images], pipeline.output_arrays
    check_named("Images", inputs, names)
    check_named("Output arrays", out, pipeline.outputs)
    faults = _Faults()
    images, written = dict[str, AnyArray](), dict[str, AnyArray]()
    with faults.noted():
        reject_unknown("image", inputs, names, pipeline)
    for image in pipeline.images:
        with faults.noted():
            images[image.name] = _image(image, inputs, pipeline, read)
    with faults.noted():
        reject_unknown("output", out, tuple(outputs), pipeline)
    for name in (name for name in outputs if name in out):
        with faults.noted():
            written[name] = _output(name, out[name], outputs[name], read)
    faults.refuse()
    return GivenArrays(images, written, {name: out[name] for name in written})


@define
class _Faults:
    """All that is wrong, sentence by sentence."""

    sentences: list[str] = field(factory=list)

    @contextmanager
    def noted(self) -> Any:
        """Notes what is refused inside."""
        try:
            yield
        except ArgumentError as error:
            self.sentences.append(str(error))

    def refuse(self) -> None:
        """Raises what was noted, if anything was."""
        if self.sentences:
            raise ArgumentError("\n".join(self.sentences))


def check_named(kind: str, given: object, names: Sequence[str]) -> None:
    """Checks that arguments of a ``kind`` are given by name.

    Raises:
        ArgumentError: they are not a mapping, or a key is not text.
    """
    if not isinstance(given, Mapping) or any(not isinstance(key, str) for key in given):
        named = ", ".join(f"{name!r}: ..." for name in names)
        call = f"run({{{named}}})" if kind == "Images" else f"{{{named}}}"
        raise ArgumentError(f"{kind} are given by name, as in {call}.")


def reject_unknown(
    kind: str, given: Mapping[str, Any], known: Sequence[str], pipeline: Pipeline
) -> None:
    """Refuses names that the pipeline does not have."""
    for name in given:
        if name not in known:
            raise ArgumentError(
                f"Pipeline {pipeline.name} has no {kind} {name!r}; "
                f"it has {', '.join(known) or 'none'}."
            )


def _read(read: ArrayReader, given: object, what: str) -> tuple[AnyArray, list[str]]:
    """The array, and the sentences about its place."""
    try:
        return read(given), []
    except UnreadableArray as error:
        sentence = f"{what} {error}"
        if error.array is None:
            raise ArgumentError(sentence) from error
        return error.array, [sentence]


def _image(
    image: Image, inputs: Mapping[str, Any], pipeline: Pipeline, read: ArrayReader
) -> AnyArray:
    if image.name not in inputs:
        raise ArgumentError(
            f"Image {image.name} of pipeline {pipeline.name} is missing; pass an array of "
            f"{image.type} with {amount(image.dimensions, 'dimension')}."
        )
    given = inputs[image.name]
    array, wrong = _read(read, given, f"Image {image.name}")
    if array.dtype != image.type.dtype:
        wanted = str(image.type.dtype)
        if not hasattr(given, "astype") and isinstance(array, np.ndarray):
            raise ArgumentError(
                f"Image {image.name} is given {shown_kind(given)}, which is not an array of "
                f"{image.type}; make one, for example with numpy.array(..., dtype={wanted!r})."
            )
        wrong.append(
            f"Image {image.name} holds {image.type}, but the array given holds {array.dtype}; "
            f"convert it, for example with .astype({wanted!r})."
        )
    if array.ndim != image.dimensions:
        wrong.append(
            f"Image {image.name} has {amount(image.dimensions, 'dimension')}, but the array given "
            f"has {array.ndim} (its shape is {array.shape})."
        )
    if wrong:
        raise ArgumentError("\n".join(wrong))
    return array


def _output(name: str, given: object, type: Type, read: ArrayReader) -> AnyArray:
    if not (isinstance(given, np.ndarray) or hasattr(given, "__dlpack__") or lies_on_gpu(given)):
        raise ArgumentError(
            f"out= gives output {name} {shown_kind(given)}, which is not an array; "
            "make one with numpy.empty."
        )
    array, wrong = _read(read, given, f"The array to write output {name} to")
    if array.dtype != type.dtype:
        wrong.append(
            f"Output {name} is {type}, but the array to write it to holds {array.dtype}; "
            f"make one of dtype {str(type.dtype)!r}."
        )
    is_read_only = (
        not array.flags.writeable if isinstance(array, np.ndarray) else array.is_read_only
    )
    if is_read_only:
        wrong.append(
            f"The array to write output {name} to is read-only; give one that can be written."
        )
    steps = zip(array.strides, array.shape, strict=True)
    if array.size and any(stride == 0 and n > 1 for stride, n in steps):
        wrong.append(
            f"The array to write output {name} to holds several elements in one place (its "
            f"strides are {array.strides} bytes); give one with a place for each."
        )
    if wrong:
        raise ArgumentError("\n".join(wrong))
    return array
