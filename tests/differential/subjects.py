"""What the fuzzer's schedules are run on: a pipeline, images for it, and sizes of its outputs.

Everything is drawn from a generator of random numbers, so that a seed names a subject for ever.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from spaces import Func, Pipeline, Schedule, Type, UInt8, UInt16, device, pipeline, verify
from tests.differential.composed import composed
from tests.differential.constructs import frozen_constructs, size_constructs, written_constructs
from tests.differential.dice import Dice
from tests.differential.extents import Unfit, Unlimited, image_places, output_sizes, small_places
from tests.differential.layouts import layout_constructs, layouts_of, placed
from tests.differential.pipelines import KINDS

Ranges = tuple[tuple[int, int], ...]
Sizes = Mapping[str, Ranges]

EXACT, ODD, LARGE = 0, 1, 2
"""The sizes of a subject: small ones that most factors divide, at which it is estimated; small odd
ones; and larger ones, which only compiled code is run on."""

COMPOSED = "composed"
"""The kind of pipelines that are no family."""

_EXTENTS = {
    EXACT: ((8, 8, 12, 16), (4, 8), (2, 4)),
    ODD: (range(5, 14), range(3, 8), (1, 3, 5)),
    LARGE: (range(17, 41), range(9, 22), (3, 6)),
}

_MOST_TRIES = 60
_AIMED_TRIES = 2
"""How often a pipeline with aims is drawn again, for more of what is aimed at."""

_UNLIMITED, _IMPOSSIBLE = 0.01, 0.05
"""Of pipelines that read nobody knows where, and of estimates that no schedule, or not the default
one, can meet, how many are kept: rules refuse all schedules, or most.
"""


@frozen(eq=False)
class Subject:
    """A pipeline, its images, and the sizes of its outputs on which its schedules are run.

    The range of an image that a pipeline reads with boundary conditions is small, and else so
    large that no schedule of small tiles reads beyond it. Its values are those that its seed gives.

    Attributes:
        layouts: how each image and output lies in memory.
        wide: whether images hold all values of their types, and not small ones alone.
        constructs: what the pipeline and its sizes are made of.
    """

    kind: str
    pipeline: Pipeline
    images: Mapping[str, NDArray[Any]]
    seeds: Mapping[str, int]
    places: Sizes
    outputs: tuple[Sizes, ...]
    layouts: Mapping[str, str] = {}
    wide: bool = False
    constructs: frozenset[str] = frozenset()

    def sizes(self, index: int) -> dict[str, Ranges]:
        """The range of every output of size ``index``, and of every image."""
        return {**self.outputs[index], **self.places}


def subject(
    rng: random.Random, kind: str | None = None, aims: frozenset[str] = frozenset()
) -> Subject:
    """A subject of a kind, or of any."""
    kind = kind or rng.choice(sorted(KINDS))
    if kind == COMPOSED:
        return _composed(Dice(rng, aims))
    return subject_of_family(rng, kind, KINDS[kind](rng))


def subject_of_family(rng: random.Random, kind: str, made: Func | Sequence[Func]) -> Subject:
    """A subject of some outputs; half have estimates, at which their rules are decided. A few of
    these have images that are too small.
    """
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
    layouts = _layouts(Dice(rng), plain)
    found = Subject(kind, estimated, {}, seeds, places, outputs, layouts)
    return _complete(found, [made] if isinstance(made, Func) else made)


def _nearest(dice: Dice) -> tuple[Func, ...]:
    """Of some composed outputs those with the most of what is aimed at."""
    found = composed(dice)
    known = _seen(found) if dice.aims else frozenset()
    for _ in range(_AIMED_TRIES if dice.aims else 0):
        other = composed(dice)
        seen = _seen(other)
        if len(dice.aims & seen) > len(dice.aims & known):
            found, known = other, seen
    return found


def _seen(outputs: Sequence[Func]) -> frozenset[str]:
    return written_constructs(outputs) | frozen_constructs(pipeline(list(outputs)))


def _composed(dice: Dice) -> Subject:
    """A composed pipeline with sizes at which it stays small."""
    for _ in range(_MOST_TRIES):
        made = _nearest(dice)
        plain = pipeline(list(made))
        outputs = tuple(output_sizes(dice, plain, index) for index in (EXACT, ODD, LARGE))
        try:
            places = image_places(plain, outputs)
        except Unlimited:
            if dice.aims or dice.rng.random() > _UNLIMITED:
                continue
            places = small_places(plain)
        except Unfit:
            continue
        estimated = plain
        if dice.takes("estimates: given", 0.4):
            given = pipeline(list(made), estimates={**outputs[EXACT], **places})
            verdict = verify(given, Schedule.default(given), device("cpu"))
            if verdict.legal or dice.rng.random() < _IMPOSSIBLE:
                estimated = given
        seeds = {i.name: dice.rng.randrange(1 << 30) for i in plain.images}
        layouts, wide = _layouts(dice, plain), dice.rng.random() < 0.5
        found = Subject(COMPOSED, estimated, {}, seeds, places, outputs, layouts, wide)
        return _complete(found, made)
    return _composed(Dice(dice.rng))


def _complete(made: Subject, outputs: Sequence[Func]) -> Subject:
    """The subject with its images, and with what it is made of."""
    constructs = written_constructs(outputs) | frozen_constructs(made.pipeline)
    constructs = constructs.union(*(size_constructs(sizes) for sizes in made.outputs))
    for group, buffers in _memories(made.pipeline).items():
        ranks = {b: d for b, d in buffers.items() if d}
        constructs |= layout_constructs(group, {b: made.layouts[b] for b in ranks})
    images = {
        image.name: placed(
            pixels(image.type, made.places[image.name], made.seeds[image.name], made.wide),
            made.layouts[image.name],
        ).array
        for image in made.pipeline.images
    }
    return evolve(made, images=images, constructs=constructs)


def _memories(plain: Pipeline) -> dict[str, dict[str, int]]:
    """The dimensions of what a call gives, by the group of constructs of its layout."""
    outputs = {name: len(plain.function(name).args) for name in plain.outputs}
    images = {i.name: i.dimensions for i in plain.images}
    return {"input memory": images, "output memory": outputs}


def _layouts(dice: Dice, plain: Pipeline) -> dict[str, str]:
    groups = _memories(plain).items()
    return {b: one for group, some in groups for b, one in layouts_of(dice, group, some).items()}


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


def pixels(type: Type, place: Ranges, seed: int, wide: bool = False) -> NDArray[Any]:
    """Values of an image, the last dimension first; small ones, so that sums of their products stay
    exact, in floats too, or any values of an integer type and floats with fractions.
    """
    shape = tuple(extent for _, extent in reversed(place))
    random = np.random.default_rng(seed)
    if type.is_bool:
        return np.asarray(random.integers(0, 2, shape).astype(bool))
    if wide and type.is_float:
        return np.asarray((random.integers(-4000, 4000, shape) / 7).astype(type.dtype))
    if wide:
        low, high = type.min_value, type.max_value
        return np.asarray(random.integers(low, high, shape, type.dtype, endpoint=True))
    return np.asarray(random.integers(*_limits(type), shape).astype(type.dtype))


def _limits(type: Type) -> tuple[int, int]:
    if type.is_uint:
        return (0, 256) if type == UInt8 else (0, 900) if type == UInt16 else (0, 120)
    return (-60, 60)
