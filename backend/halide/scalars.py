"""Scalar parameters of Halide's: a float64 is handed over as its bits, for ``Param.set`` of the
Python bindings makes a float32 of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.halide.names import identifier
from backend.halide.peer import hl, peer_type
from spaces.model.algorithm.pipeline import Scalar
from spaces.model.expressions.types import Float64, Type, UInt64


def peer_scalar(scalar: Scalar) -> Any:
    """The Param that a scalar is set by."""
    held = UInt64 if scalar.type == Float64 else scalar.type
    return hl.Param(peer_type(held), identifier(scalar.name))


def set_scalar(param: Any, type: Type, value: int | float) -> None:
    """Give a scalar of a type its value."""
    param.set(int(np.float64(value).view(np.uint64)) if type == Float64 else value)


def read_scalar(param: Any, type: Type) -> Any:
    """The value of a scalar in an expression."""
    return hl.reinterpret(peer_type(type), param) if type == Float64 else hl.Expr(param)


def limit_scalar(param: Any, type: Type, lowest: Any | None, largest: Any | None) -> None:
    """Tell what a scalar lies between; of bits there are no such limits."""
    if type == Float64:
        return
    if lowest is not None:
        param.set_min_value(lowest)
    if largest is not None:
        param.set_max_value(largest)
