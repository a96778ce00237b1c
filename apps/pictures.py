"""Converts photographs to arrays of pipelines, and arrays to pictures.

A photograph is 8-bit RGB indexed [y, x, channel]. Arrays of pipelines are indexed with dimension 0
last: [y, x], or [c, y, x] with the channels as planes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spaces.apps.errors import CommandError
from spaces.model.algorithm.pipeline import Image, Pipeline
from spaces.model.amounts import amount

Photograph: TypeAlias = NDArray[np.uint8]
Array: TypeAlias = NDArray[Any]
"""An input or output of a pipeline; the pipeline gives its element type."""

LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the gray value (ITU-R BT.601)."""


def to_array(photograph: Photograph, image: Image) -> Array:
    """The photograph as an input: a gray plane for two dimensions, RGB planes for three.

    Integers keep the values 0 to 255 (signed 8-bit: halved). Floats lie in (0, 1]: black is 1/256,
    so that a pipeline may divide by its pixels.

    Raises:
        CommandError: ``image`` has another number of dimensions.
    """
    if image.dimensions == 2:
        values = np.round(photograph @ np.array(LUMA))
    elif image.dimensions == 3:
        values = np.moveaxis(photograph, 2, 0).astype(np.float64)
    else:
        raise CommandError(
            f"Image {image.name} has {amount(image.dimensions, 'dimension')}, but a photograph "
            "has 2 (gray) or 3 (RGB); give the input as an array in a .npy file."
        )
    if image.type.is_float:
        values = (values + 1) / 256
    elif image.type.is_bool:
        values = values >= 128
    elif image.type.max_value < 255:
        values = values // 2
    return np.ascontiguousarray(values.astype(image.type.dtype))


PICTURED = (2, 3)
"""The numbers of dimensions that a picture can show."""


def photographed(pipeline: Pipeline, photograph: Photograph) -> dict[str, Array]:
    """The photograph as every input of a pipeline.

    Raises:
        CommandError: an image has neither two nor three dimensions.
    """
    return {image.name: to_array(photograph, image) for image in pipeline.images}


def clipped(array: Array) -> Photograph:
    """Floats in [0, 1], or integers in [0, 255], as a picture; clips values outside."""
    planes = _planes_last(array)
    values = np.nan_to_num(planes.astype(np.float64))
    if planes.dtype.kind == "f":
        values = values * 256 - 1
    elif planes.dtype.kind == "b":
        values = values * 255
    return np.clip(np.round(values), 0, 255).astype(np.uint8)


def deep(array: Array) -> Photograph:
    """Integers in [0, 65535] as a picture."""
    return (_planes_last(array) // 257).astype(np.uint8)


def stretched(array: Array) -> Photograph:
    """Any values as a picture: the smallest becomes black, the largest white, NaN black."""
    return _stretch(_planes_last(array).astype(np.float64))


def compressed(array: Array) -> Photograph:
    """Values of many magnitudes around 0 as a picture: the logarithm of each, with 0 as gray."""
    values = _planes_last(array).astype(np.float64)
    finite = np.where(np.isfinite(values), values, 0.0)
    unit = max(float(np.percentile(np.abs(finite), 50, method="lower")), np.finfo(np.float64).tiny)
    logs = np.sign(finite) * np.log1p(np.abs(finite) / unit)
    largest = max(float(np.abs(logs).max()), np.finfo(np.float64).tiny)
    return np.round(127.5 + 127.5 * logs / largest).astype(np.uint8)


def montage(planes: Array, columns: int) -> Photograph:
    """Planes [n, y, x] side by side in rows of ``columns``, each stretched to black and white. The
    largest hundredth of a plane's values is white, so that a few values at an edge do not leave
    all others dark.
    """
    count, height, width = planes.shape
    rows = -(-count // columns)
    pictures = np.zeros((rows * columns, height, width), np.uint8)
    numbers: NDArray[Any] = planes
    largest = np.percentile(numbers, 99, axis=(1, 2), method="higher", keepdims=True)
    pictures[:count] = [stretched(plane) for plane in np.minimum(planes, largest)]
    grid = pictures.reshape(rows, columns, height, width)
    return np.ascontiguousarray(grid.swapaxes(1, 2)).reshape(rows * height, columns * width)


def _stretch(values: NDArray[np.float64]) -> Photograph:
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    span = (high - low) or 1.0
    return np.round(
        255 * (np.nan_to_num(values, nan=low, posinf=high, neginf=low) - low) / span
    ).astype(np.uint8)


def _planes_last(array: Array) -> Array:
    """[y, x] unchanged; [c, y, x] as [y, x, c] for three planes, else its first plane.

    Raises:
        CommandError: the array has another number of dimensions.
    """
    if array.ndim == 2:
        return array
    if array.ndim == 3:
        return np.moveaxis(array, 0, 2) if array.shape[0] == 3 else array[0]
    raise CommandError(
        f"The output has {amount(array.ndim, 'dimension')}; a picture has 2 (gray) or 3 (planes). "
        "Write a .npy file."
    )
