"""The protocol of measured costs: the times of compiled schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from attrs import frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


@frozen
class Measurement:
    """The time of one schedule.

    Attributes:
        schedule: the measured schedule.
        seconds: the time of one run; None if the run failed.
        failure: why the run failed, as a sentence; empty if it did not.
    """

    schedule: Schedule
    seconds: float | None
    failure: str = ""


@runtime_checkable
class Measurer(Protocol):
    """Compiles schedules, runs them and measures their times."""

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> Sequence[Measurement]:
        """One measurement for each schedule, in their order.

        If one schedule fails, the others are still measured.
        """
        ...
