"""Streams of CUDA, as callers name them."""

from __future__ import annotations

import operator
from typing import Any

from backend.argument_error import ArgumentError
from backend.arrays.stream import DEFAULT_STREAM, LEGACY, Stream
from spaces.model.articles import shown_kind

_ATTRIBUTES = ("ptr", "handle", "cuda_stream")
"""Where streams of CuPy, pycuda and PyTorch keep their number."""


def stream_of(given: object) -> Stream:
    """The stream that a caller means.

    Args:
        given: None for the default stream, a stream of the driver as a number, an object with
            ``__cuda_stream__``, or a stream of CuPy, PyTorch or pycuda.

    Raises:
        ArgumentError: it is something else.
    """
    if given is None:
        return DEFAULT_STREAM
    if isinstance(given, Stream):
        return given
    number: Any = given
    if hasattr(given, "__cuda_stream__"):
        number = given.__cuda_stream__()[1]
    else:
        number = next((getattr(given, a) for a in _ATTRIBUTES if hasattr(given, a)), given)
    try:
        handle = operator.index(number)
    except TypeError:
        handle = -1
    if handle < 0 or isinstance(given, bool):
        raise ArgumentError(
            f"stream= is given {shown_kind(given)}, which is no stream of a GPU; pass a stream of "
            "CuPy, PyTorch or pycuda, an object with __cuda_stream__, or the driver's number of a "
            "stream."
        )
    return Stream(0 if handle == LEGACY else handle, given)
