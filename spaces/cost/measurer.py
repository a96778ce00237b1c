"""The protocol of measured costs: times of schedules that were compiled and run."""

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
        schedule: what was run.
        seconds: the time of one run; None where it could not be run.
        failure: why not, as a sentence; empty where it could.
    """

    schedule: Schedule
    seconds: float | None
    failure: str = ""


@runtime_checkable
class Measurer(Protocol):
    """Compiles schedules, runs them and takes their times."""

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> Sequence[Measurement]:
        """One measurement for each schedule, in their order.

        A schedule that fails does not keep the others from being measured.
        """
        ...
