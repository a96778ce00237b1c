"""What the nests of similar schedules have in common."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import define, field

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr
from spaces.model.nest.bounds import Bounds, KnownBounds
from spaces.model.schedules.schedule import Schedule

NO_SIZES: Mapping[str, int] = MappingProxyType({})
"""The sizes of a nest for all sizes."""


@define(eq=False)
class NestMemo:
    """Parts of the bounds of recent nests, and all bounds of the last one: a structure is judged
    and then scored, or the other way round.
    """

    known: KnownBounds = field(factory=KnownBounds)
    _last: Bounds | None = field(init=False, default=None)

    def bounds(
        self,
        pipeline: Pipeline,
        schedule: Schedule,
        assumptions: tuple[Expr, ...] = (),
        sizes: Mapping[str, int] = NO_SIZES,
    ) -> Bounds:
        """The bounds of a well-formed (pipeline, schedule), for all sizes or for some.

        Raises:
            LevelError, UnboundedError, KeyError: as :class:`Bounds` does.
        """
        last = self._last
        if (
            last is not None
            and last.given is pipeline
            and last.schedule is schedule
            and last.assumptions == assumptions
            and last.sizes == sizes
        ):
            return last
        self._last = None
        self._last = Bounds(pipeline, schedule, assumptions, self.known, sizes)
        return self._last
