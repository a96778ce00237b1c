"""Scalar parameters for Halide. A float64 is passed as its bits, because ``Param.set`` of the
Python bindings would make it a float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spaces.backend.halide.names import identifier
from spaces.backend.halide.peer import hl, peer_type
from spaces.model.algorithm.pipeline import Scalar
from spaces.model.expressions.types import Float64, Type, UInt64


def peer_scalar(scalar: Scalar) -> Any:
    """The Param that passes a scalar."""
    held = UInt64 if scalar.type == Float64 else scalar.type
    return hl.Param(peer_type(held), identifier(scalar.name))


def set_scalar(param: Any, type: Type, value: int | float) -> None:
    """Sets the Param of a scalar to a value."""
    param.set(int(np.float64(value).view(np.uint64)) if type == Float64 else value)


def read_scalar(param: Any, type: Type) -> Any:
    """The expression that reads a scalar's value from its Param."""
    return hl.reinterpret(peer_type(type), param) if type == Float64 else hl.Expr(param)


def estimate_scalar(param: Any, type: Type, value: int | float) -> None:
    """Tells Halide's autoschedulers a typical value of a scalar."""
    if type == Float64:
        value = int(np.float64(value).view(np.uint64))
    param.set_estimate(value)


def limit_scalar(param: Any, type: Type, lowest: Any | None, largest: Any | None) -> None:
    """Tells Halide the limits of a scalar; a scalar passed as bits gets no limits."""
    if type == Float64:
        return
    if lowest is not None:
        param.set_min_value(lowest)
    if largest is not None:
        param.set_max_value(largest)
