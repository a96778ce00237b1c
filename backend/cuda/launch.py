"""An executor on a GPU, through pycuda. Importing this file needs neither pycuda nor a GPU.

NVRTC compiles the text for the device at hand, and the driver loads it as CUBIN. So the driver's
own PTX compiler, which may be older than NVRTC, is not used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.cuda.errors import CudaLaunchError, CudaUnavailable
from backend.cuda.kernel import CudaKernel, CudaModule, Dim3
from backend.cuda.nvrtc import compile_cuda
from backend.cuda.program import CudaExecutor, Session
from spaces.model.extras import how_to_install


def gpu_available() -> tuple[bool, str]:
    """Whether a GPU can run kernels, and why: the GPU's name, or what is missing."""
    try:
        return True, str(_driver().Device(0).name())
    except CudaUnavailable as error:
        return False, str(error)


class PycudaExecutor(CudaExecutor):
    """Runs CUDA host programs on a GPU.

    An executor compiles each text once. It uses the device's primary context and does not change
    the caller's current context.

    Raises:
        CudaUnavailable: pycuda, a driver or the device of that number is missing.
    """

    def __init__(self, device: int = 0) -> None:
        driver = _driver()
        count = driver.Device.count()
        if not 0 <= device < count:
            raise CudaUnavailable(f"there is no GPU {device}; there are {count}, counted from 0")
        self._context = driver.Device(device).retain_primary_context()
        self._device = _GpuDevice(driver, device)

    @property
    def arch(self) -> str:
        """The device's compute capability, as ``sm_80``."""
        return self._device.arch

    @contextmanager
    def session(
        self, module: CudaModule, buffers: Mapping[str, NDArray[Any]]
    ) -> Iterator[Session[Any]]:
        self._context.push()
        try:
            with Session[Any](self._device, module, buffers) as session:
                yield session
        finally:
            self._context.pop()


class _GpuDevice:
    """The `program.CudaDevice` of pycuda; a DeviceAllocation is its memory."""

    def __init__(self, driver: Any, number: int) -> None:
        self._driver = driver
        major, minor = driver.Device(number).compute_capability()
        self.arch = f"sm_{major}{minor}"
        self._modules: dict[CudaModule, Any] = {}

    def allocate(self, nbytes: int) -> Any:
        with self._telling(f"allocating {nbytes} bytes"):
            return self._driver.mem_alloc(max(nbytes, 1))

    def upload(self, memory: Any, host: NDArray[Any]) -> None:
        if host.nbytes:
            with self._telling(f"copying {host.nbytes} bytes to the GPU"):
                self._driver.memcpy_htod(memory, host)

    def download(self, memory: Any, host: NDArray[Any]) -> None:
        if host.nbytes:
            with self._telling(f"copying {host.nbytes} bytes from the GPU"):
                self._driver.memcpy_dtoh(host, memory)

    def launch(
        self,
        module: CudaModule,
        kernel: CudaKernel,
        grid: Dim3,
        arguments: tuple[Any, ...],
    ) -> None:
        loaded = self._load(module)
        # pycuda packs NumPy's numbers, but not NumPy's bool.
        packed = [np.uint8(each) if isinstance(each, np.bool_) else each for each in arguments]
        shared = kernel.dynamic_shared_bytes
        with self._telling(f"launching kernel {kernel.name}, grid {grid}, block {kernel.block}"):
            function = loaded.get_function(kernel.name)
            if shared:
                limit = self._driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                function.set_attribute(limit, shared)
            function(*packed, grid=grid, block=kernel.block, shared=shared)

    def free(self, memory: Any) -> None:
        memory.free()

    def wait(self) -> None:
        with self._telling("waiting for kernels"):
            self._driver.Context.synchronize()

    def timed(self, work: Callable[[], None]) -> float:
        begin, end = self._driver.Event(), self._driver.Event()
        with self._telling("timing kernels"):
            begin.record()
            work()
            end.record()
            end.synchronize()
            return float(end.time_since(begin)) * 1e-3

    def _load(self, module: CudaModule) -> Any:
        if module not in self._modules:
            cubin = compile_cuda(module.source, self.arch).cubin
            with self._telling("loading a CUBIN"):
                self._modules[module] = self._driver.module_from_buffer(cubin)
        return self._modules[module]

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        """Turns pycuda's error into a CudaLaunchError; it is not a RuntimeError."""
        try:
            yield
        except self._driver.Error as error:
            raise CudaLaunchError(f"the GPU failed while {what}: {error}") from error


def _driver() -> Any:
    """The driver module of pycuda, initialized, with at least one device."""
    try:
        driver: Any = importlib.import_module("pycuda.driver")
    except ImportError as error:
        raise CudaUnavailable(
            f"pycuda can't be imported ({error}); launching needs an NVIDIA driver and the extra "
            f"that holds pycuda ({how_to_install('gpu')})"
        ) from None
    try:
        driver.init()
        count = driver.Device.count()
    except driver.Error as error:
        raise CudaUnavailable(f"the CUDA driver finds no device it can use ({error})") from None
    if count == 0:
        raise CudaUnavailable("the CUDA driver finds no device")
    return driver
