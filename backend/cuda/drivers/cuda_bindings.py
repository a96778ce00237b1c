"""The driver through ``cuda-bindings``, NVIDIA's own package of plain calls."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spaces.backend.cuda.drivers.driver import DriverError, KernelCall, PreparedLaunches
from spaces.backend.cuda.errors import CudaUnavailable

_DEFAULT_STREAM = 0


class CudaBindings:
    """The calls of :class:`~spaces.backend.cuda.drivers.driver.Driver`.

    Attributes:
        stream: where launches and events go.

    Raises:
        ImportError: the package is not installed.
        CudaUnavailable: there is no driver, or it finds no device.
    """

    binding = "cuda-bindings"

    def __init__(self) -> None:
        self._driver: Any = importlib.import_module("cuda.bindings.driver")
        self._contexts: dict[int, Any] = {}
        self.stream: Any = _DEFAULT_STREAM
        try:
            self._ask(self._driver.cuInit, 0)
        except DriverError as error:
            raise CudaUnavailable(f"the CUDA driver finds no device it can use ({error})") from None
        except RuntimeError as error:  # the package finds libcuda when it is first called
            raise CudaUnavailable("there is no CUDA driver: its library can't be loaded") from error

    def count(self) -> int:
        return int(self._ask(self._driver.cuDeviceGetCount))

    def device_name(self, number: int) -> str:
        name: bytes = self._ask(self._driver.cuDeviceGetName, 256, self._device(number))
        return name.split(b"\0", 1)[0].decode()

    def capability(self, number: int) -> tuple[int, int]:
        what = self._driver.CUdevice_attribute
        device = self._device(number)
        major, minor = (
            int(self._ask(self._driver.cuDeviceGetAttribute, one, device))
            for one in (
                what.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                what.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        return major, minor

    @contextmanager
    def context(self, number: int) -> Iterator[None]:
        if number not in self._contexts:
            device = self._device(number)
            self._contexts[number] = self._ask(self._driver.cuDevicePrimaryCtxRetain, device)
        self._ask(self._driver.cuCtxPushCurrent, self._contexts[number])
        try:
            yield
        finally:
            self._ask(self._driver.cuCtxPopCurrent)

    def allocate(self, nbytes: int) -> int:
        return int(self._ask(self._driver.cuMemAlloc, nbytes))

    def free(self, address: int) -> None:
        self._ask(self._driver.cuMemFree, address)

    def device_of(self, address: int) -> int | None:
        what = self._driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self._ask(self._driver.cuPointerGetAttribute, what, address))

    def stream_of(self, number: int, given: object) -> Any:
        return number

    def upload(self, address: int, host: NDArray[Any], stream: Any = None) -> None:
        copy, queue = self._driver.cuMemcpyHtoDAsync, self._queue(stream)
        self._ask(copy, address, host.ctypes.data, host.nbytes, queue)

    def download(self, host: NDArray[Any], address: int, stream: Any = None) -> None:
        copy, queue = self._driver.cuMemcpyDtoHAsync, self._queue(stream)
        self._ask(copy, host.ctypes.data, address, host.nbytes, queue)
        self.wait_for_stream(queue)

    def copy_on_device(self, to: int, source: int, nbytes: int, stream: Any = None) -> None:
        self._ask(self._driver.cuMemcpyDtoDAsync, to, source, nbytes, self._queue(stream))

    def load(self, cubin: bytes) -> Any:
        return self._ask(self._driver.cuModuleLoadData, cubin)

    def unload(self, module: Any) -> None:
        self._ask(self._driver.cuModuleUnload, module)

    def function(self, module: Any, name: str, dynamic_shared_bytes: int) -> Any:
        found = self._ask(self._driver.cuModuleGetFunction, module, name.encode())
        if dynamic_shared_bytes:
            most = self._driver.CUfunction_attribute
            self._ask(
                self._driver.cuFuncSetAttribute,
                found,
                most.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                dynamic_shared_bytes,
            )
        return found

    def prepared(self, calls: Sequence[KernelCall], stream: Any = None) -> PreparedLaunches:
        # The driver reads each value at an address; one array holds them, eight bytes for each.
        arguments = [argument for call in calls for argument in call.arguments]
        values = np.zeros(max(len(arguments), 1), np.uint64)
        slots = values.view(np.uint8).reshape(-1, 8)
        for slot, value in zip(slots, arguments, strict=False):
            if value is not None:
                slot[: value.nbytes] = np.frombuffer(value.tobytes(), np.uint8)
        places = values.ctypes.data + 8 * np.arange(len(values), dtype=np.uint64)
        pointers = np.array([n for n, one in enumerate(arguments) if one is None], np.intp)
        launch, check, queue = self._driver.cuLaunchKernel, self._check, self._queue(stream)
        success = self._driver.CUresult.CUDA_SUCCESS
        makes, first = [], 0
        for function, grid, block, dynamic_shared_bytes, own in calls:
            where = places.ctypes.data + 8 * first
            call = (function, *grid, *block, dynamic_shared_bytes, queue, where, 0)
            first += len(own)

            def make(call: tuple[Any, ...] = call, alive: object = (values, places)) -> None:
                status = launch(*call)[0]
                if status != success:
                    check(status)

            makes.append(make)

        def point(addresses: Sequence[int] | NDArray[np.uint64]) -> None:
            values[pointers] = addresses

        return PreparedLaunches(point, tuple(makes))

    def order(self, before: Any, after: Any) -> None:
        untimed = self._driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        event = self._ask(self._driver.cuEventCreate, untimed)
        try:
            self._ask(self._driver.cuEventRecord, event, before)
            self._ask(self._driver.cuStreamWaitEvent, after, event, 0)
        finally:  # the driver keeps an event that a stream waits for
            self._ask(self._driver.cuEventDestroy, event)

    def wait_for_stream(self, stream: Any) -> None:
        self._ask(self._driver.cuStreamSynchronize, stream)

    def wait(self) -> None:
        self._ask(self._driver.cuCtxSynchronize)

    def seconds(self, work: Callable[[], None]) -> float:
        begin, end = (self._ask(self._driver.cuEventCreate, 0) for _ in range(2))
        try:
            self._ask(self._driver.cuEventRecord, begin, self.stream)
            work()
            self._ask(self._driver.cuEventRecord, end, self.stream)
            self._ask(self._driver.cuEventSynchronize, end)
            return float(self._ask(self._driver.cuEventElapsedTime, begin, end)) * 1e-3
        finally:
            self._ask(self._driver.cuEventDestroy, begin)
            self._ask(self._driver.cuEventDestroy, end)

    def _queue(self, stream: Any) -> Any:
        return self.stream if stream is None else stream

    def _device(self, number: int) -> Any:
        return self._ask(self._driver.cuDeviceGet, number)

    def _ask(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """What a call gives besides its status."""
        status, *found = call(*arguments)
        self._check(status)
        return found[0] if found else None

    def _check(self, status: Any) -> None:
        if status != self._driver.CUresult.CUDA_SUCCESS:
            known, text = self._driver.cuGetErrorString(status)
            is_known = known == self._driver.CUresult.CUDA_SUCCESS and text
            raise DriverError(text.decode() if is_known else str(status))
