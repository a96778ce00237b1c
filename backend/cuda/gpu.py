"""A GPU as its calls use it: memory, loaded modules and launched kernels."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from spaces.backend.arrays.device_array import DeviceArray
from spaces.backend.arrays.dlpack import dense_strides
from spaces.backend.arrays.streams import Stream
from spaces.backend.cuda.drivers.driver import Driver, DriverError
from spaces.backend.cuda.faults import LaunchedKernels
from spaces.backend.cuda.kernel import CudaModule
from spaces.backend.cuda.loaded_modules import LoadedModules
from spaces.backend.cuda.memory_pool import MemoryPool
from spaces.backend.cuda.plan import DevicePart, Plan
from spaces.backend.cuda.program import RunPart
from spaces.backend.cuda.ready_plan import ReadyPart


@define(eq=False)
class Gpu:
    """One GPU of this machine.

    Attributes:
        driver: calls it.
        number: which one of this machine.
        arch: its compute capability, as ``sm_80``.
        compiled: the CUBIN of a text.
        synchronous: whether each launch waits for its kernel, so that an error names it.
    """

    driver: Driver
    number: int
    arch: str
    compiled: Callable[[CudaModule], bytes]
    synchronous: bool
    launched: LaunchedKernels = field(init=False, factory=LaunchedKernels)
    pool: MemoryPool = field(init=False)
    modules: LoadedModules = field(init=False)
    guard: threading.Lock = field(init=False, factory=threading.Lock)

    @pool.default
    def _made_pool(self) -> MemoryPool:
        return MemoryPool(self.driver.allocate, partial(_freed, self.driver), DriverError)

    @modules.default
    def _no_modules(self) -> LoadedModules:
        return LoadedModules(self.driver, self.compiled)

    def __attrs_post_init__(self) -> None:
        end = weakref.finalize(self, _ended, self.driver, self.number, self.pool, self.modules)
        end.atexit = False  # then the driver ends all by itself

    @contextmanager
    def context(self) -> Iterator[None]:
        """Makes the primary context of the GPU current while it is entered."""
        with self.driver.context(self.number):
            yield

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream) -> DeviceArray:
        """A new array without gaps, contents undefined."""
        strides = dense_strides(shape, dtype.itemsize)
        with self.context():
            nbytes = math.prod(shape) * dtype.itemsize
            with self.launched.told(f"allocating {nbytes} bytes"):
                address = self.pool.take(nbytes, stream.handle)
        owner = _Owner(self)
        weakref.finalize(owner, self.pool.give_later, address)
        return DeviceArray(self, address, shape, dtype, strides, stream=stream, owner=owner)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream) -> DeviceArray:
        """A new array without gaps, of zeros."""
        return self.filled(np.zeros(shape, dtype), stream)

    def filled(self, host: NDArray[Any], stream: Stream) -> DeviceArray:
        """A new array with the values of an array in the memory of the CPU."""
        made, dense = self.empty(host.shape, host.dtype, stream), np.ascontiguousarray(host)
        with self.context():
            queue = GpuQueue(self, stream)
            queue.upload(made.address, dense)
            queue.wait()  # the caller may now change its array
        return made

    def read(self, address: int, host: NDArray[Any], stream: Stream) -> None:
        """Waits for a stream, then fills a C-contiguous array."""
        with self.context():
            GpuQueue(self, stream).download(address, host)

    def copy(self, to: int, source: int, nbytes: int, stream: Stream) -> None:
        """Copies within the memory."""
        with self.context(), self.launched.told(f"copying {nbytes} bytes on the GPU"):
            self.driver.copy_on_device(to, source, nbytes, self.native(stream))

    def order(self, before: Stream, after: Stream) -> None:
        """Lets later work of the stream ``after`` wait for earlier work of ``before``."""
        if before == after:
            return
        with self.context(), self.launched.told("waiting for another stream"):
            try:
                first = self.driver.stream_of(before.handle, before.given)
            except DriverError:  # the binding knows only its own
                self.driver.wait()
            else:
                self.driver.order(first, self.native(after))

    def native(self, stream: Stream) -> Any:
        """A stream as the driver takes it."""
        with self.launched.told("taking a stream"):
            return self.driver.stream_of(stream.handle, stream.given)

    def device_of(self, address: int) -> int | None:
        """The number of the GPU that has this memory; None if nothing tells.

        Raises:
            DriverError: it is no memory of a GPU.
        """
        with self.context():
            return self.driver.device_of(address)

    def release(self) -> None:
        """Gives unused memory and unused modules back."""
        with self.context(), self.launched.told("freeing memory"):
            self.modules.unload_unused()
            self.pool.clear()


def _freed(driver: Driver, address: int) -> None:
    driver.wait()  # for kernels of any stream that still use it
    driver.free(address)


def _ended(driver: Driver, number: int, pool: MemoryPool, modules: LoadedModules) -> None:
    """Gives back what a GPU had that nobody uses."""
    # After a fault of a kernel the driver refuses all, and has nothing left.
    with suppress(DriverError), driver.context(number):
        modules.unload()
        pool.clear()


@define(eq=False)
class _Owner:
    """Keeps the memory of an array, and ends before its GPU."""

    gpu: Gpu


@frozen(eq=False)
class GpuQueue:
    """The `program.CudaDevice` of one stream of a GPU; an address is its memory."""

    gpu: Gpu
    stream: Stream
    _native: Any = field(init=False)

    @_native.default
    def _found_native(self) -> Any:
        return self.gpu.native(self.stream)

    def allocate(self, nbytes: int) -> int:
        with self.gpu.launched.told(f"allocating {nbytes} bytes"):
            return self.gpu.pool.take(nbytes, self.stream.handle)

    def upload(self, memory: int, host: NDArray[Any]) -> None:
        if host.nbytes:
            with self.gpu.launched.told(f"copying {host.nbytes} bytes to the GPU"):
                self.gpu.driver.upload(memory, host, self._native)

    def download(self, memory: int, host: NDArray[Any]) -> None:
        if host.nbytes:
            with self.gpu.launched.told(f"copying {host.nbytes} bytes from the GPU"):
                self.gpu.driver.download(host, memory, self._native)
                self.gpu.launched.clear(self.stream)

    @contextmanager
    def running(self, module: CudaModule, planned: Plan) -> Iterator[RunPart[int]]:
        gpu = self.gpu
        with gpu.launched.told("loading kernels"):
            ready = gpu.modules.ready(module, planned, self.stream)
        scratch = self.allocate(ready.nbytes) if ready.nbytes else 0

        def run(part: DevicePart, memory: Mapping[str, int]) -> None:
            self._launch(ready.parts[part], scratch, memory)

        try:
            yield run
        finally:
            if scratch:
                self.free(scratch)

    def _launch(self, part: ReadyPart, scratch: int, memory: Mapping[str, int]) -> None:
        gpu, made = self.gpu, 0
        try:
            with gpu.guard:  # the addresses stand in one place until the driver has read them
                part.point(scratch, memory)
                for make in part.makes:
                    make()
                    if gpu.synchronous:
                        gpu.driver.wait_for_stream(self._native)
                    made += 1
        except DriverError as error:
            launch = part.launches[made]
            kernel = launch.kernel
            what = f"launching kernel {kernel.name}, grid {launch.grid}, block {kernel.block}"
            if not gpu.synchronous:
                gpu.launched.add(part.names[:made], self.stream)
            raise gpu.launched.failed(what, error) from error
        if not gpu.synchronous:
            gpu.launched.add(part.names, self.stream)

    def free(self, memory: int) -> None:
        with self.gpu.launched.told("freeing memory"):
            self.gpu.pool.give(memory)

    def wait(self) -> None:
        with self.gpu.launched.told("waiting for kernels"):
            self.gpu.driver.wait_for_stream(self._native)
            self.gpu.launched.clear(self.stream)

    def timed(self, work: Callable[[], None]) -> float:
        with self.gpu.launched.told("timing kernels"):
            return self.gpu.driver.seconds(work)
