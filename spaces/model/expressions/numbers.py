"""Conversion of users' numbers, from Python or NumPy, to an element type."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from spaces.model.articles import shown_kind
from spaces.model.expressions.types import Type

_MOST_BITS = 256
"""Messages do not write out whole numbers with more bits."""


class NumberError(ValueError):
    """A type does not hold a value. The message is the end of a sentence about the value."""


def shown_number(value: object) -> str:
    """The text of a value for a message; a huge whole number becomes its number of digits, since
    Python refuses to write out thousands of digits.
    """
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a whole number of about {int(value.bit_length() * math.log10(2)) + 1} digits"
    try:
        return repr(value)
    except ValueError:
        return f"{shown_kind(value)} with a number of thousands of digits"


def seconds_given(what: str, value: Any) -> float:
    """``value`` as a time in seconds; infinity means no limit.

    Raises:
        ValueError: ``value`` is not a number, or is less than 0; the message begins with ``what``.
    """
    if isinstance(value, bool | np.bool_) or not is_real(value) or not value >= 0:
        raise ValueError(f"{what} is {shown_number(value)}; it is a number of seconds, at least 0.")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_real(value: object) -> bool:
    """Whether ``value`` is a real number or a truth value, from Python or NumPy."""
    return isinstance(value, numbers.Real | np.bool_)


def rounded(value: int | float, type: Type) -> float:
    """The number of a floating-point ``type`` nearest to ``value``; infinite if ``value`` is beyond
    the largest number, as in arithmetic of that type.
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
    """``value`` in ``type``: whole numbers and truth values stay exact, floats round.

    Raises:
        NumberError: ``value`` is not a real number, or ``type`` does not hold it: a fraction for
            an integer type, a number out of range, a finite float that rounds to infinity.
    """
    if not is_real(value):
        raise NumberError(f"is {shown_number(value)}, which is not a number of type {type}")
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
