"""Halide's objects, which it compiled ahead of time, called on memory of the card.

The layouts are those of ``halide_buffer_t`` and ``halide_dimension_t`` in HalideRuntime.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu.runner.card import Card
from bench.gpu.runner.inputs import Array
from bench.gpu.runner.programs import POISON, Memory

_DEVICE_DIRTY = 2
_CODES = {"i": 0, "u": 1, "b": 1, "f": 2}
_LIBRARY_OF_DRIVER = "libcuda.so.1"


class HalideFailed(Exception):
    """Halide's code or its runtime refuses a call; ``str`` is what it says."""


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Dimension(ctypes.Structure):
    _fields_ = (
        ("min", ctypes.c_int32),
        ("extent", ctypes.c_int32),
        ("stride", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    )


class _Buffer(ctypes.Structure):
    _fields_ = (
        ("device", ctypes.c_uint64),
        ("device_interface", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("type", _Type),
        ("dimensions", ctypes.c_int32),
        ("dim", ctypes.POINTER(_Dimension)),
        ("padding", ctypes.c_void_p),
    )


class HalideRuntime:
    """Halide's runtime in this process, which shares the card's context and stream with us."""

    def __init__(self, card: Card, library: Path) -> None:
        # The runtime takes the driver's functions that the process has; else it opens libcuda.so,
        # a name that only machines with the files for developers have.
        ctypes.CDLL(_LIBRARY_OF_DRIVER, mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self.library.bench_message.restype = ctypes.c_char_p
        self.library.bench_begin(*map(ctypes.c_void_p, card.handles))

    def check(self, status: int) -> None:
        """Raises HalideFailed unless a call has succeeded."""
        if status:
            said = " ".join((self.library.bench_message() or b"").decode(errors="replace").split())
            raise HalideFailed(said or f"error {status}")


class HalideProgram:
    """A pipeline that Halide compiled."""

    def __init__(
        self,
        card: Card,
        runtime: HalideRuntime,
        folder: Path,
        record: Mapping[str, Any],
        images: Mapping[str, tuple[Array, int]],
        outputs: Mapping[str, Array],
        mins: Mapping[str, Sequence[int]],
        scalars: Mapping[str, Sequence[Any]],
    ) -> None:
        self._card = card
        self._runtime = runtime
        self._memory = Memory(card)
        self._outputs = {name: np.empty_like(array) for name, array in outputs.items()}
        self._addresses = {n: self._memory.take(a.nbytes) for n, a in self._outputs.items()}
        written = {n: (a, self._addresses[n]) for n, a in self._outputs.items()}
        self._buffers = {
            name: self._buffer(array, address, mins[name])
            for name, (array, address) in {**images, **written}.items()
        }
        self._on_card: set[str] = set()  # the outputs whose last stage runs there
        self._scalars = {
            name: np.array(value, np.dtype(dtype)) for name, (dtype, value) in scalars.items()
        }
        places = [self._place(name) for name in record["arguments"]]
        self._arguments = (ctypes.c_void_p * len(places))(*places)
        library = ctypes.CDLL(str(folder / record["library"]))
        self._entry = getattr(library, f"{record['function']}_argv")

    def _buffer(self, array: Array, address: int, mins: Sequence[int]) -> _Buffer:
        dimensions = (_Dimension * max(array.ndim, 1))()
        for d, low in enumerate(mins):
            axis = array.ndim - 1 - d
            stride = array.strides[axis] // array.itemsize
            dimensions[d] = _Dimension(low, array.shape[axis], stride, 0)
        bits = 1 if array.dtype.kind == "b" else 8 * array.itemsize
        element = _Type(_CODES[array.dtype.kind], bits, 1)
        made = _Buffer(0, None, array.ctypes.data, 0, element, array.ndim, dimensions, None)
        wrap = self._runtime.library.halide_cuda_wrap_device_ptr
        self._runtime.check(wrap(None, ctypes.byref(made), ctypes.c_uint64(address)))
        return made

    def _place(self, name: str) -> int:
        if name in self._buffers:
            return ctypes.addressof(self._buffers[name])
        return self._scalars[name].ctypes.data

    def run(self) -> None:
        self._runtime.check(self._entry(self._arguments))
        for name in self._outputs:
            if self._buffers[name].flags & _DEVICE_DIRTY:
                self._on_card.add(name)

    def poison(self) -> None:
        self._memory.fill(POISON)
        for name, array in self._outputs.items():
            array.reshape(-1).view(np.uint8)[:] = POISON
            self._buffers[name].flags = 0

    def results(self) -> dict[str, Array]:
        self._card.wait()
        for name, array in self._outputs.items():
            if name in self._on_card:
                self._card.download(array, self._addresses[name])
        return {name: array.copy() for name, array in self._outputs.items()}

    def parts(self) -> list[tuple[str, Callable[[], None]]]:
        return []

    def release(self) -> None:
        self._memory.release()
