"""The part of ``pycuda.driver`` that this library uses, over the library of the driver: pycuda has
no wheels. It is as strict as pycuda with arguments, and calls the driver as pycuda does.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

_cuda = ctypes.CDLL("libcuda.so.1")
_Pointer, _Address, _Size = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t


class Error(Exception):
    """What the driver refuses; no RuntimeError."""


def _ask(name: str, *arguments: Any) -> None:
    status = getattr(_cuda, name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        _cuda.cuGetErrorString(status, ctypes.byref(text))
        raise Error(f"{name} failed: {(text.value or b'unknown').decode()}")


def init(flags: int = 0) -> None:
    _ask("cuInit", flags)


class _Context:
    def __init__(self, number: int) -> None:
        self._native = _Pointer()
        _ask("cuDevicePrimaryCtxRetain", ctypes.byref(self._native), number)

    def push(self) -> None:
        _ask("cuCtxPushCurrent_v2", self._native)

    @staticmethod
    def pop() -> None:
        _ask("cuCtxPopCurrent_v2", ctypes.byref(_Pointer()))

    @staticmethod
    def synchronize() -> None:
        _ask("cuCtxSynchronize")


Context = _Context


class Device:
    def __init__(self, number: int) -> None:
        self._number = number

    @staticmethod
    def count() -> int:
        found = ctypes.c_int()
        _ask("cuDeviceGetCount", ctypes.byref(found))
        return found.value

    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        _ask("cuDeviceGetName", text, 256, self._number)
        return text.value.decode()

    def compute_capability(self) -> tuple[int, int]:
        found = [ctypes.c_int(), ctypes.c_int()]
        for one, attribute in zip(found, (75, 76), strict=True):
            _ask("cuDeviceGetAttribute", ctypes.byref(one), attribute, self._number)
        return found[0].value, found[1].value

    def retain_primary_context(self) -> _Context:
        return _Context(self._number)


def _in_context(name: str, *arguments: Any) -> None:
    """Ends a thing of the driver; pycuda makes its context current for that."""
    _cuda.cuCtxPushCurrent_v2(_Pointer(0x100))
    _ask(name, *arguments)
    _cuda.cuCtxPopCurrent_v2(ctypes.byref(_Pointer()))


class DeviceAllocation:
    """Memory that ends when nothing refers to it, or by :meth:`free`."""

    def __init__(self, address: int) -> None:
        self._address = address
        self._end = weakref.finalize(self, _in_context, "cuMemFree_v2", _Address(address))
        self._end.atexit = False

    def __int__(self) -> int:
        return self._address

    def free(self) -> None:
        assert self._end.alive, "freed twice"
        self._end()


def mem_alloc(nbytes: int) -> DeviceAllocation:
    address = _Address()
    _ask("cuMemAlloc_v2", ctypes.byref(address), _Size(nbytes))
    return DeviceAllocation(address.value)


class Stream:
    def __init__(self, flags: int = 0) -> None:
        native = _Pointer()
        _ask("cuStreamCreate", ctypes.byref(native), flags)
        self.handle = native.value or 0

    def synchronize(self) -> None:
        _ask("cuStreamSynchronize", _Pointer(self.handle))

    def wait_for_event(self, event: Event) -> None:
        _ask("cuStreamWaitEvent", _Pointer(self.handle), event.native, 0)


def _handle(stream: Stream | None) -> ctypes.c_void_p:
    assert stream is None or isinstance(stream, Stream)
    return _Pointer(0 if stream is None else stream.handle)


class Event:
    def __init__(self) -> None:
        self.native = _Pointer()
        _ask("cuEventCreate", ctypes.byref(self.native), 0)
        weakref.finalize(self, _ask, "cuEventDestroy_v2", self.native).atexit = False

    def record(self, stream: Stream | None = None) -> Event:
        _ask("cuEventRecord", self.native, _handle(stream))
        return self

    def synchronize(self) -> None:
        _ask("cuEventSynchronize", self.native)

    def time_since(self, begin: Event) -> float:
        found = ctypes.c_float()
        _ask("cuEventElapsedTime", ctypes.byref(found), begin.native, self.native)
        return found.value


def memcpy_htod_async(to: int, host: NDArray[Any], stream: Stream | None = None) -> None:
    assert host.flags.c_contiguous
    _ask("cuMemcpyHtoDAsync_v2", _Address(to), _Pointer(host.ctypes.data), _Size(host.nbytes),
         _handle(stream))  # fmt: skip


def memcpy_dtoh_async(host: NDArray[Any], source: int, stream: Stream | None = None) -> None:
    assert host.flags.c_contiguous
    assert host.flags.writeable
    _ask("cuMemcpyDtoHAsync_v2", _Pointer(host.ctypes.data), _Address(source), _Size(host.nbytes),
         _handle(stream))  # fmt: skip


def memcpy_dtod_async(to: int, source: int, size: int, stream: Stream | None = None) -> None:
    _ask("cuMemcpyDtoDAsync_v2", _Address(to), _Address(source), _Size(size), _handle(stream))


function_attribute = SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=8)


class _Module:
    """Is unloaded when nothing refers to it, nor to its functions."""

    def __init__(self, cubin: bytes) -> None:
        self.native = _Pointer()
        _ask("cuModuleLoadData", ctypes.byref(self.native), cubin)
        weakref.finalize(self, _in_context, "cuModuleUnload", self.native).atexit = False

    def get_function(self, name: str) -> _Function:
        return _Function(self, name)


module_from_buffer = _Module


class _Function:
    def __init__(self, module: _Module, name: str) -> None:
        self._module = module
        self._native = _Pointer()
        _ask("cuModuleGetFunction", ctypes.byref(self._native), module.native, name.encode())

    def set_attribute(self, attribute: int, value: int) -> None:
        _ask("cuFuncSetAttribute", self._native, attribute, value)

    def __call__(
        self,
        *arguments: np.number[Any],
        grid: Sequence[int],
        block: Sequence[int],
        shared: int = 0,
        stream: Stream | None = None,
    ) -> None:
        if not all(isinstance(one, np.number) for one in arguments):
            raise TypeError("invalid type on parameter")
        values = [(ctypes.c_ubyte * 8)(*one.tobytes()) for one in arguments]
        places = (_Pointer * max(len(values), 1))(*map(ctypes.addressof, values))
        sizes = map(ctypes.c_uint, (*grid, *block, shared))
        _ask("cuLaunchKernel", self._native, *sizes, _handle(stream), places, None)


def use_pycuda() -> None:
    """From now on this is ``pycuda.driver``, and ``cuda-bindings`` is not installed."""
    sys.modules["pycuda"] = ModuleType("pycuda")
    sys.modules["pycuda.driver"] = sys.modules[__name__]
    sys.modules["cuda.bindings.driver"] = None  # type: ignore[assignment]
