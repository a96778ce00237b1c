"""Arrays of a library of its own on a GPU, as CuPy and PyTorch have them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from attrs import define, field
from cuda.bindings import driver
from numpy.typing import NDArray

from spaces.backend.arrays.dlpack import CUDA, DlpackArray, sent


def ask(call: Any, *arguments: Any) -> Any:
    """What a call of the driver gives besides its status."""
    status, *found = call(*arguments)
    assert status == 0, status
    return found[0] if found else None


@define(eq=False)
class Memory:
    """Memory of the GPU that holds an array and the gaps between its elements."""

    address: int
    whole: NDArray[Any]
    """What the memory held at first, gaps included."""

    @staticmethod
    def of(whole: NDArray[Any]) -> Memory:
        """Memory with these values."""
        address = int(ask(driver.cuMemAlloc, whole.nbytes))
        ask(driver.cuMemcpyHtoDAsync, address, whole.ctypes.data, whole.nbytes, 0)
        return Memory(address, whole)

    def now(self) -> NDArray[Any]:
        """What the memory holds now."""
        found = np.empty_like(self.whole)
        ask(driver.cuCtxSynchronize)
        ask(driver.cuMemcpyDtoHAsync, found.ctypes.data, self.address, found.nbytes, 0)
        return found

    def free(self) -> None:
        """Gives it back."""
        ask(driver.cuCtxSynchronize)
        ask(driver.cuMemFree, self.address)


@define(eq=False)
class InterfaceArray:
    """An array with ``__cuda_array_interface__``: a part of some memory."""

    memory: Memory
    part: NDArray[Any]
    """The same part of ``memory.whole``."""
    is_read_only: bool = False
    more: dict[str, Any] = field(factory=dict)

    @property
    def address(self) -> int:
        """The address of the first element."""
        return self.memory.address + self.part.ctypes.data - self.memory.whole.ctypes.data

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.part.shape,
            "typestr": self.part.dtype.str,
            "data": (self.address, self.is_read_only),
            "strides": None if self.part.flags.c_contiguous else self.part.strides,
            "stream": 1,
            **self.more,
        }


@define(eq=False)
class DlpackOnly(InterfaceArray):
    """An array that only DLPack hands out, of an old or a new version."""

    version: tuple[int, int] | None = (1, 0)
    number: int = 0
    streams: list[int | None] = field(factory=list)
    """The streams that receivers named."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise AttributeError

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.number

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        if options and self.version is None:
            raise TypeError("unexpected keyword")
        self.streams.append(stream)
        lent = DlpackArray(
            self.address, self.part.shape, self.part.dtype, self.part.strides, CUDA, self.number,
            self.is_read_only, self,
        )  # fmt: skip
        return sent(lent, is_versioned=self.version is not None)


def stream() -> int:
    """A new stream of the driver."""
    made = ask(driver.cuStreamCreate, 0)
    return int(ctypes.c_void_p(int(made)).value or 0)
