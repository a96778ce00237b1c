"""The only importer of Halide's Python package, which ships no types and is an optional extra.

`hl` is the package. `failing_as` turns its errors into a `HalideFailure`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spaces.backend.halide.errors import HalideFailure, HalideMissingError
from spaces.model.expressions.types import Type

try:
    import halide
except ImportError as error:
    raise HalideMissingError from error

hl: Any = halide


@contextmanager
def failing_as(failure: type[HalideFailure], what: str) -> Iterator[None]:
    """Raises Halide's errors as ``failure``; the message begins with ``what`` Halide was doing."""
    try:
        yield
    # Halide's user errors are HalideErrors; its internal errors are RuntimeErrors.
    except (hl.HalideError, RuntimeError) as error:
        message = " ".join(str(error).removeprefix("Error:").split())
        raise failure(f"{what}: {message or 'Halide gave no reason.'}") from error


def peer_type(type: Type) -> Any:
    """Halide's type object of an element type."""
    if type.is_bool:
        return hl.Bool()
    return {"int": hl.Int, "uint": hl.UInt, "float": hl.Float}[type.code](type.bits)
