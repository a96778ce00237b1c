"""Streams of CUDA, as callers name them."""

from __future__ import annotations

import operator
from typing import Any

from attrs import field, frozen

from spaces.backend.argument_error import ArgumentError
from spaces.model.articles import shown_kind

_LEGACY = 1
"""The number by which interfaces between libraries name the default stream, since there 0 is not
clear: CUDA Array Interface, version 3.
"""

_ATTRIBUTES = ("ptr", "handle", "cuda_stream")
"""Where streams of CuPy, pycuda and PyTorch keep their number."""


@frozen
class Stream:
    """A queue of work on a GPU.

    Attributes:
        handle: the driver's number of the stream; 0 is the default stream.
        given: the caller's stream, which must live as long.
    """

    handle: int
    given: Any = field(default=None, eq=False, repr=False)

    @property
    def is_default(self) -> bool:
        """Whether this is the default stream."""
        return self.handle == 0

    @property
    def shared_handle(self) -> int:
        """Its number between libraries, never 0."""
        return self.handle or _LEGACY


DEFAULT_STREAM = Stream(0)
"""The default stream. It waits for the other streams of the device, and they wait for it, but for
those that were made not to.
"""


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
    return Stream(0 if handle == _LEGACY else handle, given)
