"""A pipeline of the gallery: its kind, its inputs, and its values in NumPy."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from attrs import field, frozen

from spaces.apps.app import App
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.types import Type

BufferExtents: TypeAlias = Mapping[str, Sequence[int]]
"""The extents of the images and of the output, by name; dimension 0 first."""

ArrayMaker: TypeAlias = Callable[[np.random.Generator, Type, tuple[int, ...]], Array]
"""Makes an array of a type and a shape; dimension 0 is last in the shape."""


def any_values(dice: np.random.Generator, type: Type, shape: tuple[int, ...]) -> Array:
    """Integers of the whole range, floats in [0, 1)."""
    if type.is_float:
        return dice.random(shape).astype(type.dtype)
    if type.is_bool:
        return dice.integers(0, 2, shape).astype(type.dtype)
    return dice.integers(type.min_value, type.max_value, shape, type.dtype, endpoint=True)


def values_in(low: float, high: float) -> ArrayMaker:
    """Makes arrays of values from ``low`` up to ``high``, which integers include."""

    def make(dice: np.random.Generator, type: Type, shape: tuple[int, ...]) -> Array:
        if type.is_float:
            return dice.uniform(low, high, shape).astype(type.dtype)
        return dice.integers(int(low), int(high), shape, type.dtype, endpoint=True)

    return make


def around_zero(deviation: float) -> ArrayMaker:
    """Makes arrays of floats with a normal distribution."""

    def make(dice: np.random.Generator, type: Type, shape: tuple[int, ...]) -> Array:
        return dice.normal(0.0, deviation, shape).astype(type.dtype)

    return make


@frozen(kw_only=True)
class GalleryPipeline:
    """A pipeline with one output that begins at 0 in every dimension, as its images do.

    Attributes:
        name: of the pipeline and of its file; no app and no other pipeline of the gallery has it.
        kind: decides whether cost models may learn from it.
        summary: what it computes, in a few words.
        pipeline: builds it, with estimates for its images and its output.
        expected: the values of the output for given inputs, in NumPy, in the shape of the output;
            floats as float64.
        small: the extents at which tests compare the two, for every image and the output; no tile
            divides them.
        inputs: makes the images that need other values than :func:`any_values`.
        tolerance: the largest difference of a float from ``expected``, as a part of the largest
            value; integers are the same.
    """

    name: str
    kind: PipelineKind
    summary: str
    pipeline: Callable[[], Pipeline] = field(repr=False)
    expected: Callable[[Mapping[str, Array]], Array] = field(repr=False)
    small: BufferExtents = field(repr=False)
    inputs: Mapping[str, ArrayMaker] = field(factory=dict, repr=False)
    tolerance: float = 1e-6

    def arrays(self, pipeline: Pipeline, extents: BufferExtents | None = None) -> dict[str, Array]:
        """An array for every image, always the same ones: at ``extents``, else as estimated."""
        made = {}
        for image in pipeline.images:
            ranges = pipeline.estimate(image.name) or ()
            shape = extents[image.name] if extents else [extent for _, extent in ranges]
            dice = np.random.default_rng(zlib.crc32(f"{self.name} {image.name}".encode()))
            make = self.inputs.get(image.name, any_values)
            made[image.name] = make(dice, image.type, tuple(reversed(shape)))
        return made

    @property
    def app(self) -> App:
        """As an app: its inputs have the estimated size, whatever the photograph."""
        return App(
            self.name,
            "",
            self.summary,
            self.pipeline,
            inputs=lambda pipeline, _: self.arrays(pipeline),
        )
