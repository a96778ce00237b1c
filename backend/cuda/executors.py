"""The executor of calls that name none."""

from __future__ import annotations

from functools import cache

from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.backend.cuda.launch import GpuExecutor
from spaces.backend.cuda.program import CudaExecutor


@cache
def present_executor() -> CudaExecutor:
    """The first GPU of this machine, or the emulator where no GPU can run kernels. One for the
    process: it keeps the kernels that it has loaded.
    """
    try:
        return GpuExecutor()
    except CudaUnavailable:
        return Emulator()
