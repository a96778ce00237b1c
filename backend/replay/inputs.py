"""The arguments of a replay: the sizes of a counterexample, chosen values for other sizes, and
filled images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from attrs import frozen

from spaces.backend.arguments import Array, Range
from spaces.backend.replay.memory import count
from spaces.model.expressions.expr import Const
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Type
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import LoopNest, loop_nest
from spaces.model.schedules.schedule import Schedule

MOST_ELEMENTS = 1 << 21
"""A replay does not run if a buffer has more elements than this."""

_OUTPUT_EXTENT = 12
_IMAGE_EXTENT = 24
_SCALAR = 2

_SEED = 20


@frozen(eq=False)
class Inputs:
    """The arguments of a run.

    Attributes:
        constants: all sizes, strides and parameters, by the names that programs use.
        ranges: the (min, extent) of each dimension of each output and image, innermost first.
        images: the array of each image: pseudo-random values, all different if the type has enough
            values.
        scalars: the parameters of the pipeline.
    """

    constants: Mapping[str, Any]
    ranges: Mapping[str, tuple[Range, ...]]
    images: Mapping[str, Array]
    scalars: Mapping[str, int | float]

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes and integer parameters, without strides."""
        return {
            name: value
            for name, value in self.constants.items()
            if ".stride." not in name and isinstance(value, int)
        }


class TooLargeError(Exception):
    """A buffer is too large for a replay; ``str`` gives a sentence."""


def inputs_for(nest: LoopNest, given: Mapping[str, int]) -> Inputs:
    """Arguments with the sizes and parameters ``given``. All others are chosen small; an image is
    as large as its pipeline and schedule need.

    Raises:
        TooLargeError: a buffer has more than :data:`MOST_ELEMENTS` elements.
    """
    pipeline = nest.pipeline
    scalars = dict(_scalars(nest, given))
    known: dict[str, int] = {**given, **{n: v for n, v in scalars.items() if isinstance(v, int)}}
    ranges: dict[str, tuple[Range, ...]] = {}
    for name in pipeline.outputs:
        chosen = [(0, _OUTPUT_EXTENT)] * len(pipeline.function(name).args)
        ranges[name] = _ranges(name, _followed(nest, name, chosen), known)
        for buffer in pipeline.function(name).buffers:
            _adopt(buffer, ranges[name], known)
            ranges[buffer] = ranges[name]
    wanted = (nest.inputs, loop_nest(pipeline, Schedule.default(pipeline)).inputs)
    for image in pipeline.images:
        boxes = [boxes[image.name] for boxes in wanted if image.name in boxes]
        chosen = [_wanted([box[d] for box in boxes], known) for d in range(image.dimensions)]
        ranges[image.name] = _ranges(image.name, _followed(nest, image.name, chosen), known)
    generator = np.random.default_rng(_SEED)
    return Inputs(
        constants={**known, **scalars, **dict(_strides(ranges))},
        ranges=ranges,
        images={
            i.name: _filled(i.type, [e for _, e in reversed(ranges[i.name])], generator)
            for i in pipeline.images
        },
        scalars=scalars,
    )


def _scalars(nest: LoopNest, given: Mapping[str, int]) -> Iterator[tuple[str, int | float]]:
    for scalar in nest.pipeline.scalars:
        value = given.get(scalar.name, _SCALAR if scalar.default is None else scalar.default)
        if scalar.type.is_float:
            yield scalar.name, scalar.type.dtype.type(value)
        else:
            yield scalar.name, given.get(scalar.name, _limited(nest, scalar.name, int(value)))


def _followed(nest: LoopNest, buffer: str, chosen: list[Range]) -> list[Range]:
    """The ranges closest to those ``chosen`` that the assumptions of a nest allow."""
    return [
        (_limited(nest, f"{buffer}.min.{d}", low), _limited(nest, f"{buffer}.extent.{d}", extent))
        for d, (low, extent) in enumerate(chosen)
    ]


def _limited(nest: LoopNest, name: str, value: int) -> int:
    """The number closest to ``value`` within the limits that a nest knows of a size or
    parameter.
    """
    for end, limited in zip(nest.simplify.known(name), (max, min), strict=True):
        if isinstance(end, Const):
            value = limited(value, int(end.value))
    return value


def _ranges(buffer: str, chosen: list[Range], known: dict[str, int]) -> tuple[Range, ...]:
    """The range of each dimension; adds them to ``known``."""
    ranges = []
    for d, (low, extent) in enumerate(chosen):
        low = known.setdefault(f"{buffer}.min.{d}", low)
        extent = known.setdefault(f"{buffer}.extent.{d}", extent)
        ranges.append((low, extent))
    if count(ranges) > MOST_ELEMENTS:
        raise TooLargeError(
            f"{buffer} has {' x '.join(str(e) for _, e in ranges)} elements in the counterexample, "
            "which is too large to run value by value."
        )
    return tuple(ranges)


def _adopt(buffer: str, ranges: tuple[Range, ...], known: dict[str, int]) -> None:
    """Gives the array of a component the sizes of its Func."""
    for d, (low, extent) in enumerate(ranges):
        known[f"{buffer}.min.{d}"], known[f"{buffer}.extent.{d}"] = low, extent


def _wanted(intervals: list[Any], known: Mapping[str, int]) -> Range:
    """The range that is read of one dimension of an image; a chosen range if it depends on the
    image's own size.
    """
    ends = [end for i in intervals for end in (i.min, i.max) if end is not None]
    open_ends = any(i.min is None or i.max is None for i in intervals)
    if not ends or open_ends or any(name not in known for name in variables(*ends)):
        return 0, _IMAGE_EXTENT
    low = min(evaluate(i.min, known) for i in intervals)
    high = max(evaluate(i.max, known) for i in intervals)
    return low, max(0, high - low + 1)


def _strides(ranges: Mapping[str, tuple[Range, ...]]) -> Iterator[tuple[str, int]]:
    for buffer, dimensions in ranges.items():
        stride = 1
        for d, (_, extent) in enumerate(dimensions):
            yield f"{buffer}.stride.{d}", stride
            stride *= extent


def _filled(type: Type, shape: list[int], generator: np.random.Generator) -> Array:
    size = int(np.prod(shape, dtype=np.int64)) if min(shape, default=1) > 0 else 0
    shape = [max(0, extent) for extent in shape]
    if type.is_float:
        values = generator.permutation(size).astype(type.dtype) / type.dtype.type(max(1, size))
        return np.asarray(values.reshape(shape))
    span = min(type.max_value - type.min_value + 1, 1 << 24)
    low = max(type.min_value, -(span // 2)) if type.is_int else 0
    if size <= span:
        chosen = generator.choice(span, size, replace=False)
    else:
        chosen = generator.integers(0, span, size)
    return (chosen + low).astype(type.dtype).reshape(shape)
