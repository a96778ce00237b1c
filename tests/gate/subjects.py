"""What the gate's schedules are run on: a pipeline, images for it, and sizes of its outputs.

Everything is drawn from a generator of random numbers, so that a seed names a subject for ever.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.types import Type, UInt8, UInt16
from tests.backend.guarded import guarded
from tests.gate.pipelines import KINDS

Ranges = tuple[tuple[int, int], ...]
Sizes = Mapping[str, Ranges]

EXACT, ODD, LARGE = 0, 1, 2
"""The sizes of a subject: small ones that most factors divide, at which it is estimated; small odd
ones; and larger ones, which only compiled code is run on."""

_EXTENTS = {
    EXACT: ((8, 8, 12, 16), (4, 8), (2, 4)),
    ODD: (range(5, 14), range(3, 8), (1, 3, 5)),
    LARGE: (range(17, 41), range(9, 22), (3, 6)),
}


@frozen(eq=False)
class Subject:
    """A pipeline, its images, and the sizes of its outputs on which its schedules are run.

    The range of an image that a pipeline reads with boundary conditions is small, and else so
    large that no schedule of small tiles reads beyond it. Its values are those that its seed gives.
    """

    kind: str
    pipeline: Pipeline
    images: Mapping[str, NDArray[Any]]
    seeds: Mapping[str, int]
    places: Sizes
    outputs: tuple[Sizes, ...]

    def sizes(self, index: int) -> dict[str, Ranges]:
        """The range of every output of size ``index``, and of every image."""
        return {**self.outputs[index], **self.places}


def subject(rng: random.Random, kind: str | None = None) -> Subject:
    """A subject of a kind, or of any; half have estimates, at which their rules are decided. A few
    of these have images that are too small.
    """
    kind = kind or rng.choice(sorted(KINDS))
    made = KINDS[kind](rng)
    plain = pipeline(made)
    outputs = tuple(_sizes(rng, plain, index) for index in (EXACT, ODD, LARGE))
    small = kind == "boundary"
    places = {i.name: _place(i.dimensions, small) for i in plain.images}
    estimated = plain
    if rng.random() < 0.5:
        if rng.random() < 0.08:
            places = {name: (*place[:-1], (3, 2)) for name, place in places.items()}
        estimated = pipeline(made, estimates={**outputs[EXACT], **places})
    seeds = {i.name: rng.randrange(1 << 30) for i in plain.images}
    images = {i.name: _image(i.type, places[i.name], seeds[i.name]) for i in plain.images}
    return Subject(kind, estimated, images, seeds, places, outputs)


def _sizes(rng: random.Random, plain: Pipeline, index: int) -> Sizes:
    """The same range for all outputs."""
    ranges = []
    for extents in _EXTENTS[index]:
        low = rng.choice((0, 0, -8, 4)) if index == EXACT else rng.randint(-9, 9)
        ranges.append((low, rng.choice(extents)))
    return {name: tuple(ranges[: len(plain.function(name).args)]) for name in plain.outputs}


def _place(dimensions: int, small: bool) -> Ranges:
    if small:
        return ((-1, 14), (2, 9), (0, 3))[:dimensions]
    if dimensions == 3:
        return ((-60, 180), (-50, 120), (-12, 30))
    return ((-100, 330), (-90, 260))[:dimensions]


def _image(type: Type, place: Ranges, seed: int) -> NDArray[Any]:
    """Its last element ends at a page that traps."""
    shape = tuple(extent for _, extent in reversed(place))
    return guarded(np.random.default_rng(seed).integers(*limits(type), shape).astype(type.dtype))[0]


def limits(type: Type) -> tuple[int, int]:
    """Between which the values of images lie: sums of products of small numbers stay exact, in
    floats too.
    """
    return (0, 256) if type == UInt8 else (0, 900) if type == UInt16 else (-60, 60)
