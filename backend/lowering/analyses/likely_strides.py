"""The strides of interleaved arrays, such as pictures whose pixels hold three channels each."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from spaces.model.expressions.expr import Const
from spaces.model.nest.loopnest import LoopNest
from spaces.model.schedules.schedule import Bound

_MOST_CHANNELS = 4
"""Wider pixels are rare, and vectors along them read and write mostly other channels."""


@frozen
class LikelyStrides:
    """The strides that arrays of the caller have if they are dense: the stride of a dimension is
    the product of the extents inside it. Only strides of a few elements are likely; a caller
    chooses the others.
    """

    nest: LoopNest
    promised: dict[str, int] = field(init=False)

    @promised.default
    def _promised(self) -> dict[str, int]:
        return self.nest.pipeline.promised_sizes()

    def of(self, buffer: str, known: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """The ``known`` strides of an image or output, and the likely ones; None for all others."""
        found, stride = list(known), 1
        for d, step in enumerate(known):
            if step not in (None, stride):
                break
            found[d] = stride
            extent = next(self._extents(buffer, d), None)
            if extent is None or not 1 <= stride * extent <= _MOST_CHANNELS:
                break
            stride *= extent
        return tuple(found)

    def _extents(self, buffer: str, d: int) -> Iterator[int]:
        """The number of elements of a dimension by each source that knows it, the best first: the
        pipeline's promise, the bound of a schedule, the estimate, and what the pipeline needs.
        """
        pipeline, nest = self.nest.pipeline, self.nest
        promised = self.promised.get(f"{buffer}.extent.{d}")
        if promised is not None:
            yield promised
        if buffer in pipeline.outputs:
            dimension = pipeline.function(buffer).args[d]
            for one in nest.schedule.of(buffer).bounds:
                if isinstance(one, Bound) and one.dimension == dimension:
                    yield one.extent
        estimate = pipeline.estimate(buffer)
        if estimate is not None:
            yield estimate[d][1]
        box = {**nest.inputs, **nest.outputs}.get(buffer)
        low, high = (None, None) if box is None else (box[d].min, box[d].max)
        if low is not None and high is not None:
            extent = nest.simplify(high - low + 1)
            if isinstance(extent, Const):
                yield int(extent.value)
