"""How a search decides for CPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from attrs import frozen

from spaces.enumerate.search.stagewise.dominance import is_read_in_lanes
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay, PricedWay
from spaces.enumerate.space.frontier import ResidualPath
from spaces.enumerate.space.patterns.stage_shapes import adds_up
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.schedule import FuncSchedule, Schedule


@frozen
class CpuPolicy:
    """Compares ways by their middle numbers, and keeps one state. Edits of all Funcs are alike: to
    begin with the dear ones is not known to help.
    """

    quick_width: ClassVar[int] = 1
    compared: ClassVar[float] = 1 / 3
    doubts_repeats: ClassVar[bool] = False
    edits_dear_funcs_first: ClassVar[bool] = False

    def keeps_more_at_end(self, pipeline: Pipeline) -> bool:
        """If a Func adds up: another state may be the cheapest once an image that a sum reads is
        wrapped.
        """
        return any(map(adds_up, pipeline.functions))

    def loses_nothing_inlined(
        self, state: HalfDecided, name: str, part: Pipeline, nests: Schedule
    ) -> bool:
        """Whether it keeps vector lanes."""
        return is_read_in_lanes(part, nests, name)

    def counted_entries(
        self, entries: Mapping[str, FuncSchedule], around: ResidualPath, function: Function
    ) -> Sequence[FuncSchedule]:
        """All."""
        return tuple(entries.values())

    def choose_usual(self, way: OpenWay) -> OpenWay:
        """The middle number for each parameter."""
        return way.usual

    def leave_out_far(self, priced: PricedWay) -> PricedWay:
        """All choices stay: tiles of a CPU are no longer than what they split."""
        return priced

    def needs_verdict(self, way: OpenWay) -> bool:
        """Never."""
        return False
