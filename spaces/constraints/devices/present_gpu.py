"""The GPU of this machine, as its driver describes it."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, create_string_buffer

from attrs import frozen

LIBRARY = "libcuda.so.1"
"""The driver's library."""

# CUdevice_attribute of cuda.h.
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76

_LONGEST_NAME = 256


class NoGpuError(ValueError):
    """The driver describes no GPU; the message says what is missing."""


@frozen
class PresentGpu:
    """What the driver says of a GPU.

    Attributes:
        product: its name, such as ``NVIDIA H100 80GB HBM3``.
        capability: its compute capability, as ``sm_90``.
        sm_count: the number of its multiprocessors.
    """

    product: str
    capability: str
    sm_count: int


def present_gpu(library: str = LIBRARY) -> PresentGpu:
    """The first GPU that the driver ``library`` has.

    Raises:
        NoGpuError: there is no driver, or it has no GPU.
    """
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        raise NoGpuError(f"no NVIDIA driver is installed ({library} is missing)") from None
    gpu = c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGet(byref(gpu), 0) != 0:
        raise NoGpuError("the NVIDIA driver finds no GPU")
    name = create_string_buffer(_LONGEST_NAME)
    if driver.cuDeviceGetName(name, _LONGEST_NAME, gpu) != 0:
        raise NoGpuError("the NVIDIA driver does not describe its GPU")
    major, minor, count = (_attribute(driver, a, gpu) for a in (_MAJOR, _MINOR, _MULTIPROCESSORS))
    return PresentGpu(name.value.decode(errors="replace"), f"sm_{major}{minor}", count)


def _attribute(driver: ctypes.CDLL, attribute: int, gpu: c_int) -> int:
    value = c_int()
    if driver.cuDeviceGetAttribute(byref(value), attribute, gpu) != 0:
        raise NoGpuError("the NVIDIA driver does not describe its GPU")
    return value.value
