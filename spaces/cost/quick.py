"""NumPy's maximum, minimum, where and their like, quick where numbers are the same for all choices.

Most numbers of a batch depend on none of its parameters. NumPy takes ten times as long for them as
Python does, and makes arrays of them that slow down what follows.
"""

from __future__ import annotations

import math

import numpy as np

from spaces.constraints.devices.occupancy import SymbolicNumber

_PLAIN = (int, float, np.integer)


def larger(a: SymbolicNumber, b: SymbolicNumber) -> SymbolicNumber:
    """The larger of two numbers, for each choice."""
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        return a if a >= b else b
    return np.maximum(a, b)


def smaller(a: SymbolicNumber, b: SymbolicNumber) -> SymbolicNumber:
    """The smaller of two numbers, for each choice."""
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        return a if a <= b else b
    return np.minimum(a, b)


def chosen(condition: SymbolicNumber, a: SymbolicNumber, b: SymbolicNumber) -> SymbolicNumber:
    """The first number where a condition holds, the second elsewhere."""
    if isinstance(condition, bool | np.bool_):
        return a if condition else b
    return np.where(condition, a, b)


def negated(condition: SymbolicNumber) -> SymbolicNumber:
    """Whether a condition does not hold, for each choice."""
    return not condition if isinstance(condition, bool | np.bool_) else np.logical_not(condition)


def rounded_up(number: SymbolicNumber) -> SymbolicNumber:
    """The least integer that is not less, for each choice."""
    return math.ceil(number) if isinstance(number, int | float) else np.ceil(number)
