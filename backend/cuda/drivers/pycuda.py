"""The driver through ``pycuda``, which is built from source where the headers of CUDA are."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spaces.backend.cuda.drivers.driver import DriverError, KernelCall, PreparedLaunches
from spaces.backend.cuda.errors import CudaUnavailable


class Pycuda:
    """The calls of :class:`~spaces.backend.cuda.drivers.driver.Driver`.

    Raises:
        ImportError: the package is not installed, or there is no driver.
        CudaUnavailable: the driver finds no device.
    """

    binding = "pycuda"

    def __init__(self) -> None:
        self._driver: Any = importlib.import_module("pycuda.driver")
        self._contexts: dict[int, Any] = {}
        self._held: dict[int, Any] = {}
        try:
            self._driver.init()
        except self._driver.Error as error:  # not a RuntimeError
            raise CudaUnavailable(f"the CUDA driver finds no device it can use ({error})") from None

    def count(self) -> int:
        with self._telling():
            return int(self._driver.Device.count())

    def device_name(self, number: int) -> str:
        with self._telling():
            return str(self._driver.Device(number).name())

    def capability(self, number: int) -> tuple[int, int]:
        with self._telling():
            major, minor = self._driver.Device(number).compute_capability()
        return major, minor

    @contextmanager
    def context(self, number: int) -> Iterator[None]:
        with self._telling():
            if number not in self._contexts:
                device = self._driver.Device(number)
                self._contexts[number] = device.retain_primary_context()
            self._contexts[number].push()
        try:
            yield
        finally:
            self._contexts[number].pop()

    def allocate(self, nbytes: int) -> int:
        with self._telling():
            memory = self._driver.mem_alloc(nbytes)
        address = int(memory)
        self._held[address] = memory  # pycuda frees memory that nothing refers to
        return address

    def free(self, address: int) -> None:
        with self._telling():
            self._held.pop(address).free()

    def device_of(self, address: int) -> int | None:
        return None

    def stream_of(self, number: int, given: object) -> Any:
        if number == 0:
            return None  # the default stream, as pycuda's calls take it
        if isinstance(given, self._driver.Stream):
            return given
        raise DriverError(
            "pycuda works only on streams of its own; pass a pycuda.driver.Stream, or install "
            "cuda-bindings"
        )

    def upload(self, address: int, host: NDArray[Any], stream: Any = None) -> None:
        with self._telling():
            self._driver.memcpy_htod_async(address, host, stream)

    def download(self, host: NDArray[Any], address: int, stream: Any = None) -> None:
        with self._telling():
            self._driver.memcpy_dtoh_async(host, address, stream)
        self.wait_for_stream(stream)

    def copy_on_device(self, to: int, source: int, nbytes: int, stream: Any = None) -> None:
        with self._telling():
            self._driver.memcpy_dtod_async(to, source, nbytes, stream)

    def load(self, cubin: bytes) -> Any:
        with self._telling():
            return self._driver.module_from_buffer(cubin)

    def unload(self, module: Any) -> None:
        """Leaves it to pycuda, which unloads a module that nothing refers to."""

    def function(self, module: Any, name: str, dynamic_shared_bytes: int) -> Any:
        with self._telling():
            found = module.get_function(name)
            if dynamic_shared_bytes:
                most = self._driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                found.set_attribute(most, dynamic_shared_bytes)
        return found

    def prepared(self, calls: Sequence[KernelCall], stream: Any = None) -> PreparedLaunches:
        # pycuda packs NumPy's numbers, but not NumPy's bool.
        arguments = [
            [np.uint8(one) if isinstance(one, np.bool_) else one for one in call.arguments]
            for call in calls
        ]
        pointers = [
            (values, place)
            for values in arguments
            for place, value in enumerate(values)
            if value is None
        ]

        def point(addresses: Sequence[int] | NDArray[np.uint64]) -> None:
            for (values, place), address in zip(pointers, addresses, strict=True):
                values[place] = np.uintp(address)

        def made(call: KernelCall, values: Sequence[np.generic | None]) -> Callable[[], None]:
            sizes = {"grid": call.grid, "block": call.block, "shared": call.dynamic_shared_bytes}

            def make() -> None:
                with self._telling():
                    call.function(*values, **sizes, stream=stream)

            return make

        return PreparedLaunches(point, tuple(map(made, calls, arguments)))

    def order(self, before: Any, after: Any) -> None:
        with self._telling():
            event = self._driver.Event().record(before)
            if after is None:
                event.synchronize()
            else:
                after.wait_for_event(event)

    def wait_for_stream(self, stream: Any) -> None:
        with self._telling():
            (self._driver.Context if stream is None else stream).synchronize()

    def wait(self) -> None:
        with self._telling():
            self._driver.Context.synchronize()

    def seconds(self, work: Callable[[], None]) -> float:
        with self._telling():
            begin, end = self._driver.Event(), self._driver.Event()
            begin.record()
            work()
            end.record()
            end.synchronize()
            return float(end.time_since(begin)) * 1e-3

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except self._driver.Error as error:
            raise DriverError(str(error)) from None
