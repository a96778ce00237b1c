"""Random pipelines of images, each made from its name alone: what a cost model learns from.

As in [A21] section 5, a pipeline is a chain of random stages that at times read an earlier stage,
too. Each stage reads the one before it, so no stage is idle. An image repeats its edge, so every
stage has a value everywhere. There are two families. Those called ``random_3`` have stencils, also
of one dimension, pointwise arithmetic, halves and doubles of the resolution, and sums over a
window. Those called ``varied_3`` are longer, read up to three images, and have products of
matrices, running sums, tables of counts and boxes over products of stages, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from bench.cost_quality.single_pipelines import SINGLE, single_pipeline
from spaces.model.algorithm import boundary
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.types import Float32, Int32, Type, UInt8, UInt16

X, Y = Var("x"), Var("y")

WIDTHS = (768, 1024, 1280, 1536)
HEIGHTS = (640, 768, 1024, 1280)
"""The sizes of an image, 0.5 to 2 megapixels."""

TYPES = (UInt8, UInt16, Float32)
"""The types of an image."""

LEVELS = (0, 2)
"""By which powers of two the resolution of a stage is less than the image's."""

FAR = 0.4
"""The chance that a stage also reads a stage before the last one."""


@frozen
class Made:
    """A stage, and by which power of two its resolution is less than the image's."""

    func: Func
    level: int


@frozen
class Stages:
    """The stages so far, and the dice.

    Attributes:
        dice: the random numbers of the pipeline.
        working: the type of sums: int32 for images of integers.
        made: the stages, the edge of the image first.
    """

    dice: random.Random
    working: Type
    made: list[Made]

    @property
    def last(self) -> Made:
        """The stage that the next one reads."""
        return self.made[-1]

    def weight(self) -> Expr:
        """A random factor of the type of sums."""
        if self.working is Float32:
            return cast(Float32, self.dice.choice((0.25, 0.5, 0.75, 1.5)))
        return cast(Int32, self.dice.choice((1, 2, 3, 5)))

    def read(self, func: Func, x: Expr, y: Expr) -> Expr:
        """A value of a stage in the type of sums."""
        return cast(self.working, func[x, y])

    def scaled(self, value: Expr, total: int) -> Expr:
        """A sum of that many values, brought back near the range of one."""
        if self.working is Float32:
            return value * cast(Float32, 1.0 / total)
        return value / total


def _taps(stages: Stages, offsets: list[tuple[int, int]]) -> Expr:
    """A weighted sum of values around a place."""
    source = stages.last.func
    terms = [stages.read(source, X + dx, Y + dy) * stages.weight() for dx, dy in offsets]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return stages.scaled(total, 2 * len(offsets))


def _stencil(stages: Stages, out: Func) -> int:
    """A window of 3 x 3 to 5 x 5, or a cross."""
    radius = stages.dice.choice((1, 1, 2))
    around = range(-radius, radius + 1)
    offsets = [(dx, dy) for dy in around for dx in around]
    if stages.dice.random() < 0.4:
        offsets = [(dx, dy) for dx, dy in offsets if dx == 0 or dy == 0]
    out[X, Y] = _taps(stages, offsets)
    return stages.last.level


def _line(stages: Stages, out: Func) -> int:
    """A stencil along one dimension."""
    radius = stages.dice.choice((1, 2, 3))
    across = stages.dice.random() < 0.5
    around = range(-radius, radius + 1)
    out[X, Y] = _taps(stages, [(d, 0) if across else (0, d) for d in around])
    return stages.last.level


def _pointwise(stages: Stages, out: Func) -> int:
    """Arithmetic of one value, and sometimes of one of an earlier stage of this resolution."""
    value = stages.read(stages.last.func, X, Y)
    other = _earlier(stages)
    beside = value if other is None else stages.read(other.func, X, Y)
    form = stages.dice.randrange(5)
    if form == 0:
        value = fn.select(value > beside * stages.weight(), value, beside + value)
    elif form == 1:
        value = fn.abs(value - beside * stages.weight())
    elif form == 2:
        value = fn.max(value * stages.weight(), beside)
    elif form == 3 and stages.working is Float32:
        value = fn.sqrt(fn.abs(value)) + fn.exp(fn.min(beside, 1.0)) * stages.weight()
    else:
        value = value * stages.weight() + beside
    out[X, Y] = value
    return stages.last.level


def _earlier(stages: Stages) -> Made | None:
    """A stage before the last one with its resolution, at times."""
    level = stages.last.level
    found = [one for one in stages.made[:-1] if one.level == level]
    return stages.dice.choice(found) if found and stages.dice.random() < FAR else None


def _downsampled(stages: Stages, out: Func) -> int:
    """Half the resolution: the mean of 2 x 2 values, or of four in a row."""
    source = stages.last.func
    if stages.dice.random() < 0.5:
        places = [(2 * X + dx, 2 * Y + dy) for dx in (0, 1) for dy in (0, 1)]
    else:
        places = [(2 * X + dx, 2 * Y) for dx in (-1, 0, 1, 2)]
    total = stages.read(source, *places[0])
    for place in places[1:]:
        total = total + stages.read(source, *place)
    out[X, Y] = stages.scaled(total, 4)
    return stages.last.level + 1


def _upsampled(stages: Stages, out: Func) -> int:
    """Twice the resolution: the nearest value, or the mean of two."""
    source = stages.last.func
    value = stages.read(source, X / 2, Y / 2)
    if stages.dice.random() < 0.5:
        value = stages.scaled(value + stages.read(source, (X + 1) / 2, (Y + 1) / 2), 2)
    out[X, Y] = value
    return stages.last.level - 1


def _reduced(stages: Stages, out: Func) -> int:
    """A sum or a maximum over a window, as an update."""
    width, height = stages.dice.choice(((3, 3), (5, 5), (7, 1), (1, 7), (4, 4)))
    window = RDom([(0, width), (0, height)], name=f"{out.name}_r")
    value = stages.read(stages.last.func, X + window.x, Y + window.y)
    out[X, Y] = cast(stages.working, 0)
    if stages.dice.random() < 0.5:
        out[X, Y] = out[X, Y] + stages.scaled(value, width * height)
    else:
        out[X, Y] = fn.max(out[X, Y], value)
    return stages.last.level


COMMON = 64
"""The length of the lines and columns that a product of matrices multiplies."""


def _product(stages: Stages, out: Func) -> int:
    """Lines of the last stage times columns of an earlier one."""
    last, other = stages.last.func, _earlier(stages) or stages.last
    along = RDom([(0, COMMON)], name=f"{out.name}_r")
    out[X, Y] = cast(stages.working, 0)
    term = stages.read(last, along.x, Y) * stages.read(other.func, X, along.x)
    out[X, Y] = out[X, Y] + stages.scaled(term, COMMON)
    return stages.last.level


def _box_of_product(stages: Stages, out: Func) -> int:
    """A box, in one pass, over the product of the last stage and an earlier one."""
    last, other = stages.last.func, _earlier(stages) or stages.last
    side = stages.dice.choice((3, 4, 5, 7))
    window = RDom([(0, side), (0, side)], name=f"{out.name}_r")
    x, y = X + window.x, Y + window.y
    out[X, Y] = cast(stages.working, 0)
    product = stages.read(last, x, y) * stages.read(other.func, x, y)
    out[X, Y] = out[X, Y] + stages.scaled(product, side * side)
    return stages.last.level


def _running(stages: Stages, out: Func) -> int:
    """A recursive filter over the first elements of each line or column."""
    across = stages.dice.random() < 0.5
    length = min(WIDTHS if across else HEIGHTS) >> LEVELS[1]
    along = RDom([(1, length - 1)], name=f"{out.name}_r")
    out[X, Y] = stages.read(stages.last.func, X, Y)
    here, before = ((along.x, Y), (along.x - 1, Y)) if across else ((X, along.x), (X, along.x - 1))
    out[here] = stages.scaled(out[before] * stages.weight() + out[here], 2)
    return stages.last.level


VALUES = 256
"""The length of a table of counts."""


def _counted(stages: Stages, out: Func) -> int:
    """How many values of a corner of the last stage are as large as the value of a place."""
    source = stages.last.func
    corner = RDom([(0, min(WIDTHS) >> LEVELS[1]), (0, min(HEIGHTS) >> LEVELS[1])], f"{out.name}_r")
    counts = Func(f"{out.name}_counts")

    def place(value: Expr) -> Expr:
        whole = value * 255.0 if stages.working is Float32 else value
        return fn.clamp(cast(Int32, whole), 0, VALUES - 1)

    counts[X] = 0
    counts[place(stages.read(source, corner.x, corner.y))] += 1
    count = cast(stages.working, counts[place(stages.read(source, X, Y))])
    out[X, Y] = stages.scaled(count, VALUES)
    return stages.last.level


StageMaker: TypeAlias = Callable[[Stages, Func], int]
"""Defines a Func as the next stage; returns the level of its resolution."""

_FIRST_KINDS: tuple[tuple[StageMaker, int], ...] = (
    (_stencil, 3),
    (_line, 3),
    (_pointwise, 4),
    (_downsampled, 1),
    (_upsampled, 1),
    (_reduced, 2),
)
"""The kinds of stages and how often each comes."""


@frozen
class Family:
    """What pipelines of one family are made of.

    Attributes:
        name: the pipelines are called after it.
        stages: the least and the greatest number of stages beside the edges of images.
        images: the greatest number of images.
        kinds: the kinds of stages and how often each comes.
    """

    name: str
    stages: tuple[int, int]
    images: int
    kinds: tuple[tuple[StageMaker, int], ...]


FAMILIES = {
    one.name: one
    for one in (
        Family("random", (2, 8), 1, _FIRST_KINDS),
        Family(
            "varied",
            (2, 20),
            3,
            (*_FIRST_KINDS, (_product, 1), (_box_of_product, 2), (_running, 1), (_counted, 1)),
        ),
    )
}
"""The families by name. A change of one makes other pipelines under the same names, and their
measurements worthless.
"""


def random_pipeline(seed: int, family: str = "random") -> Pipeline:
    """The pipeline of a seed, with the estimates of its sizes."""
    of = FAMILIES[family]
    name = f"{family}_{seed}"
    # The seeds of the first family are older than the second one.
    dice = random.Random(f"pipeline {seed}" if family == "random" else f"pipeline {name}")
    type = dice.choice(TYPES)
    count = dice.randint(1, of.images) if of.images > 1 else 1
    images = [ImageParam(type, 2, f"image_{n}" if n else "image") for n in range(count)]
    working = Float32 if type is Float32 else Int32
    stages = Stages(dice, working, [Made(boundary.repeat_edge(image), 0) for image in images])
    if count > 1:
        stages.made.append(Made(_blended(stages), 0))
    for number in range(dice.randint(*of.stages)):
        out = Func(f"f{number}")
        kinds = [(make, often) for make, often in of.kinds if _fits(make, stages.last.level)]
        (make,) = dice.choices([m for m, _ in kinds], [often for _, often in kinds])
        stages.made.append(Made(out, make(stages, out)))
    width, height = dice.choice(WIDTHS), dice.choice(HEIGHTS)
    last = stages.last
    size = [extent >> last.level for extent in (width, height)]
    sizes: dict[Func | ImageParam | str, list[int]] = {one: [width, height] for one in images}
    return pipeline(last.func, name=name, estimates={**sizes, last.func: size})


def _blended(stages: Stages) -> Func:
    """A weighted sum of all images."""
    blend = Func("blend")
    total, *others = [stages.read(one.func, X, Y) * stages.weight() for one in stages.made]
    for other in others:
        total = total + other
    blend[X, Y] = stages.scaled(total, 2 * len(stages.made))
    return blend


def by_name(name: str) -> Pipeline:
    """The random pipeline of a name such as ``random_3``, as records of measurements have it;
    ``single_3`` is one of :mod:`bench.cost_quality.single_pipelines`.

    Raises:
        ValueError: no random pipeline has the name.
    """
    family, _, seed = name.rpartition("_")
    if not is_random(name):
        first = ", ".join(f"{one}_0" for one in (*FAMILIES, SINGLE))
        raise ValueError(f"No random pipeline is called {name!r}; the first ones are {first}.")
    return single_pipeline(int(seed)) if family == SINGLE else random_pipeline(int(seed), family)


def is_random(name: str) -> bool:
    """Whether it is the name of a random pipeline."""
    family, _, seed = name.rpartition("_")
    return family in (*FAMILIES, SINGLE) and seed.isdecimal()


def _fits(make: Callable[[Stages, Func], int], level: int) -> bool:
    """Whether the resolution may change that way."""
    least, most = LEVELS
    return not ((make is _downsampled and level >= most) or (make is _upsampled and level <= least))
