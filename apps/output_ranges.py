"""The largest output that images of given sizes allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from attrs import frozen

from spaces.apps.all_root import all_root
from spaces.apps.errors import CommandError, WrongUsage
from spaces.apps.sizes import OutputRanges
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.rewrite import variables
from spaces.model.formulas.algebra import FormulaError, evaluate
from spaces.model.formulas.interval import Box
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.loopnest import loop_nest

MOST = 1 << 20
"""If an output can grow to this extent along a dimension, no image limits it there."""

_End: TypeAlias = tuple[str, tuple[int, int], Expr]
"""``min`` or ``max``; the first coordinate and the extent of an image along a dimension; the bound
to compare with them.
"""

_FAR = 1 << 10
"""A distance after which divided coordinates have changed, too."""


def output_ranges(
    pipeline: Pipeline, images: Mapping[str, OutputRanges]
) -> dict[str, OutputRanges]:
    """The ranges of each output: all coordinates at which the stencils fit into the images.

    A dimension that no image limits has the image's size along that dimension; a dimension that no
    image has takes the size of its estimate.

    Raises:
        CommandError: an image is too small to leave any output.
        WrongUsage: a dimension has neither an image nor an estimate.
    """
    try:
        read = loop_nest(pipeline, all_root(pipeline)).inputs
    except UnboundedError as error:
        raise CommandError(str(error)) from None
    found: dict[str, OutputRanges] = {}
    for output in pipeline.outputs:
        fit = _Fit(pipeline, output, images, read)
        ranges = fit.start()
        for dimension in range(len(ranges)):
            ranges = fit.along(dimension, ranges)
        found[output] = ranges
    return found


@frozen
class _Fit:
    """One output, the images, and the regions that the pipeline reads of them."""

    pipeline: Pipeline
    output: str
    images: Mapping[str, OutputRanges]
    read: Mapping[str, Box]

    def start(self) -> OutputRanges:
        """One element at the beginning of the images; the estimate along dimensions that no image
        has.
        """
        estimate = self.pipeline.estimate(self.output)
        longest: OutputRanges = max(self.images.values(), key=len, default=())
        dimensions = len(self.pipeline.function(self.output).args)
        if estimate is None and len(longest) < dimensions:
            raise WrongUsage(
                f"Pipeline {self.pipeline.name} has no estimate for dimension {len(longest)} of "
                f"{self.output}; give the size of the output."
            )
        begun = tuple((low, 1) for low, _ in longest[:dimensions])
        return (*begun, *(estimate or ())[len(begun) :])

    def along(self, d: int, ranges: OutputRanges) -> OutputRanges:
        """``ranges`` with all coordinates that fit along one dimension."""
        low = ranges[d][0]
        limits = [*self._limits(d, "min"), *self._limits(d, "max")]
        if not limits:
            return _with(ranges, d, self._unlimited(d, ranges))
        if all(self._falls(d, ranges, end) for *_, end in limits):
            low -= MOST // 2  # a mirrored image may lie before its first coordinate
        early, late = self._early_and_late(d, ranges)
        low += _least(lambda n: self._inside(early, _with(ranges, d, (low + n, 1))))
        beyond = _least(lambda n: not self._inside(late, _with(ranges, d, (low, n + 1))))
        if beyond == 0:
            raise CommandError(self._too_small(d, _with(ranges, d, (low, 1))))
        extent = beyond if beyond < MOST else self._unlimited(d, ranges)[1]
        return _with(ranges, d, (low, extent))

    def _unlimited(self, d: int, ranges: OutputRanges) -> tuple[int, int]:
        estimate = self.pipeline.estimate(self.output)
        with_it = [image[d] for image in self.images.values() if d < len(image)]
        if with_it:
            return with_it[0]
        return estimate[d] if estimate is not None else ranges[d]

    def _limits(self, d: int, end: str) -> Iterator[tuple[str, int, Expr]]:
        """The bounds of boxes that depend on output dimension d: image, its dimension, bound."""
        mine = {f"{self.output}.min.{d}", f"{self.output}.extent.{d}"}
        for image, box in self.read.items():
            for k, interval in enumerate(box):
                bound = interval.min if end == "min" else interval.max
                if image in self.images and bound is not None and mine & {*variables(bound)}:
                    yield image, k, bound

    def _early_and_late(self, d: int, ranges: OutputRanges) -> tuple[list[_End], list[_End]]:
        """The bounds that limit the first coordinate of the output along a dimension, and those
        that limit the last one. For a box that moves against the output, they change places.
        """
        early: list[_End] = []
        late: list[_End] = []
        for end in ("min", "max"):
            for image, k, bound in self._limits(d, end):
                is_early = (end == "min") != self._falls(d, ranges, bound)
                (early if is_early else late).append((end, self.images[image][k], bound))
        return early, late

    def _inside(self, ends: list[_End], ranges: OutputRanges) -> bool:
        for end, (first, extent), bound in ends:
            last = first + extent - 1
            if end == "min" and self._value(bound, ranges, first) < first:
                return False
            if end == "max" and self._value(bound, ranges, last) > last:
                return False
        return True

    def _falls(self, d: int, ranges: OutputRanges, bound: Expr) -> bool:
        """Whether a bound decreases when a dimension of the output begins later."""
        low = ranges[d][0]
        here, later = (_with(ranges, d, (at, 1)) for at in (low, low + _FAR))
        return self._value(bound, here, 0) > self._value(bound, later, 0)

    def _value(self, bound: Expr, ranges: OutputRanges, otherwise: int) -> int:
        """A bound at these ranges; ``otherwise`` if it depends on the pixels of images."""
        sizes = {**self.images, self.output: ranges}
        values = {
            f"{buffer}.{part}.{d}": value
            for buffer, dims in sizes.items()
            for d, (low, extent) in enumerate(dims)
            for part, value in (("min", low), ("extent", extent))
        }
        try:
            return evaluate(bound, values)
        except FormulaError:
            return otherwise

    def _too_small(self, d: int, ranges: OutputRanges) -> str:
        for image, k, last in self._limits(d, "max"):
            first, extent = self.images[image][k]
            needed = self._value(last, ranges, first) - first + 1
            if needed > extent:
                return (
                    f"Image {image} has {extent} elements along dimension {k}, too few: "
                    f"{self.output} needs at least {needed}."
                )
        return f"The images are too small for any {self.output}."


def _with(ranges: OutputRanges, d: int, range_: tuple[int, int]) -> OutputRanges:
    return (*ranges[:d], range_, *ranges[d + 1 :])


def _least(holds: Callable[[int], bool]) -> int:
    """The least ``n`` from 0 at which a condition begins to hold, at most MOST."""
    low, high = 0, MOST
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
