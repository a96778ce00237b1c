"""Numbers that users give, of Python and of NumPy, in an element type."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from spaces.model.expressions.types import Type

_MOST_BITS = 256
"""Whole numbers of more bits are not written out."""


class NumberError(ValueError):
    """A value is no number of a type; the message ends a sentence that names the value."""


def shown_number(value: object) -> str:
    """A value in a message; Python refuses to write out whole numbers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a whole number of about {int(value.bit_length() * math.log10(2)) + 1} digits"
    try:
        return repr(value)
    except ValueError:
        return f"a {type(value).__name__} with a number of thousands of digits"


def seconds_given(what: str, value: Any) -> float:
    """``value`` as a time in seconds; infinity stands for no limit.

    Raises:
        ValueError: it is no number, or less than 0; the message begins with ``what``.
    """
    if isinstance(value, bool | np.bool_) or not is_real(value) or not value >= 0:
        raise ValueError(f"{what} is {shown_number(value)}; it is a number of seconds, at least 0.")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_real(value: object) -> bool:
    """Whether ``value`` is a real number or a truth value, of Python or of NumPy."""
    return isinstance(value, numbers.Real | np.bool_)


def rounded(value: int | float, type: Type) -> float:
    """The number of a floating-point ``type`` that is nearest to ``value``; infinite beyond its
    largest one, as arithmetic in that type gives it.
    """
    try:
        wide = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    if type.bits == 32 and abs(wide) >= _LARGEST_FLOAT32 and math.isfinite(wide):
        with np.errstate(over="ignore"):
            return float(np.float32(wide))
    return float(type.dtype.type(wide))


_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def number_in(type: Type, value: Any) -> int | float:
    """``value`` as ``type`` holds it: whole numbers and truth values exactly, floats rounded.

    Raises:
        NumberError: it is no real number, or the type holds none like it: a fraction where whole
            numbers are, a number out of range, a finite one that would be rounded to infinity.
    """
    if not is_real(value):
        raise NumberError(f"is {shown_number(value)}, which is no {type}")
    if type.is_float:
        result = rounded(value, type)
        if math.isinf(result) and not _is_infinite(value):
            largest = float(np.finfo(type.dtype).max)
            raise NumberError(
                f"is {shown_number(value)}, which {type} cannot hold: its largest number is "
                f"{largest:.8g}"
            )
        return result
    if not _is_whole(value) or not type.holds(int(value)):
        raise NumberError(
            f"is {shown_number(value)}, which {type} cannot hold: it holds whole numbers from "
            f"{type.min_value} to {type.max_value}"
        )
    return int(value)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isinf(value))


def _is_whole(value: Any) -> bool:
    if isinstance(value, numbers.Integral | np.bool_):
        return True
    return bool(math.isfinite(value)) and value == int(value)
