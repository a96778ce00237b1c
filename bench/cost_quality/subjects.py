"""What is measured: pipelines with their inputs, and a good schedule to compare others with."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from backend.arguments import Array
from bench.contenders import inputs_of, pipeline_of, written
from spaces.constraints.devices.device import device
from spaces.enumerate.board import Limits
from spaces.enumerate.space import ScheduleSpace
from spaces.enumerate.strategies import best, search
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule

APPS = (
    "blur",
    "unsharp",
    "harris",
    "bilateral_grid",
    "hist",
    "max_filter",
    "conv_layer",
    "sgemm",
    "iir_blur",
    "bgu",
    "depthwise_conv",
    "nl_means",
)
"""The apps that are measured."""

STRUCTURES = 300
"""After so many structures the search for good schedules ends; unlike a limit of time, that gives
the same schedules on every machine.
"""

GOOD = 5
"""How many good schedules a search finds."""


@frozen(eq=False)
class Subject:
    """A pipeline whose schedules are measured.

    Attributes:
        name: of the app or of the random pipeline.
        pipeline: with estimates, at which the schedules run.
        reference: the schedule that is timed beside all others.
        inputs: an array for each image; random ones if left out.
        hand: a schedule by hand near which others are drawn, if there is one.
    """

    name: str
    pipeline: Pipeline
    reference: Schedule
    inputs: Mapping[str, Array] | None = field(default=None, repr=False)
    hand: Schedule | None = None

    @staticmethod
    def of_app(app: str) -> Subject:
        """An app at its paper's size. The reference is its schedule by hand."""
        hand = written(app, "cpu")
        return Subject(app, pipeline_of(app), hand, inputs_of(app), hand)


def space_of(pipeline: Pipeline) -> ScheduleSpace:
    """The schedules with whole patterns of loops for this CPU."""
    return ScheduleSpace(pipeline, device("cpu")).of_patterns


def good_schedules(space: ScheduleSpace) -> list[Schedule]:
    """The best schedules of the default search, under the default cost model."""
    found = best(search(space, limits=Limits(top=GOOD, structures=STRUCTURES)))
    return [one.schedule for one in found.best]
