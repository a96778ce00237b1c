"""Sizes of the outputs of composed pipelines, and images that are large enough for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from spaces import LoopNest, Pipeline, Schedule, loop_nest, schedule
from spaces.model.expressions.expr import Variable, walk
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.regions import UnboundedError
from tests.differential.dice import Dice
from tests.differential.stored import stored_elements

Ranges = tuple[tuple[int, int], ...]
Sizes = Mapping[str, Ranges]

_WHOLE = {
    1: ((8, 12, 16, 40),),
    2: ((8, 8, 12, 16), (4, 8)),
    3: ((8, 4), (4, 8), (2, 4)),
    4: ((4, 8), (4,), (2,), (2,)),
    5: ((4,), (2, 4), (2,), (2,), (2,)),
}
_ODD = {
    1: ((5, 7, 11, 13, 9, 1),),
    2: ((5, 7, 11, 13, 9, 1), (3, 5, 7, 1)),
    3: ((3, 5, 7), (1, 3, 5), (1, 3)),
    4: ((3, 5), (3, 1), (1, 2), (3,)),
    5: ((3, 5), (1, 3), (2,), (1,), (2,)),
}
_LARGE = {
    1: ((37, 64, 150, 300),),
    2: (range(17, 41), range(9, 22)),
    3: ((17, 12), (7, 9), (3, 6)),
    4: ((9, 12), (5, 4), (3, 4), (3,)),
    5: ((7, 8), (4, 3), (3,), (2,), (3,)),
}
_EXTENTS = (_WHOLE, _ODD, _LARGE)
_FAR = 1 << 28

_MOST_ELEMENTS = (3000, 3000, 60_000)
"""Of all Funcs together, whole, at each size."""

_MOST_PIXELS = 300_000
_MARGINS = {0: 0, 1: 40, 2: 24, 3: 8, 4: 3, 5: 2}
"""By how much images are larger than what is read, for tails that compute more: by dimensions."""

_SPARE = 12
"""The extent of an image that nothing reads, or that is read at unknown places."""


class Unfit(Exception):
    """A pipeline is too large at its sizes, or reads nobody knows where."""


class Unlimited(Unfit):
    """It reads nobody knows where."""


def output_sizes(dice: Dice, plain: Pipeline, index: int) -> Sizes:
    """The ranges of outputs: alike or not; of one element or none, all of them or one beside
    others; huge or negative first ones.
    """
    rng = dice.rng
    unequal = dice.takes("outputs: of unequal sizes", 0.4)
    some = all(plain.function(name).args for name in plain.outputs)
    empty = some and index == 1 and dice.takes("size: 0", 0.04)
    far = dice.takes("size: huge min", 0.03)
    beside = _beside_others(dice, plain) if index == 1 and not empty else {}
    found: dict[str, Ranges] = {}
    for name in plain.outputs:
        dimensions = len(plain.function(name).args)
        alike = [r for o, r in found.items() if len(r) == dimensions and o not in beside]
        if alike and not unequal and name not in beside:
            found[name] = alike[0]
            continue
        extents = [rng.choice(e) for e in _EXTENTS[index].get(dimensions, ())]
        if dimensions and index == 1 and dice.takes("size: 1", 0.1):
            extents[rng.randrange(dimensions)] = 1
        if dimensions and index == 1 and dice.takes("size: prime", 0.3):
            extents[0] = rng.choice((5, 7, 11, 13))
        if dimensions and empty:
            extents[rng.randrange(dimensions)] = 0
        if beside.get(name) == 0:
            extents[rng.randrange(dimensions)] = 0
        elif beside.get(name) == 1:
            extents = [1] * dimensions
        mins = [rng.choice((0, 0, -8, 4)) if index == 0 else rng.randint(-9, 3) for _ in extents]
        if dimensions and far:
            mins[0] = rng.choice((_FAR, -_FAR))
        found[name] = tuple(zip(mins, extents, strict=True))
    return found


def _beside_others(dice: Dice, plain: Pipeline) -> dict[str, int]:
    """An output that is to have no element, or one, where others have more; mostly none is."""
    names = [name for name in plain.outputs if plain.function(name).args]
    if not names or len(plain.outputs) < 2:
        return {}
    if dice.takes("outputs: empty beside others", 0.06):
        return {dice.rng.choice(names): 0}
    if dice.takes("outputs: of one element beside others", 0.06):
        return {dice.rng.choice(names): 1}
    return {}


def image_places(plain: Pipeline, outputs: Sequence[Sizes]) -> dict[str, Ranges]:
    """Where images lie so that they hold all that is read of them at all sizes, and more.

    Raises:
        Unfit: that is too much.
        Unlimited: nobody knows where something is read.
    """
    given = small_places(plain)
    try:
        nest = loop_nest(plain, _at_root(plain))
        nest.inputs  # noqa: B018
    except UnboundedError as error:
        raise Unlimited from error
    places: dict[str, list[list[int]]] = {}
    for index, sizes in enumerate(outputs):
        values = _values(plain, {**given, **sizes})
        if _elements(nest, values, sizes) > _MOST_ELEMENTS[index]:
            raise Unfit
        for name, box in nest.inputs.items():
            ends = [_ends(interval.min, interval.max, values) for interval in box]
            known = places.setdefault(name, [list(e) for e in ends])
            for have, (low, high) in zip(known, ends, strict=True):
                have[0], have[1] = min(have[0], low), max(have[1], high)
    own_sizes = {v.name.partition(".")[0] for v in _sizes_read(plain)}
    return {
        name: given[name] if name in own_sizes else _with_margin(ends)
        for name, ends in places.items()
    }


def small_places(plain: Pipeline) -> dict[str, Ranges]:
    """Where images lie that are read beyond their edges, or nobody knows where."""
    return {i.name: tuple((-1, e) for e in (14, 9, 5, 3, 3)[: i.dimensions]) for i in plain.images}


def _sizes_read(plain: Pipeline) -> list[Variable]:
    return [
        node
        for function in plain.functions
        for stage in function.stages
        for node in walk(*stage.args, *stage.values)
        if isinstance(node, Variable) and ".extent." in node.name
    ]


def _with_margin(ends: Sequence[Sequence[int]]) -> Ranges:
    margin = _MARGINS[len(ends)]
    place = tuple((low - margin, high - low + 1 + 2 * margin) for low, high in ends)
    if math.prod(extent for _, extent in place) > _MOST_PIXELS:
        raise Unfit
    return place


def _ends(low: object, high: object, values: Mapping[str, int]) -> tuple[int, int]:
    if low is None or high is None:
        raise Unfit
    first, last = (int(evaluate(e, values)) for e in (low, high))  # type: ignore[arg-type]
    return (first, last) if last >= first else (first, first + _SPARE)


def _values(plain: Pipeline, ranges: Sizes) -> dict[str, int]:
    found = {
        f"{buffer}.{part}.{d}": value
        for buffer, limits in ranges.items()
        for d, pair in enumerate(limits)
        for part, value in zip(("min", "extent"), pair, strict=True)
    }
    whole = (s for s in plain.scalars if not s.type.is_float)
    return found | {s.name: int(s.default or 0) for s in whole}


def _at_root(plain: Pipeline) -> Schedule:
    directives = schedule(plain)
    for function in plain.functions:
        directives = directives.func(function.name).compute_root()
    return directives.schedule


def _elements(nest: LoopNest, values: Mapping[str, int], sizes: Sizes) -> int:
    """Of all Funcs together."""
    whole = sum(math.prod(extent for _, extent in ranges) for ranges in sizes.values())
    return whole + stored_elements(nest, values)
