"""The largest outputs that images of known sizes allow.

A part of a region needs no more of an image than the region. So a region that may be computed grows
along each dimension until it would read outside of an image.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import evolve, frozen

from spaces.model.algorithm.pipeline import Pipeline, size_variable
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import FormulaError, evaluate
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.bounds import Bounds
from spaces.model.schedules.schedule import Schedule

LargestBox = tuple[tuple[int, int], ...]
"""For each dimension (min, extent)."""

_FARTHEST = Int32.max_value // 2
"""A region that reaches so far is limited by no image."""

_STARTS = (0, 1, 2, 4, 8, 16, 64)
"""Coordinates at which a search for a region begins."""

_MOST_STARTS = 1024


def largest_outputs(pipeline: Pipeline) -> dict[str, LargestBox]:
    """For each output without an estimate, the largest region that reads nothing outside of the
    estimated images, whatever the schedule. Parameters have their defaults, and outputs with an
    estimate that size. Empty if images do not limit every dimension, or a size or default lacks.
    """
    asked = [name for name in pipeline.outputs if pipeline.estimate(name) is None]
    try:
        conditions = tuple(_inside_images(evolve(pipeline, estimates=())))
    except UnboundedError:
        return {}
    known = {**pipeline.promised_sizes(), **pipeline.usual_values()}
    dimensions = [(name, d) for name in asked for d in range(len(pipeline.function(name).args))]
    names = {n for condition in conditions for n in condition.names}
    sizes = {f"{name}.{part}.{d}" for name, d in dimensions for part in ("min", "extent")}
    if not asked or not conditions or not names <= known.keys() | sizes:
        return {}
    found = _Region.start(conditions, known, [one for one in dimensions if _is_open(one, known)])
    if found is None:
        return {}
    for name, d in found.open:
        grown = found.grown(name, d)
        if grown is None:
            return {}
        found = grown
    return {
        name: tuple(found.range(name, d) for d in range(len(pipeline.function(name).args)))
        for name in asked
    }


def _is_open(dimension: tuple[str, int], known: Mapping[str, float]) -> bool:
    name, d = dimension
    return f"{name}.extent.{d}" not in known


def _inside_images(pipeline: Pipeline) -> Iterator[Expr]:
    """The conditions under which nothing is read outside of an image."""
    bounds = Bounds(pipeline, Schedule.default(pipeline))
    for image, box in bounds.inputs.items():
        for d, interval in enumerate(box):
            first = size_variable(image, "min", d)
            if interval.min is None or interval.max is None:
                raise UnboundedError("An image is read without limits.", image)
            yield first <= interval.min
            yield interval.max <= first + size_variable(image, "extent", d) - 1


@frozen
class _Region:
    """A region of all outputs for which the conditions hold."""

    conditions: tuple[Expr, ...]
    sizes: Mapping[str, float]
    open: tuple[tuple[str, int], ...]

    @staticmethod
    def start(
        conditions: tuple[Expr, ...],
        known: Mapping[str, float],
        dimensions: Iterable[tuple[str, int]],
    ) -> _Region | None:
        """A region of one element along each open dimension."""
        open_ = tuple(dimensions)
        for place in itertools.islice(itertools.product(_STARTS, repeat=len(open_)), _MOST_STARTS):
            region = _Region(conditions, known, open_)
            for (name, d), low in zip(open_, place, strict=True):
                region = region.changed(name, d, low, low)
            if region.holds:
                return region
        return None

    @property
    def holds(self) -> bool:
        """Whether nothing is read outside of an image."""
        try:
            return all(evaluate(condition, self.sizes) for condition in self.conditions)
        except FormulaError:
            return False

    def range(self, name: str, d: int) -> tuple[int, int]:
        """The (min, extent) of one dimension."""
        low, extent = (int(self.sizes[f"{name}.{part}.{d}"]) for part in ("min", "extent"))
        return low, extent

    def changed(self, name: str, d: int, low: int, high: int) -> _Region:
        """The region with other ends along one dimension, both included."""
        ends = {f"{name}.min.{d}": low, f"{name}.extent.{d}": high - low + 1}
        return evolve(self, sizes={**self.sizes, **ends})

    def grown(self, name: str, d: int) -> _Region | None:
        """The largest region along one dimension; None if no image limits it."""
        low, extent = self.range(name, d)
        high = low + extent - 1
        more = _farthest(lambda by: self.changed(name, d, low, high + by).holds)
        less = _farthest(lambda by: self.changed(name, d, low - by, high).holds)
        if more is None or less is None:
            return None
        return self.changed(name, d, low - less, high + more)


def _farthest(holds: Callable[[int], bool]) -> int | None:
    """The largest number for which something holds that holds for all smaller ones, 0 among them;
    None if no number below :data:`_FARTHEST` is one.
    """
    step = 1
    while holds(step):
        step *= 2
        if step > _FARTHEST:
            return None
    low, high = step // 2, step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
