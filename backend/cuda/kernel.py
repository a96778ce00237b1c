"""The records that a printer makes: CUDA C text, a record of each kernel, and the steps of the
host.

A `CudaModule` does not depend on the sizes of images: block sizes and shared memory are constants
of a kernel. The steps depend on them: their grids and allocations are plain integers, which the
maker of the module computes for one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from spaces.backend.cuda.c_text import CTYPE_OF
from spaces.backend.cuda.dim3 import Dim3
from spaces.backend.llvm.operators import FloatMode

CTYPES: Mapping[str, np.dtype[Any]] = {ctype: np.dtype(name) for name, ctype in CTYPE_OF.items()}
"""The scalar types a text may use, each with the NumPy type of the same size and meaning."""

DYNAMIC_SHARED_PRELUDE = """\
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]
#endif
"""
"""The beginning of a text that uses dynamic shared memory; the emulator defines the macro
before.
"""


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
    """One ``__global__`` function of a text: all that its host needs to know.

    Attributes:
        name: the function's name.
        params: its parameters in order.
        block: the number of threads of a block along x, y, z.
        static_shared_bytes: the bytes of the shared arrays that the text declares, with their
            padding, as the printer counts them. Only tests use it: they compare it with the result
            of `nvrtc.compile_cuda`.
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


@attrs.frozen(slots=True, cache_hash=True)
class CudaModule:
    """CUDA C text and the kernels in it.

    Attributes:
        float_mode: how far results of float arithmetic may differ where a GPU runs the text;
            emulators compute as it is written.
        granule: executors allocate memory outside of kernels in multiples of this many bytes,
            because an access of one byte may touch all bytes of its multiple.
    """

    source: str
    kernels: tuple[CudaKernel, ...]
    granule: int = 1
    float_mode: FloatMode = FloatMode.STRICT

    def kernel(self, name: str) -> CudaKernel:
        """The kernel of that name; KeyError, with the names of all kernels, if no kernel has it."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        names = ", ".join(kernel.name for kernel in self.kernels)
        raise KeyError(f"the module has no kernel {name}; it has {names or 'none'}")


@attrs.frozen(slots=True)
class AllocStep:
    """Makes a buffer that exists only on the device, with undefined contents."""

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
        name: its name in messages.
        run: a function of host arrays by name, dense and in C order whatever the strides of the
            caller's arrays are; it writes only to those in `writes`.
        reads: buffers it reads.
        writes: buffers it writes, wholly or in part.

    It can name only buffers of the call, not buffers of an `AllocStep`.
    """

    name: str
    run: Callable[[Mapping[str, NDArray[Any]]], None]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


ProgramStep: TypeAlias = AllocStep | LaunchStep | HostStep | FreeStep
"""One step of a host program. Copies between host and device are not steps: executors copy when a
step needs the newer contents, see `program`.
"""
