"""The meaning of a host program, once for all executors.

A device has few operations: it allocates, copies, launches and frees. This file does the rest: it
finds each argument, checks that it fits, and decides which copies are necessary. A buffer of the
call has a host array and, from its first use by a kernel on, device memory. `Session` remembers
which of the two is current and copies only when a step needs the other one. So an input goes up
once, however many kernels read it. A buffer that only kernels use never comes back.

Kernels and steps on the host see each array of the call in one layout: dense, in C order. If the
caller's array has other strides, the host array is a dense copy. `Session.fetch` copies written
values back to the caller's array, and to no other place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Any, Generic, Protocol, TypeAlias
from weakref import WeakKeyDictionary

import attrs
import numpy as np
from numpy.typing import NDArray

from spaces.backend.arrays.device_array import DeviceArray, GpuMemory
from spaces.backend.arrays.given import AnyArray, ArrayReader, array_beside_kernels
from spaces.backend.arrays.streams import DEFAULT_STREAM, Stream, stream_of
from spaces.backend.cuda.errors import CudaProgramError, CudaUnavailable
from spaces.backend.cuda.kernel import CTYPES, CudaModule, HostStep, ProgramStep
from spaces.backend.cuda.plan import DevicePart, Handle, Plan, ScalarArgument, plan
from spaces.backend.cuda.plan_buffers import BufferKind, check_buffers

RunPart: TypeAlias = Callable[[DevicePart, Mapping[str, Handle]], None]
"""Runs a part of a plan on a device with the memory of the call's buffers that it uses."""


class CudaDevice(Protocol[Handle]):
    """The operations that an executor needs. A `Handle` names one allocation on the device."""

    def allocate(self, nbytes: int) -> Handle:
        """Fresh memory of at least `nbytes` (which may be 0), contents undefined."""

    def upload(self, memory: Handle, host: NDArray[Any]) -> None:
        """Copies a C-contiguous array to the beginning of `memory`."""

    def download(self, memory: Handle, host: NDArray[Any]) -> None:
        """Waits for all launches, then fills a C-contiguous array from `memory`."""

    def running(self, module: CudaModule, planned: Plan) -> AbstractContextManager[RunPart[Handle]]:
        """Makes the device ready to run the parts of a plan, in order, while it is entered. Then it
        has memory for what the plan allocates. Kernels may end later.
        """

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
    the same values; both are None if the buffer exists only on the device. If ``given`` is on the
    device, ``memory`` is its memory, and ``host`` has the same strides from the first use by the
    CPU on. ``written`` says that ``host`` or ``memory`` has values that ``given`` may lack.
    """

    dtype: np.dtype[Any]
    nbytes: int
    given: AnyArray | None = None
    host: NDArray[Any] | None = None
    memory: Handle | None = None
    host_current: bool = True
    device_current: bool = False
    written: bool = False

    @property
    def kind(self) -> BufferKind:
        """What a plan must know of it."""
        array = self.given
        if isinstance(array, DeviceArray):
            return BufferKind(self.dtype, not array.is_read_only)
        return BufferKind(self.dtype, array is None or array.flags.writeable)

    @staticmethod
    def of(array: AnyArray, *, is_set: bool) -> _Buffer[Handle]:
        """The buffer of an array of the caller, whose values count if it is set."""
        if isinstance(array, DeviceArray):
            memory: Any = array.address
            return _Buffer(array.dtype, array.span[1], array, None, memory, False, True)
        dense = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        return _Buffer(array.dtype, array.nbytes, array, dense, device_current=not is_set)


_FITTED: WeakKeyDictionary[Plan, set[frozenset[tuple[str, BufferKind]]]] = WeakKeyDictionary()
"""For recent plans the kinds of buffers that they were found to fit."""


class Session(Generic[Handle]):
    """The buffers of one program on one device; a context manager that frees them.

    `run` may be called many times: buffers that are already on the device are not copied again.
    `fetch` copies results back. Steps write all elements of the ``unset`` buffers, whose values
    before are never copied to the device.
    """

    def __init__(
        self,
        device: CudaDevice[Handle],
        module: CudaModule,
        buffers: Mapping[str, AnyArray],
        unset: Collection[str] = (),
    ) -> None:
        self._device = device
        self._module = module
        self._buffers: dict[str, _Buffer[Handle]] = {}
        self._has_copied = False
        for name, array in buffers.items():
            if array.dtype not in CTYPES.values():
                raise CudaProgramError(
                    f"buffer {name} holds {array.dtype}, which no CUDA type stands for; "
                    f"convert it to one of {', '.join(str(each) for each in CTYPES.values())}"
                )
            self._buffers[name] = _Buffer.of(array, is_set=name not in unset)

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
        self.follow(plan(self._module, steps, scalars))

    def follow(self, planned: Plan) -> None:
        """Runs steps that are planned, as :meth:`run` does."""
        self._check(planned)
        with self._device.running(self._module, planned) as run:
            self._run_parts(planned, run)

    def _run_parts(self, planned: Plan, run: RunPart[Handle]) -> None:
        buffers = self._buffers
        for part in planned.parts:
            if isinstance(part, HostStep):
                self._run_on_host(part)
                continue
            run(part, {name: self._to_device(buffers[name]) for name in part.buffers})
            for name in part.written:
                buffers[name].host_current = False
                buffers[name].written = True

    def wait(self) -> None:
        """Waits for all launches; raises their errors."""
        self._device.wait()

    def timed(self, planned: Plan) -> float:
        """Runs steps that are planned, and returns the seconds on the device. All memory is
        allocated before. After a first run the steps copy no buffers but those that steps on the
        host need.

        Raises:
            CudaUnavailable: the device is no GPU, so it has no times.
        """
        self._check(planned)
        with self._device.running(self._module, planned) as run:
            return self._device.timed(lambda: self._run_parts(planned, run))

    def fetch(self) -> None:
        """Gives every array of the caller the values that steps wrote. Arrays on the device may get
        them later, if no array of the call is elsewhere.
        """
        for buffer in self._buffers.values():
            if not buffer.written or buffer.given is None:
                continue
            if isinstance(buffer.given, DeviceArray):
                self._to_device(buffer)
            elif buffer.host is not None:
                self._to_host(buffer, buffer.host)
                if buffer.host is not buffer.given:
                    buffer.given[...] = buffer.host
            buffer.written = False
        if self._has_copied:  # the caller may now change what was copied
            self.wait()
            self._has_copied = False

    def _run_on_host(self, step: HostStep) -> None:
        arrays = {name: self._on_host(name) for name in (*step.reads, *step.writes)}
        step.run(arrays)
        for name in step.writes:
            self._buffers[name].device_current = False
            self._buffers[name].written = True

    def _on_host(self, name: str) -> NDArray[Any]:
        buffer = self._buffers[name]
        if buffer.host is None:
            buffer.host = np.empty(buffer.nbytes // buffer.dtype.itemsize, buffer.dtype)
        self._to_host(buffer, buffer.host)
        return buffer.host

    def _check(self, planned: Plan) -> None:
        """Refuses a plan that does not fit the buffers; one that has fitted is not read again."""
        known = _FITTED.get(planned)
        if known is None:
            known = _FITTED[planned] = set()
        given = {name: buffer.kind for name, buffer in self._buffers.items()}
        key = frozenset(given.items())
        if key not in known:
            check_buffers(planned, given)
            known.add(key)

    def _to_device(self, buffer: _Buffer[Handle]) -> Handle:
        if buffer.memory is None:
            buffer.memory = self._allocated(buffer.nbytes)
        if not buffer.device_current and buffer.host is not None:
            self._device.upload(buffer.memory, buffer.host)
            buffer.device_current = self._has_copied = True
        return buffer.memory

    def _to_host(self, buffer: _Buffer[Handle], host: NDArray[Any]) -> None:
        if buffer.host_current or buffer.memory is None:
            return
        self._device.download(buffer.memory, host)
        self._has_copied = False  # it has waited
        buffer.host_current = True

    def _allocated(self, nbytes: int) -> Handle:
        granule = self._module.granule
        return self._device.allocate(-(-nbytes // granule) * granule)

    def _release(self, buffer: _Buffer[Handle]) -> None:
        if buffer.memory is not None and not isinstance(buffer.given, DeviceArray):
            self._device.free(buffer.memory)
            buffer.memory = None


class CudaExecutor(ABC):
    """Runs host programs on one device.

    The executors of this package: `emulator.Emulator`, `sanitizers.SanitizedEmulator`,
    `launch.GpuExecutor`.
    """

    __slots__ = ()

    def on(self, stream: object) -> CudaExecutor:
        """The same device, with all work in one stream: of CuPy, PyTorch or pycuda, an object with
        ``__cuda_stream__``, or the driver's number.

        Raises:
            ArgumentError: it is no stream.
            CudaUnavailable: there are no streams on the CPU.
        """
        if stream_of(stream).is_default:
            return self
        raise CudaUnavailable(
            f"{type(self).__name__} runs kernels on the CPU, where there are no streams of a GPU; "
            "leave out stream=, or run on a GPU with executor=GpuExecutor()"
        )

    @property
    def memory(self) -> GpuMemory | None:
        """The GPU that runs the kernels, with its memory; None on the CPU."""
        return None

    @property
    def stream(self) -> Stream:
        """The stream of all work."""
        return DEFAULT_STREAM

    @property
    def reader(self) -> ArrayReader:
        """Finds the arrays of calls, those in the memory of the GPU as `DeviceArray`."""
        return partial(array_beside_kernels, type(self).__name__)

    @abstractmethod
    def session(
        self, module: CudaModule, buffers: Mapping[str, AnyArray], unset: Collection[str] = ()
    ) -> AbstractContextManager[Session[Any]]:
        """Keeps `buffers` on the device for several runs, for example to time them without
        copies. Steps write all elements of the `unset` ones.
        """

    def follow(
        self,
        module: CudaModule,
        planned: Plan,
        buffers: Mapping[str, AnyArray],
        unset: Collection[str] = (),
    ) -> None:
        """Runs steps that are planned, as :meth:`run` does; they write all elements of the `unset`
        buffers.
        """
        with self.session(module, buffers, unset) as session:
            session.follow(planned)
            session.fetch()

    def run(
        self,
        module: CudaModule,
        steps: Iterable[ProgramStep],
        buffers: Mapping[str, AnyArray],
        scalars: Mapping[str, ScalarArgument],
    ) -> None:
        """Runs `steps` in order. When it returns, the arrays of all written buffers have their
        values.

        Args:
            module: the text, and its kernels that the steps launch.
            steps: the steps, in order.
            buffers: arrays by buffer name, of any strides; kernels and steps on the host see them
                dense, in C order, but those on the device as they are.
            scalars: numbers by name, for launch arguments that name one.

        Raises:
            CudaProgramError: the steps, `buffers` and `scalars` do not fit together.
            CudaLaunchError: a launch failed; arrays that only kernels write are unchanged.
            CudaCompileError, CudaUnavailable: the text does not build, or a compiler or device is
            missing.
        """
        self.follow(module, plan(module, steps, scalars), buffers)
