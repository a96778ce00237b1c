"""How a search decides for GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from spaces.enumerate.search.stagewise.dominance import is_read_in_threads
from spaces.enumerate.search.stagewise.long_tiles import MOST_BEYOND, relative_length_of_updates
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay, PricedWay
from spaces.enumerate.space.frontier import ResidualPath
from spaces.enumerate.space.patterns.stage_shapes import adds_up
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.schedule import FuncSchedule, Schedule


@frozen
class GpuPolicy:
    """Compares ways by all numbers, since the middle ones of threads and of the values of a thread
    often do not go together, and keeps two states while the search is quick.
    """

    quick_width: ClassVar[int] = 2
    compared: ClassVar[float] = 1.0
    doubts_repeats: ClassVar[bool] = True
    edits_dear_funcs_first: ClassVar[bool] = True

    def keeps_more_at_end(self, pipeline: Pipeline) -> bool:
        """No rewrite for GPUs needs them."""
        return False

    def loses_nothing_inlined(
        self, state: HalfDecided, name: str, part: Pipeline, nests: Schedule
    ) -> bool:
        """Whether no thread computes a reader of it for itself: neighboring threads would compute
        it again.
        """
        process = state.partial.state
        entries = {entry.name: entry for entry in process.entries}
        return not is_read_in_threads(process.pipeline, entries, name)

    def counted_entries(
        self, entries: Mapping[str, FuncSchedule], around: ResidualPath, function: Function
    ) -> Sequence[FuncSchedule]:
        """For a sum its entry and that of the loops around it, which are few in pipelines of any
        length: only the sum shows how many values a thread should compute. For other Funcs all
        entries.
        """
        if not (around and adds_up(function)):
            return tuple(entries.values())
        return tuple(entries[one] for one in dict.fromkeys((around[0].func, function.name)))

    def choose_usual(self, way: OpenWay) -> OpenWay:
        """All numbers."""
        return way

    def leave_out_far(self, priced: PricedWay) -> PricedWay:
        """Without those whose updates reach far beyond the Func decided last, unless all do: its
        producers, which have no cost yet, would compute as much more.
        """
        way, structure = priced.way, priced.way.to_price
        numbers: dict[str, int | NDArray[np.int64]] = {**way.state.numbers, **structure.columns}
        reach = relative_length_of_updates(way.state.partial.state.pipeline, way.entry, numbers)
        costs = np.where(reach > MOST_BEYOND, np.inf, priced.costs)
        return evolve(priced, costs=costs) if np.isfinite(costs).any() else priced

    def needs_verdict(self, way: OpenWay) -> bool:
        """If it changes all nests, or computes a Func inside the loops of another one: kernels may
        store arrays of extents that are not constant.
        """
        compute = way.entry.compute
        return way.changed is None or not (compute.is_root or compute.is_inline)
