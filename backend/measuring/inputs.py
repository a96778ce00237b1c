"""Inputs for pipelines that come without any."""

from __future__ import annotations

import numpy as np

from spaces.backend.arguments import Array
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.types import Type


def random_inputs(pipeline: Pipeline, seed: int | None = 0) -> dict[str, Array]:
    """An array of random values for each image, at the estimates: all values of an integer type
    have the same chance, and floats lie between 0 and 1. Without a seed they differ each time.

    Raises:
        ValueError: an image has no estimate.
    """
    generator = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for image in pipeline.images:
        ranges = pipeline.estimate(image.name)
        if ranges is None:
            raise ValueError(
                f"Image {image.name} of {pipeline.name} has no estimate, so random inputs have no "
                "size: give inputs=, or estimates of all images."
            )
        shape = [extent for _, extent in reversed(ranges)]
        found[image.name] = _values(image.type, shape, generator)
    return found


def _values(type: Type, shape: list[int], generator: np.random.Generator) -> Array:
    dtype = type.dtype
    if dtype.kind == "f":
        return generator.random(shape).astype(dtype)
    if dtype.kind == "b":
        return generator.random(shape) < 0.5
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
