"""The meaning of a host program, once for all executors.

A device has few operations: it allocates, copies, launches and frees. This file does the rest: it
finds each argument, checks that it fits, and decides which copies are necessary. A buffer of the
call has a host array and, from its first use by a kernel on, device memory; `Session` remembers
which of the two is current and copies only when a step needs the other one. So an input goes up
once, however many kernels read it. A buffer that only kernels use never comes back.

Kernels and steps on the host see each array of the call in one layout: dense, in C order. If the
caller's array has other strides, the host array is a dense copy. `Session.fetch` copies written
values back to the caller's array, and to no other place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from backend.cuda.errors import CudaLaunchError, CudaProgramError
from backend.cuda.kernel import (
    CTYPES,
    AllocStep,
    BufferParam,
    CudaKernel,
    CudaModule,
    Dim3,
    FreeStep,
    HostStep,
    LaunchStep,
    ProgramStep,
    ScalarParam,
)

ScalarArgument = int | float | np.number[Any] | np.bool_

# Limits of a launch that all compute capabilities of 7.0 and above share: CUDA C++ Programming
# Guide, table "Technical Specifications per Compute Capability".
MAX_BLOCK: Dim3 = (1024, 1024, 64)
MAX_THREADS_PER_BLOCK = 1024
MAX_GRID: Dim3 = (2**31 - 1, 65535, 65535)

Handle = TypeVar("Handle")


class CudaDevice(Protocol[Handle]):
    """The operations that an executor needs. A `Handle` names one allocation on the device."""

    def allocate(self, nbytes: int) -> Handle:
        """Fresh memory of at least `nbytes` (which may be 0), contents undefined."""

    def upload(self, memory: Handle, host: NDArray[Any]) -> None:
        """Copies a C-contiguous array to the beginning of `memory`."""

    def download(self, memory: Handle, host: NDArray[Any]) -> None:
        """Waits for all launches, then fills a C-contiguous array from `memory`."""

    def launch(
        self,
        module: CudaModule,
        kernel: CudaKernel,
        grid: Dim3,
        arguments: tuple[Handle | np.generic, ...],
    ) -> None:
        """Runs a kernel; may return before it ends. No size in `grid` is 0."""

    def free(self, memory: Handle) -> None:
        """Gives `memory` back."""

    def wait(self) -> None:
        """Waits for all launches; raises their errors."""

    def timed(self, work: Callable[[], None]) -> float:
        """The seconds on the device from before what `work` launches until it has ended.

        Raises:
            CudaUnavailable: this is no GPU, so it has no times.
        """


@attrs.define(slots=True)
class _Buffer(Generic[Handle]):
    """A buffer of a program. ``given`` is the caller's array, and ``host`` is the dense array of
    the same values; both are None if the buffer exists only on the device. ``written`` says that
    ``host`` or ``memory`` has values that ``given`` may lack.
    """

    dtype: np.dtype[Any]
    nbytes: int
    given: NDArray[Any] | None = None
    host: NDArray[Any] | None = None
    memory: Handle | None = None
    host_current: bool = True
    device_current: bool = False
    written: bool = False

    @staticmethod
    def of(array: NDArray[Any]) -> _Buffer[Handle]:
        """The buffer of an array of the caller."""
        dense = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        return _Buffer(array.dtype, array.nbytes, array, dense)


class Session(Generic[Handle]):
    """The buffers of one program on one device; a context manager that frees them.

    `run` may be called many times: buffers that are already on the device are not copied again.
    `fetch` copies results back.
    """

    def __init__(
        self,
        device: CudaDevice[Handle],
        module: CudaModule,
        buffers: Mapping[str, NDArray[Any]],
    ) -> None:
        self._device = device
        self._module = module
        self._buffers: dict[str, _Buffer[Handle]] = {}
        for name, array in buffers.items():
            if array.dtype not in CTYPES.values():
                raise CudaProgramError(
                    f"buffer {name} holds {array.dtype}, which no CUDA type stands for; "
                    f"convert it to one of {', '.join(str(each) for each in CTYPES.values())}"
                )
            self._buffers[name] = _Buffer.of(array)

    def __enter__(self) -> Session[Handle]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for buffer in self._buffers.values():
            self._release(buffer)

    def run(self, steps: Iterable[ProgramStep], scalars: Mapping[str, ScalarArgument]) -> None:
        """Runs the steps in order; results stay where they were computed until `fetch`."""
        for step in steps:
            match step:
                case AllocStep():
                    self._alloc(step)
                case LaunchStep():
                    self._launch(step, scalars)
                case HostStep():
                    self._run_on_host(step)
                case FreeStep():
                    self._free(step)

    def wait(self) -> None:
        """Waits for all launches; raises their errors."""
        self._device.wait()

    def timed(self, steps: Iterable[ProgramStep], scalars: Mapping[str, ScalarArgument]) -> float:
        """Runs the steps as :meth:`run` does, and returns the seconds on the device. After a first
        run they copy no buffers but those that steps on the host need.

        Raises:
            CudaUnavailable: the device is no GPU, so it has no times.
        """
        return self._device.timed(lambda: self.run(steps, scalars))

    def fetch(self) -> None:
        """Gives every array of the caller the values that steps wrote."""
        for buffer in self._buffers.values():
            if buffer.host is None or buffer.given is None or not buffer.written:
                continue
            self._to_host(buffer, buffer.host)
            if buffer.host is not buffer.given:
                buffer.given[...] = buffer.host
            buffer.written = False

    def _alloc(self, step: AllocStep) -> None:
        if step.buffer in self._buffers:
            raise CudaProgramError(f"buffer {step.buffer} is allocated, but it exists already")
        memory = self._allocated(step.nbytes)
        self._buffers[step.buffer] = _Buffer(
            CTYPES[step.ctype],
            step.nbytes,
            memory=memory,
            host_current=False,
            device_current=True,
        )

    def _free(self, step: FreeStep) -> None:
        buffer = self._find(step.buffer, "a step frees")
        if buffer.host is not None:
            raise CudaProgramError(
                f"buffer {step.buffer} is freed, but it belongs to the caller; "
                "steps can free only what steps allocate"
            )
        self._release(buffer)
        del self._buffers[step.buffer]

    def _launch(self, step: LaunchStep, scalars: Mapping[str, ScalarArgument]) -> None:
        try:
            kernel = self._module.kernel(step.kernel)
        except KeyError as error:
            raise CudaProgramError(str(error.args[0])) from None
        _check_sizes(kernel, step.grid)
        if len(step.arguments) != len(kernel.params):
            raise CudaProgramError(
                f"kernel {kernel.name} takes {len(kernel.params)} arguments "
                f"({', '.join(param.name for param in kernel.params)}), "
                f"but a launch gives it {len(step.arguments)}"
            )
        arguments: list[Handle | np.generic] = []
        bound: list[tuple[str, BufferParam]] = []
        for param, argument in zip(kernel.params, step.arguments, strict=True):
            if isinstance(param, ScalarParam):
                arguments.append(_scalar(kernel, param, argument, scalars))
                continue
            name = str(argument)
            bound.append((name, param))
            arguments.append(self._to_device(self._fitting(kernel, param, name)))
        _check_aliases(kernel, bound)
        if 0 in step.grid:
            return
        self._device.launch(self._module, kernel, step.grid, tuple(arguments))
        for name, param in bound:
            if param.written:
                self._buffers[name].host_current = False
                self._buffers[name].written = True

    def _fitting(self, kernel: CudaKernel, param: BufferParam, name: str) -> _Buffer[Handle]:
        buffer = self._find(name, f"kernel {kernel.name} is given")
        if buffer.dtype != CTYPES[param.ctype]:
            raise CudaProgramError(
                f"buffer {name} holds {buffer.dtype}, but parameter {param.name} of kernel "
                f"{kernel.name} is {param.ctype} ({CTYPES[param.ctype]})"
            )
        if param.written:
            _check_writable(buffer, name, f"kernel {kernel.name}")
        return buffer

    def _run_on_host(self, step: HostStep) -> None:
        arrays: dict[str, NDArray[Any]] = {}
        for name in (*step.reads, *step.writes):
            buffer = self._find(name, f"host step {step.name} uses")
            if buffer.host is None:
                raise CudaProgramError(
                    f"host step {step.name} uses buffer {name}, which exists only on the device; "
                    "pass an array of that name instead of allocating it"
                )
            self._to_host(buffer, buffer.host)
            arrays[name] = buffer.host
        for name in step.writes:
            _check_writable(self._buffers[name], name, f"host step {step.name}")
        step.run(arrays)
        for name in step.writes:
            self._buffers[name].device_current = False
            self._buffers[name].written = True

    def _find(self, name: str, who: str) -> _Buffer[Handle]:
        if name not in self._buffers:
            raise CudaProgramError(
                f"{who} buffer {name}, which is neither passed nor allocated; "
                f"there are {', '.join(self._buffers) or 'none'}"
            )
        return self._buffers[name]

    def _to_device(self, buffer: _Buffer[Handle]) -> Handle:
        if buffer.memory is None:
            buffer.memory = self._allocated(buffer.nbytes)
        if not buffer.device_current and buffer.host is not None:
            self._device.upload(buffer.memory, buffer.host)
            buffer.device_current = True
        return buffer.memory

    def _to_host(self, buffer: _Buffer[Handle], host: NDArray[Any]) -> None:
        if buffer.host_current or buffer.memory is None:
            return
        self._device.download(buffer.memory, host)
        buffer.host_current = True

    def _allocated(self, nbytes: int) -> Handle:
        granule = self._module.granule
        return self._device.allocate(-(-nbytes // granule) * granule)

    def _release(self, buffer: _Buffer[Handle]) -> None:
        if buffer.memory is not None:
            self._device.free(buffer.memory)
            buffer.memory = None


class CudaExecutor(ABC):
    """Runs host programs on one device.

    The executors of this package: `emulator.Emulator`, `sanitizers.SanitizedEmulator`,
    `launch.GpuExecutor`.
    """

    __slots__ = ()

    @abstractmethod
    def session(
        self, module: CudaModule, buffers: Mapping[str, NDArray[Any]]
    ) -> AbstractContextManager[Session[Any]]:
        """Keeps `buffers` on the device for several runs, for example to time them without
        copies.
        """

    def run(
        self,
        module: CudaModule,
        steps: Iterable[ProgramStep],
        buffers: Mapping[str, NDArray[Any]],
        scalars: Mapping[str, ScalarArgument],
    ) -> None:
        """Runs `steps` in order. When it returns, the arrays of all written buffers have their
        values.

        Args:
            module: the text, and its kernels that the steps launch.
            steps: the steps, in order.
            buffers: arrays by buffer name, of any strides; kernels and steps on the host see them
                dense, in C order.
            scalars: numbers by name, for launch arguments that name one.

        Raises:
            CudaProgramError: the steps, `buffers` and `scalars` do not fit together.
            CudaLaunchError: a launch failed; arrays that only kernels write are unchanged.
            CudaCompileError, CudaUnavailable: the text does not build, or a compiler or device is
            missing.
        """
        with self.session(module, buffers) as session:
            session.run(steps, scalars)
            session.fetch()


def _check_writable(buffer: _Buffer[Handle], name: str, who: str) -> None:
    if buffer.given is not None and not buffer.given.flags.writeable:
        raise CudaProgramError(f"{who} writes buffer {name}, but its array is read-only")


def _check_sizes(kernel: CudaKernel, grid: Dim3) -> None:
    x, y, z = kernel.block
    if x * y * z > MAX_THREADS_PER_BLOCK:
        raise CudaLaunchError(
            f"kernel {kernel.name} has blocks of {x} x {y} x {z} = {x * y * z} threads; "
            f"a block holds at most {MAX_THREADS_PER_BLOCK}"
        )
    for what, sizes, limits in (("block", kernel.block, MAX_BLOCK), ("grid", grid, MAX_GRID)):
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if size > limit:
                raise CudaLaunchError(
                    f"kernel {kernel.name} has a {what} of {size} along {axis}; "
                    f"at most {limit} are possible"
                )


def _check_aliases(kernel: CudaKernel, bound: list[tuple[str, BufferParam]]) -> None:
    for at, (name, param) in enumerate(bound):
        for other_name, other in bound[:at]:
            if name == other_name and (param.written or other.written):
                raise CudaProgramError(
                    f"kernel {kernel.name} is given buffer {name} for both {other.name} and "
                    f"{param.name} and writes it; __restrict__ pointers must not overlap"
                )


def _scalar(
    kernel: CudaKernel,
    param: ScalarParam,
    argument: str | int | float,
    scalars: Mapping[str, ScalarArgument],
) -> np.generic:
    value: ScalarArgument
    if isinstance(argument, str):
        if argument not in scalars:
            raise CudaProgramError(
                f"kernel {kernel.name} is given scalar {argument}, which is not passed; "
                f"there are {', '.join(scalars) or 'none'}"
            )
        value = scalars[argument]
    else:
        value = argument
    dtype = CTYPES[param.ctype]
    if dtype.kind == "f":
        converted: np.generic = dtype.type(value)
        return converted
    if dtype.kind == "b":
        lowest, highest = 0, 1
    else:
        lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if not (lowest <= value <= highest and value == int(value)):
        raise CudaProgramError(
            f"parameter {param.name} of kernel {kernel.name} is {param.ctype}, "
            f"which does not hold {value}"
        )
    converted = dtype.type(int(value))
    return converted
