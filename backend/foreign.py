"""Foreign code of this process: C functions by name, and Python callables behind addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import Invoke
from spaces.model.algorithm.foreign import ForeignArray, callable_of
from spaces.model.expressions.types import Type

_CODES = {0: "int", 1: "uint", 2: "float"}


class ForeignCodeError(RuntimeError):
    """Foreign code is not there, or fails; ``str`` gives a sentence. Where a Python callable raised
    an exception, that is the cause.
    """


class _HalideDimension(ctypes.Structure):
    """Halide's ``halide_dimension_t``."""

    _fields_ = (
        ("min", ctypes.c_int32),
        ("extent", ctypes.c_int32),
        ("stride", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
    )


class _HalideBuffer(ctypes.Structure):
    """Halide's ``halide_buffer_t``."""

    _fields_ = (
        ("device", ctypes.c_uint64),
        ("device_interface", ctypes.c_void_p),
        ("host", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("dimensions", ctypes.c_int32),
        ("dim", ctypes.POINTER(_HalideDimension)),
        ("padding", ctypes.c_void_p),
    )


_lock = Lock()
_callbacks: dict[tuple[Callable[..., None], tuple[Type | None, ...]], Any] = {}
"""They live as long as the process: code may call them at any time."""

_raised: list[BaseException] = []
"""What callables have raised, until somebody asks."""


def foreign_symbols(program: LoopProgram) -> dict[str, int]:
    """The addresses of the foreign code that a program calls.

    Raises:
        ForeignCodeError: the process has no such code.
    """
    return {node.symbol: _address(node) for node in _invocations(program)}


def _invocations(program: LoopProgram) -> Iterator[Invoke]:
    for node in walk_nodes(program.body):
        if isinstance(node, Invoke):
            yield node


def _address(node: Invoke) -> int:
    code = callable_of(node.symbol)
    if code is not None:
        return _callback(code, node.kinds)
    found: int | None = llvm.address_of_symbol(node.symbol)
    if found is None:
        raise ForeignCodeError(
            f"This process has no C function {node.symbol}, which computes "
            f"{', '.join(node.arrays[-node.outputs :])}: load its library first, as in "
            "ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)."
        )
    return found


def _callback(code: Callable[..., None], kinds: tuple[Type | None, ...]) -> int:
    """The address of a C function that calls a Python callable. Of its arguments, ``kinds`` has the
    types of scalars, and None for arrays.
    """
    buffer = ctypes.POINTER(_HalideBuffer)
    given = [buffer if kind is None else np.ctypeslib.as_ctypes_type(kind.dtype) for kind in kinds]
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, *given)

    def called(*values: Any) -> int:
        try:
            pairs = zip(values, kinds, strict=True)
            code(*(_array(one.contents) if kind is None else one for one, kind in pairs))
        except BaseException as error:
            with _lock:
                _raised.append(error)
            return 1
        return 0

    with _lock:
        made = _callbacks.setdefault((code, kinds), kind(called))
    return int(ctypes.cast(made, ctypes.c_void_p).value or 0)


def _array(buffer: Any) -> ForeignArray:
    """The view of the memory of a buffer."""
    code, bits = _CODES[buffer.code], buffer.bits
    dtype = np.dtype(bool) if bits == 1 else np.dtype(f"{code}{bits}")
    dims = [buffer.dim[d] for d in range(buffer.dimensions)]
    reach = 1 + sum(max(d.extent - 1, 0) * d.stride for d in dims)
    memory = (ctypes.c_char * (reach * dtype.itemsize)).from_address(buffer.host)
    view = np.ndarray(
        shape=tuple(d.extent for d in reversed(dims)),
        dtype=dtype,
        buffer=memory,
        strides=tuple(d.stride * dtype.itemsize for d in reversed(dims)),
    )
    return ForeignArray(view, tuple(d.min for d in dims))


def foreign_failure(pipeline: str) -> ForeignCodeError:
    """The error of a run whose foreign code has failed."""
    with _lock:
        causes = list(_raised)
        _raised.clear()
    error = ForeignCodeError(f"Foreign code of pipeline {pipeline} fails.")
    if causes:
        error = ForeignCodeError(
            f"Foreign code of pipeline {pipeline} raises {type(causes[0]).__name__}: {causes[0]}"
        )
        error.__cause__ = causes[0]
    return error
