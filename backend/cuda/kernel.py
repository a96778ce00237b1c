"""What a printer hands over: CUDA C text, a record of each kernel, and the steps of the host.

A `CudaModule` does not depend on the sizes of images: block sizes and shared memory are constants
of a kernel. The steps do: grids and allocations are plain integers, worked out for one call by
whoever built the module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from backend.cuda.c_text import CTYPE_OF

Dim3: TypeAlias = tuple[int, int, int]
"""Sizes along x, y and z."""

CTYPES: Mapping[str, np.dtype[Any]] = {ctype: np.dtype(name) for name, ctype in CTYPE_OF.items()}
"""The scalar types a text may use, each with the NumPy type of the same size and meaning."""

DYNAMIC_SHARED_PRELUDE = """\
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]
#endif
"""
"""Begins a text that uses dynamic shared memory; the emulator defines the macro beforehand."""


def _known_ctype(_: object, attribute: attrs.Attribute[str], value: str) -> None:
    if value not in CTYPES:
        raise ValueError(f"{attribute.name} is {value!r}; it is one of {', '.join(CTYPES)}")


def _three_of_at_least(least: int) -> Callable[[object, attrs.Attribute[Dim3], Dim3], None]:
    def check(_: object, attribute: attrs.Attribute[Dim3], value: Sequence[int]) -> None:
        if len(value) != 3 or min(value) < least:
            raise ValueError(f"{attribute.name} is {value}; it is three numbers, {least} or more")

    return check


@attrs.frozen(slots=True)
class BufferParam:
    """A pointer parameter: ``ctype* __restrict__ name``, with ``const`` unless `written`."""

    name: str
    ctype: str = attrs.field(validator=_known_ctype)
    written: bool

    def declared_type(self) -> str:
        """The parameter's C type, without ``__restrict__``."""
        return f"{'' if self.written else 'const '}{self.ctype}*"

    def declaration(self) -> str:
        """The parameter as it stands in a kernel's parameter list."""
        return f"{self.declared_type()} __restrict__ {self.name}"


@attrs.frozen(slots=True)
class ScalarParam:
    """A parameter passed by value: ``ctype name``."""

    name: str
    ctype: str = attrs.field(validator=_known_ctype)

    def declared_type(self) -> str:
        """The parameter's C type."""
        return self.ctype

    def declaration(self) -> str:
        """The parameter as it stands in a kernel's parameter list."""
        return f"{self.ctype} {self.name}"


KernelParam: TypeAlias = BufferParam | ScalarParam


@attrs.frozen(slots=True)
class CudaKernel:
    """One ``__global__`` function of a text, as its host needs to know it.

    Attributes:
        name: the function's name.
        params: its parameters in order.
        block: threads of a block along x, y, z.
        static_shared_bytes: the shared arrays that the text declares, with their padding, as the
            printer counts them. Nothing here relies on it: it is there to be compared with what
            `nvrtc.compile_cuda` reads back.
        dynamic_shared_bytes: shared memory that each launch asks for.
    """

    name: str
    params: tuple[KernelParam, ...]
    block: Dim3 = attrs.field(validator=_three_of_at_least(1))
    static_shared_bytes: int = 0
    dynamic_shared_bytes: int = 0

    def declaration(self) -> str:
        """The head of the function, up to where its body begins."""
        threads = self.block[0] * self.block[1] * self.block[2]
        params = ", ".join(param.declaration() for param in self.params)
        return f'extern "C" __global__ void __launch_bounds__({threads}) {self.name}({params})'


@attrs.frozen(slots=True)
class CudaModule:
    """CUDA C text and the kernels in it.

    Attributes:
        granule: memory outside of kernels is allocated in multiples of so many bytes, all of which
            may be accessed where one of them is.
    """

    source: str
    kernels: tuple[CudaKernel, ...]
    granule: int = 1

    def kernel(self, name: str) -> CudaKernel:
        """The kernel of that name; KeyError, naming those there are, where there is none."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        names = ", ".join(kernel.name for kernel in self.kernels)
        raise KeyError(f"the module has no kernel {name}; it has {names or 'none'}")


@attrs.frozen(slots=True)
class AllocStep:
    """Makes a buffer that lives on the device alone, its contents undefined."""

    buffer: str
    ctype: str = attrs.field(validator=_known_ctype)
    elements: int = attrs.field(validator=attrs.validators.ge(0))

    @property
    def nbytes(self) -> int:
        """The buffer's size in bytes."""
        return self.elements * CTYPES[self.ctype].itemsize


@attrs.frozen(slots=True)
class FreeStep:
    """Ends the life of a buffer that an `AllocStep` made."""

    buffer: str


@attrs.frozen(slots=True)
class LaunchStep:
    """Runs a kernel over a grid of blocks; a grid with a zero in it runs nothing.

    Attributes:
        kernel: the name of a kernel of the module.
        grid: blocks along x, y, z.
        arguments: one for each parameter: for a buffer its name; for a scalar a number, or the name
            of one of the call's scalars.
    """

    kernel: str
    grid: Dim3 = attrs.field(validator=_three_of_at_least(0))
    arguments: tuple[str | int | float, ...]


@attrs.frozen(slots=True)
class HostStep:
    """A part of the pipeline that runs on the CPU between launches.

    Attributes:
        name: what it is called in messages.
        run: called with host arrays by name; it writes to those in `writes` and to no others.
        reads: buffers it reads.
        writes: buffers it writes, wholly or in part.

    Only buffers of the call can be named, not those of an `AllocStep`.
    """

    name: str
    run: Callable[[Mapping[str, NDArray[Any]]], None]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


ProgramStep: TypeAlias = AllocStep | LaunchStep | HostStep | FreeStep
"""One step of a host program. Copies between host and device are no steps: executors make them
when a step needs the newer contents, see `program`."""
