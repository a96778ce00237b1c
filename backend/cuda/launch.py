"""An executor on a GPU, through the binding of the driver that is here.

NVRTC compiles the text for the device at hand, and the driver loads it as CUBIN. So the driver's
own PTX compiler, which may be older than NVRTC, is not used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from attrs import define, field
from numpy.typing import NDArray

from backend.cuda.drivers.driver import Driver, DriverError, PreparedLaunch
from backend.cuda.drivers.present import present_driver
from backend.cuda.errors import CudaLaunchError, CudaUnavailable
from backend.cuda.kernel import CudaKernel, CudaModule
from backend.cuda.memory_pool import MemoryPool
from backend.cuda.nvrtc import compile_cuda
from backend.cuda.plan import PlannedLaunch
from backend.cuda.program import CudaExecutor, Session


def gpu_available() -> tuple[bool, str]:
    """Whether a GPU can run kernels, and why: the GPU's name, or what is missing."""
    try:
        return True, present_driver().device_name(0)
    except CudaUnavailable as error:
        return False, str(error)


class GpuExecutor(CudaExecutor):
    """Runs CUDA host programs on a GPU, through ``cuda-bindings`` or ``pycuda``: the first of them
    that is installed.

    An executor compiles each text once, and keeps memory for later runs: at most as much as was in
    use at once. It uses the device's primary context and does not change the caller's current
    context.

    Raises:
        CudaUnavailable: there is no binding, no driver, or no device of that number.
    """

    def __init__(self, device: int = 0) -> None:
        driver = present_driver()
        count = driver.count()
        if not 0 <= device < count:
            raise CudaUnavailable(f"there is no GPU {device}; there are {count}, counted from 0")
        self._number = device
        self._device = _GpuDevice(driver, "sm_{}{}".format(*driver.capability(device)))

    @property
    def arch(self) -> str:
        """The device's compute capability, as ``sm_80``."""
        return self._device.arch

    @property
    def binding(self) -> str:
        """The package through which it calls the driver."""
        return self._device.driver.binding

    @contextmanager
    def session(
        self,
        module: CudaModule,
        buffers: Mapping[str, NDArray[Any]],
        unset: Collection[str] = (),
    ) -> Iterator[Session[Any]]:
        with (
            self._device.driver.context(self._number),
            Session[Any](self._device, module, buffers, unset) as session,
        ):
            yield session

    def release(self) -> None:
        """Gives memory that earlier runs used back to the device."""
        with self._device.driver.context(self._number):
            self._device.release()


@define(eq=False)
class _GpuDevice:
    """The `program.CudaDevice` of a GPU; an address is its memory."""

    driver: Driver
    arch: str
    _modules: dict[CudaModule, Any] = field(factory=dict)
    _functions: dict[tuple[CudaModule, str], Any] = field(factory=dict)
    _launches: WeakKeyDictionary[PlannedLaunch, PreparedLaunch] = field(factory=WeakKeyDictionary)
    _guard: threading.Lock = field(factory=threading.Lock)
    _pool: MemoryPool = field(init=False)

    @_pool.default
    def _made_pool(self) -> MemoryPool:
        return MemoryPool(self.driver.allocate, self.driver.free, DriverError)

    def allocate(self, nbytes: int) -> int:
        with _telling(f"allocating {nbytes} bytes"):
            return self._pool.take(nbytes)

    def upload(self, memory: int, host: NDArray[Any]) -> None:
        if host.nbytes:
            with _telling(f"copying {host.nbytes} bytes to the GPU"):
                self.driver.upload(memory, host)

    def download(self, memory: int, host: NDArray[Any]) -> None:
        if host.nbytes:
            with _telling(f"copying {host.nbytes} bytes from the GPU"):
                self.driver.download(host, memory)

    def launch(self, module: CudaModule, launch: PlannedLaunch, memory: Sequence[int]) -> None:
        kernel = launch.kernel
        what = f"launching kernel {kernel.name}, grid {launch.grid}, block {kernel.block}"
        with _telling(what):
            prepared = self._launches.get(launch)
            if prepared is None:
                prepared = self._launches[launch] = self.driver.launch(
                    self._function(module, kernel),
                    launch.grid,
                    kernel.block,
                    kernel.dynamic_shared_bytes,
                    launch.values,
                )
            with self._guard:  # the addresses stand in one place until the driver has read them
                prepared(memory)

    def free(self, memory: int) -> None:
        with _telling("freeing memory"):
            self._pool.give(memory)

    def release(self) -> None:
        with _telling("freeing memory"):
            self._pool.clear()

    def wait(self) -> None:
        with _telling("waiting for kernels"):
            self.driver.wait()

    def timed(self, work: Callable[[], None]) -> float:
        with _telling("timing kernels"):
            return self.driver.seconds(work)

    def _function(self, module: CudaModule, kernel: CudaKernel) -> Any:
        key = module, kernel.name
        if key not in self._functions:
            loaded, shared = self._loaded(module), kernel.dynamic_shared_bytes
            self._functions[key] = self.driver.function(loaded, kernel.name, shared)
        return self._functions[key]

    def _loaded(self, module: CudaModule) -> Any:
        if module not in self._modules:
            cubin = compiled_module(module, self.arch)
            with _telling("loading a CUBIN"):
                self._modules[module] = self.driver.load(cubin)
        return self._modules[module]


def compiled_module(module: CudaModule, arch: str) -> bytes:
    """The CUBIN of a text for a GPU."""
    return compile_cuda(module.source, arch, float_mode=module.float_mode).cubin


@contextmanager
def _telling(what: str) -> Iterator[None]:
    """Says what the GPU was asked for when the driver refused."""
    try:
        yield
    except DriverError as error:
        raise CudaLaunchError(f"the GPU failed while {what}: {error}") from error
