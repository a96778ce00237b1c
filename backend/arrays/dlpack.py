"""DLPack, by which libraries hand arrays to each other without copies (DLPack 1.0, dlpack.h).

A capsule holds the address of a record in C, which says where the elements are and how to give them
back. A capsule is received once.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import field, frozen

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
"""Kinds of devices: ``DLDeviceType``."""

ON_HOST = (CPU, CUDA_HOST, CUDA_MANAGED)
ON_GPU = (CUDA, CUDA_MANAGED)

_READ_ONLY = 1
_KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}
"""``DLDataTypeCode`` by NumPy's kinds."""

_NAME, _VERSIONED = b"dltensor", b"dltensor_versioned"
_USED = {_NAME: b"used_dltensor", _VERSIONED: b"used_dltensor_versioned"}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_kind", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("owner", ctypes.c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("owner", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_RECORDS: dict[bytes, type[_Managed] | type[_Versioned]] = {_NAME: _Managed, _VERSIONED: _Versioned}
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _python(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """A function of Python's C interface."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


# The destructor of a capsule gets an object that is ending, which Python code must not hold: there,
# capsules are plain addresses.
_new = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_rename = _python("PyCapsule_SetName", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)


@frozen
class DlpackArray:
    """Where elements are and how they lie.

    Attributes:
        address: of the first element.
        shape: the elements along each axis.
        strides: bytes from one element to the next, along each axis.
        device_kind: one of the kinds above.
        device_number: which device of that kind.
        owner: keeps the elements alive.
    """

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    device_kind: int
    device_number: int
    is_read_only: bool
    owner: object = field(eq=False, repr=False)


class _Loan:
    """What a producer lends until this object ends."""


def received(given: Any, **options: Any) -> DlpackArray:
    """The array that an object with ``__dlpack__`` hands out.

    Args:
        given: the object.
        options: what its method is asked for, such as ``stream``.

    Raises:
        TypeError: the elements have a type that NumPy does not have, or a version of DLPack that is
            not known.
    """
    try:
        capsule = given.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # before DLPack 1.0
        capsule = given.__dlpack__(**options)
    place = id(capsule)
    name = next((one for one in _RECORDS if _is_valid(place, one)), None)
    if name is None:
        raise TypeError("its __dlpack__ gives no capsule of DLPack")
    record = _RECORDS[name].from_address(_pointer(place, name))
    if isinstance(record, _Versioned) and record.major > 1:
        raise TypeError(f"it speaks DLPack {record.major}.{record.minor}; 1.0 is understood")
    tensor = record.tensor
    dtype = _dtype(tensor)
    _rename(place, _USED[name])
    held = _Loan()
    if record.deleter:
        weakref.finalize(held, record.deleter, ctypes.addressof(record))
    shape = tuple(tensor.shape[: tensor.dimensions])
    strides = tensor.strides[: tensor.dimensions] if tensor.strides else dense_strides(shape, 1)
    return DlpackArray(
        (tensor.data or 0) + tensor.byte_offset,
        shape,
        dtype,
        tuple(stride * dtype.itemsize for stride in strides),
        tensor.device_kind,
        tensor.device_number,
        isinstance(record, _Versioned) and bool(record.flags & _READ_ONLY),
        held,
    )


def _dtype(tensor: _Tensor) -> np.dtype[Any]:
    kinds = {code: kind for kind, code in _KINDS.items()}
    kind, lanes = kinds.get(tensor.code), tensor.lanes
    if kind is None or lanes != 1 or tensor.bits % 8:
        what = f"type {tensor.code} of {tensor.bits} bits in {lanes} lanes"
        raise TypeError(f"its elements are of DLPack's {what}, which NumPy does not have")
    return np.dtype(bool if kind == "b" else f"{kind}{tensor.bits // 8}")


def dense_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of an array without gaps, its last axis the innermost."""
    strides, step = [0] * len(shape), itemsize
    for axis in reversed(range(len(shape))):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


_lent: dict[int, tuple[object, ...]] = {}
"""By the address of its record, what stands in memory until the receiver gives it back."""


def _given_back(address: int) -> None:
    _lent.pop(address, None)


def _ended(capsule: int) -> None:
    """Gives back what a capsule holds that nobody has received."""
    for name in _RECORDS:
        if _is_valid(capsule, name):
            _given_back(_pointer(capsule, name))


_give_back, _end = _Deleter(_given_back), _Destructor(_ended)


def sent(array: DlpackArray, *, is_versioned: bool) -> Any:
    """A capsule of an array. Only versioned ones say that elements must not be written."""
    count = len(array.shape)
    axes = ctypes.c_int64 * max(count, 1)
    shape = axes(*array.shape)
    strides = axes(*(stride // array.dtype.itemsize for stride in array.strides))
    tensor = _Tensor(
        array.address,
        array.device_kind,
        array.device_number,
        count,
        _KINDS[array.dtype.kind],
        array.dtype.itemsize * 8,
        1,
        shape,
        strides,
        0,
    )
    name = _VERSIONED if is_versioned else _NAME
    record: _Managed | _Versioned
    if is_versioned:
        record = _Versioned(1, 0, None, _give_back, int(array.is_read_only), tensor)
    else:
        record = _Managed(tensor, None, _give_back)
    address = ctypes.addressof(record)
    _lent[address] = (record, shape, strides, array.owner)
    return _new(address, name, ctypes.cast(_end, ctypes.c_void_p))
