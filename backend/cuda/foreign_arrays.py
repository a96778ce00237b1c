"""Arrays that other libraries keep in the memory of a GPU, for kernels to use in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from spaces.backend.arrays.device_array import DeviceArray
from spaces.backend.arrays.dlpack import ON_GPU, dense_strides, received
from spaces.backend.arrays.given import (
    AnyArray,
    ArrayReader,
    UnreadableArray,
    host_array,
    lies_on_gpu,
)
from spaces.backend.arrays.streams import Stream, stream_of
from spaces.backend.cuda.drivers.driver import DriverError
from spaces.backend.cuda.gpu import Gpu
from spaces.model.articles import shown_kind


def gpu_reader(gpu: Gpu, stream: Stream) -> ArrayReader:
    """Reads arrays for kernels of a stream: those on the GPU stay where they are."""

    def read(given: object) -> AnyArray:
        if not lies_on_gpu(given):
            return host_array(given)
        if isinstance(given, DeviceArray):
            array, number = given, given.gpu.number
        else:
            array, number = _foreign(given, gpu, stream)
        faults = list(_faults(array, number, gpu, shown_kind(given)))
        if faults:
            raise UnreadableArray("; it ".join(faults) + ".", array)
        return array

    return read


def _faults(array: DeviceArray, number: int, gpu: Gpu, kind: str) -> Iterator[str]:
    """Why kernels can't use an array in place."""
    if number != gpu.number:
        yield (
            f"is given {kind} on GPU {number}, but the kernels run on GPU {gpu.number}; pass an "
            f"array on that GPU, or executor=GpuExecutor({number})"
        )
    itemsize = array.dtype.itemsize
    steps = (stride for stride, n in zip(array.strides, array.shape, strict=True) if n > 1)
    if array.size and (array.address % itemsize or any(step % itemsize for step in steps)):
        yield (
            f"is given {kind} at address {array.address:#x} with strides of {list(array.strides)} "
            f"bytes, but the elements take {itemsize} bytes and lie at multiples of that; pass a "
            "copy"
        )


def _foreign(given: Any, gpu: Gpu, stream: Stream) -> tuple[DeviceArray, int]:
    """The array of another library, and the number of its GPU. DLPack orders streams where the
    other interface says nothing of them.
    """
    interface = getattr(given, "__cuda_array_interface__", None)
    says_stream = interface is not None and "stream" in interface
    try:
        if says_stream or not hasattr(given, "__dlpack__"):
            return _of_interface(interface, given, gpu, stream)
        return _of_dlpack(given, gpu, stream)
    except (TypeError, BufferError, RuntimeError, ValueError, KeyError) as error:
        raise UnreadableArray(
            f"is given {shown_kind(given)}, which hands out no array on a GPU: {error}."
        ) from error


def _of_interface(
    interface: Any, given: object, gpu: Gpu, stream: Stream
) -> tuple[DeviceArray, int]:
    if interface.get("mask") is not None:
        raise TypeError("it has a mask, and kernels use all elements")
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    address, is_read_only = interface["data"]
    strides = interface.get("strides") or dense_strides(shape, dtype.itemsize)
    handle = interface.get("stream")
    producer = stream if handle is None else stream_of(handle)
    number = gpu.number
    if address:
        try:
            found = gpu.device_of(address)
        except DriverError as error:
            raise TypeError(f"its memory belongs to no GPU ({error})") from error
        number = gpu.number if found is None else found
    array = DeviceArray(
        gpu, address or 0, shape, dtype, tuple(strides), bool(is_read_only), producer, given
    )
    return array, number


def _of_dlpack(given: Any, gpu: Gpu, stream: Stream) -> tuple[DeviceArray, int]:
    _, number = given.__dlpack_device__()
    # A producer on another GPU has no stream of this one to order.
    found = received(given, stream=stream.shared_handle if number == gpu.number else -1)
    if found.device_kind not in ON_GPU:
        raise TypeError(f"its memory is of kind {found.device_kind} of DLPack")
    place = found.address, found.shape, found.dtype, found.strides
    return DeviceArray(gpu, *place, found.is_read_only, stream, found.owner), number
