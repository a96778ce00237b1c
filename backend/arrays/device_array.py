"""Arrays in the memory of a GPU, ours and those of other libraries."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from spaces.backend.arrays.dlpack import CPU, CUDA, DlpackArray, dense_strides, sent
from spaces.backend.arrays.streams import DEFAULT_STREAM, Stream, stream_of


class GpuMemory(Protocol):
    """A GPU, as far as its memory goes.

    Attributes:
        number: which GPU of this machine.
    """

    @property
    def number(self) -> int: ...

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream) -> DeviceArray:
        """A new array without gaps, contents undefined."""

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream) -> DeviceArray:
        """The same, of zeros."""

    def read(self, address: int, host: NDArray[Any], stream: Stream) -> None:
        """Waits for a stream, then fills a C-contiguous array."""

    def copy(self, to: int, source: int, nbytes: int, stream: Stream) -> None:
        """Copies within the memory."""

    def order(self, before: Stream, after: Stream) -> None:
        """Lets later work of the stream ``after`` wait for earlier work of ``before``."""


@frozen(eq=False, repr=False)
class DeviceArray:
    """An array in the memory of a GPU. CuPy, PyTorch, JAX and others take it without a copy,
    through ``__cuda_array_interface__`` or ``__dlpack__``.

    Its memory is used again when nothing refers to the array. A library that works on it in another
    stream must keep it until that work is done.

    Attributes:
        shape: the elements along each axis; dimension 0 of an image or output is the last axis.
        dtype: the type of the elements.
        strides: the bytes from an element to the next, along each axis.
        is_read_only: whether it must not be written.
        stream: the stream that computes its values.
    """

    gpu: GpuMemory
    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    is_read_only: bool = False
    stream: Stream = DEFAULT_STREAM
    owner: object = field(default=None, repr=False)
    """What keeps the memory alive."""
    span: tuple[int, int] = field(init=False, repr=False)
    """The bytes that the elements lie in: the first and one beyond the last, both relative to the
    first element."""

    @span.default
    def _found_span(self) -> tuple[int, int]:
        if not self.size:
            return 0, 0
        ends = [stride * (n - 1) for stride, n in zip(self.strides, self.shape, strict=True)]
        low = sum(end for end in ends if end < 0)
        return low, sum(end for end in ends if end > 0) + self.dtype.itemsize

    def __repr__(self) -> str:
        return f"<DeviceArray of {self.dtype}, shape {self.shape}, on GPU {self.gpu.number}>"

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def overlaps(self, other: DeviceArray) -> bool:
        """Whether some byte may belong to both arrays."""
        (low, high), (start, end) = self.span, other.span
        return self.address + low < other.address + end and other.address + start < (
            self.address + high
        )

    def to_numpy(self) -> NDArray[Any]:
        """A copy in the memory of the CPU. Waits until the values are computed.

        Raises:
            CudaLaunchError: a kernel failed.
        """
        low, high = self.span
        held = np.empty(high - low, np.uint8)
        if held.size:
            self.gpu.read(self.address + low, held, self.stream)
        found: NDArray[Any] = np.ndarray(
            self.shape, self.dtype, held if held.size else None, -low, self.strides
        )
        return found if found.flags.c_contiguous else np.ascontiguousarray(found)

    def __array__(self, *_: object, **__: object) -> NDArray[Any]:
        raise TypeError(
            f"{self!r} is in the memory of a GPU, and NumPy works in that of the CPU; copy it with "
            ".to_numpy()."
        )

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """CUDA Array Interface, version 3: the receiver waits for the stream that it names."""
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address if self.size else 0, self.is_read_only),
            "strides": self.strides if self.strides != self._dense_strides else None,
            "stream": self.stream.shared_handle,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.gpu.number

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of DLPack, as the Python array API says. ``stream`` is the receiver's: its
        later work waits until the values are computed; -1 lets nothing wait.

        Raises:
            BufferError: the array cannot be on ``dl_device``, or not without the copy that
                ``copy=False`` forbids, or it is read-only and the receiver cannot know it.
        """
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            if dl_device[0] != CPU or copy is False:
                raise BufferError(f"{self!r} can't be on another device without a copy")
            host = self.to_numpy()
            return host.__dlpack__(max_version=max_version)
        is_versioned = max_version is not None and max_version[0] >= 1
        if self.is_read_only and not is_versioned and not copy:
            raise BufferError(f"{self!r} is read-only, which only DLPack 1.0 can say")
        one = self._copied() if copy else self
        if stream != -1:
            self.gpu.order(self.stream, stream_of(stream))
        lent = DlpackArray(
            one.address, one.shape, one.dtype, one.strides, CUDA, one.gpu.number,
            one.is_read_only, one,
        )  # fmt: skip
        return sent(lent, is_versioned=is_versioned)

    @property
    def _dense_strides(self) -> tuple[int, ...]:
        return dense_strides(self.shape, self.dtype.itemsize)

    def _copied(self) -> DeviceArray:
        """The same values in memory of its own, gaps included."""
        low, high = self.span
        bytes_ = self.gpu.empty((high - low,), np.dtype(np.uint8), self.stream)
        if high > low:
            self.gpu.copy(bytes_.address, self.address + low, high - low, self.stream)
        return evolve(self, address=bytes_.address - low, is_read_only=False, owner=bytes_)
