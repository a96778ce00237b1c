"""An executor on a GPU, through the binding of the driver that is here.

NVRTC compiles the text for the device at hand, and the driver loads it as CUBIN. So the driver's
own PTX compiler, which may be older than NVRTC, is not used.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spaces.backend.arrays.device_array import DeviceArray
from spaces.backend.arrays.given import AnyArray, ArrayReader
from spaces.backend.arrays.streams import DEFAULT_STREAM, Stream, stream_of
from spaces.backend.cuda.drivers.present import present_driver
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.backend.cuda.foreign_arrays import gpu_reader
from spaces.backend.cuda.gpu import Gpu, GpuQueue
from spaces.backend.cuda.kernel import CudaModule
from spaces.backend.cuda.kernel_cache import KernelCache, user_cache
from spaces.backend.cuda.nvrtc import compile_cuda, compiler_options, nvrtc_version
from spaces.backend.cuda.program import CudaExecutor, Session


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
    use at once. A text is unloaded when its pipeline ends. An executor uses the device's primary
    context and does not change the caller's current context.

    Args:
        device: the number of the GPU, counted from 0.
        synchronous: whether each launch waits until its kernel ends. This is slow. It is for
            finding faults: an error names the one kernel that failed. Otherwise an error names all
            kernels that may have failed.
        cache: the folder that keeps compiled kernels from one process to the next: "user" is
            ``$XDG_CACHE_HOME/spaces/kernels`` (or ``~/.cache/spaces/kernels``), at most 256 MiB;
            None keeps none.

    Raises:
        CudaUnavailable: there is no binding, no driver, or no device of that number.
    """

    def __init__(
        self,
        device: int = 0,
        *,
        synchronous: bool = False,
        cache: KernelCache | Literal["user"] | None = "user",
    ) -> None:
        driver = present_driver()
        count = driver.count()
        if not 0 <= device < count:
            raise CudaUnavailable(f"there is no GPU {device}; there are {count}, counted from 0")
        arch = "sm_{}{}".format(*driver.capability(device))
        kept = user_cache() if cache == "user" else cache

        def compiled(module: CudaModule) -> bytes:
            return compiled_module(module, arch, kept)

        self._gpu = Gpu(driver, device, arch, compiled, synchronous)
        self._stream = DEFAULT_STREAM

    @property
    def arch(self) -> str:
        """The device's compute capability, as ``sm_80``."""
        return self._gpu.arch

    @property
    def binding(self) -> str:
        """The package through which it calls the driver."""
        return self._gpu.driver.binding

    @property
    def memory(self) -> Gpu:
        return self._gpu

    @property
    def stream(self) -> Stream:
        return self._stream

    @property
    def reader(self) -> ArrayReader:
        return gpu_reader(self._gpu, self._stream)

    def on(self, stream: object) -> GpuExecutor:
        chosen = stream_of(stream)
        if chosen == self._stream:
            return self
        other = copy.copy(self)
        other._stream = chosen
        return other

    def device_array(self, array: NDArray[Any]) -> DeviceArray:
        """A copy of an array in the memory of the GPU.

        Raises:
            CudaLaunchError: there is not enough memory.
        """
        return self._gpu.filled(np.asarray(array), self._stream)

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
        """A new array in the memory of the GPU, contents undefined.

        Raises:
            CudaLaunchError: there is not enough memory.
        """
        return self._gpu.empty(tuple(shape), np.dtype(dtype), self._stream)

    @contextmanager
    def session(
        self, module: CudaModule, buffers: Mapping[str, AnyArray], unset: Collection[str] = ()
    ) -> Iterator[Session[Any]]:
        queue = GpuQueue(self._gpu, self._stream)
        with self._gpu.context():
            self._gpu.modules.unload_unused()
            with Session[Any](queue, module, buffers, unset) as session:
                yield session

    def release(self) -> None:
        """Gives memory that earlier runs used, and texts of ended pipelines, back to the device."""
        self._gpu.release()


def compiled_module(module: CudaModule, arch: str, cache: KernelCache | None) -> bytes:
    """The CUBIN of a text for a GPU."""

    def compiled() -> bytes:
        return compile_cuda(module.source, arch, float_mode=module.float_mode).cubin

    if cache is None:
        return compiled()
    options = tuple(compiler_options(arch, module.float_mode))
    return cache.cubin(nvrtc_version(), options, module.source, compile=compiled)
