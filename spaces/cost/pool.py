"""Measurers that work on many schedules at once, such as the machines of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from spaces.cost.measurer import Measurement
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


@runtime_checkable
class MeasuringPool(Protocol):
    """Takes schedules at any time and gives each result as soon as it is known. Nobody waits for
    the slowest schedule of a batch, and machines may come and go.
    """

    @property
    def wanted(self) -> int:
        """How many schedules it can take now, so that no machine waits."""
        ...

    def submit(self, pipeline: Pipeline, schedules: Sequence[tuple[int, Schedule]]) -> None:
        """Takes schedules, each with a number of its own. They are measured within the time limit
        of the caller (``Deadline.kept``).
        """
        ...

    def collect(self, seconds: float) -> list[tuple[int, Measurement]]:
        """The results that have come, each with the number of its schedule. Waits up to that many
        seconds for the first.
        """
        ...

    def cancel(self) -> None:
        """Drops all schedules that have no result."""
        ...
