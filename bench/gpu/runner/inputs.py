"""Arrays from a seed, the same bits on every machine."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

CELL = 16
"""Pixels between the random values that a smooth array interpolates."""

_NOISE = np.float32(0.25)
"""The share of a smooth array that is noise."""


def made(recipe: Mapping[str, Any]) -> Array:
    """The array of a recipe: its ``dtype``, ``shape`` and ``seed``, whether it is ``smooth`` along
    its last two axes, and the ``low`` and ``high`` between which its values lie.
    """
    shape, dtype = tuple(recipe["shape"]), np.dtype(recipe["dtype"])
    # The bits of this generator are the same for all versions of NumPy.
    bits = np.random.PCG64(recipe["seed"])
    units = _smooth(bits, shape) if recipe["smooth"] else _units(bits, shape)
    low, high = (np.float32(recipe[end]) for end in ("low", "high"))
    values = low + (high - low) * units
    if dtype.kind == "b":
        return values >= (low + high) / 2
    if dtype.kind in "iu":
        values = np.rint(values)
    found: Array = np.clip(values, low, high).astype(dtype)
    return found


def digest(array: Array) -> str:
    """The hash of the bytes of an array in C order."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _units(bits: np.random.PCG64, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Random numbers from 0 to 1; single operations, so that no machine may round otherwise."""
    raw = bits.random_raw(math.prod(shape)).reshape(shape)
    return (raw >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)


def _smooth(bits: np.random.PCG64, shape: tuple[int, ...]) -> NDArray[np.float32]:
    height, width = shape[-2:]
    result = np.empty(shape, np.float32)
    rows, row = _places(height)
    columns, column = _places(width)
    for plane in result.reshape(-1, height, width):
        coarse = _units(bits, (height // CELL + 2, width // CELL + 2))
        lines = coarse[:, columns] + (coarse[:, columns + 1] - coarse[:, columns]) * column
        wide = lines[rows] + (lines[rows + 1] - lines[rows]) * row[:, None]
        plane[...] = wide + (_units(bits, (height, width)) - wide) * _NOISE
    return result


def _places(extent: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each coordinate the value before it, and its place between this one and the next."""
    places = np.arange(extent)
    return places // CELL, (places % CELL).astype(np.float32) * np.float32(1 / CELL)
