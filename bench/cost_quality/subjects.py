"""What is measured: pipelines with their inputs, and a good schedule to compare others with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from bench.contenders import inputs_of, pipeline_of, written
from bench.cost_quality.incumbents import incumbents
from bench.cost_quality.random_pipelines import by_name
from bench.cost_quality.short_lines import LATER_IDEAS
from bench.cost_quality.single_pipelines import LATER
from spaces.backend.arguments import Array
from spaces.constraints.devices.device import device
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace
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

RANDOM = tuple(f"random_{seed}" for seed in range(60))
"""The random pipelines of several stages that are measured."""

SINGLE = tuple(f"single_{seed}" for seed in range(LATER + 2 * len(LATER_IDEAS)))
"""The random pipelines of one idea that are measured: two of each idea."""

STRUCTURES_OF_RANDOM = 60
"""After this many structures the search for good schedules of a random pipeline of several stages
ends; unlike a limit of time, that gives the same schedules on every machine.
"""

GOOD = 5
"""How many good schedules a search finds."""


@frozen(eq=False)
class Subject:
    """A pipeline whose schedules are measured.

    Attributes:
        name: of the app or of the random pipeline.
        pipeline: with estimates, at which the schedules run.
        space: the schedules with whole patterns of loops for this CPU.
        reference: the schedule that is timed beside all others.
        good: schedules of the space near which others are drawn.
        beyond: good schedules outside of the space.
        inputs: an array for each image; random ones if left out.
    """

    name: str
    pipeline: Pipeline
    space: ScheduleSpace = field(repr=False)
    reference: Schedule
    good: Sequence[Schedule]
    inputs: Mapping[str, Array] | None = field(default=None, repr=False)
    beyond: Sequence[Schedule] = ()

    @staticmethod
    def of_app(app: str) -> Subject:
        """An app at its paper's size. The reference is its schedule by hand, which is also one of
        the good ones.

        Raises:
            EmptySpaceError: no search finds a schedule of the space.
        """
        pipeline, hand = pipeline_of(app), written(app, "cpu")
        found = _near_incumbents(app, pipeline, inputs_of(app), hand)
        return evolve(found, reference=hand)

    @staticmethod
    def of_random(name: str) -> Subject:
        """A random pipeline. The reference is the best schedule that a short search finds."""
        pipeline = by_name(name)
        space = space_of(pipeline)
        good = good_schedules(space, STRUCTURES_OF_RANDOM)
        return Subject(pipeline.name, pipeline, space, good[0], good)

    @staticmethod
    def of_gallery(name: str) -> Subject:
        """A pipeline of the gallery. The reference is the first schedule that a search finds.

        Raises:
            EmptySpaceError: no search finds a schedule of the space.
        """
        return _near_incumbents(name, pipeline_of(name), inputs_of(name))

    @staticmethod
    def of_single(name: str) -> Subject:
        """A random pipeline of one idea, like one of the gallery.

        Raises:
            EmptySpaceError: no search finds a schedule of the space.
        """
        return _near_incumbents(name, by_name(name), None)


def _near_incumbents(
    name: str, pipeline: Pipeline, inputs: Mapping[str, Array] | None, *more: Schedule
) -> Subject:
    space = space_of(pipeline)
    found = list(dict.fromkeys((*incumbents(space), *more)))
    good = [one for one in found if one in space]
    beyond = [one for one in found if one not in space]
    if not good:
        raise EmptySpaceError(f"No search finds a schedule of {name}.")
    return Subject(name, pipeline, space, good[0], good, inputs, beyond)


def space_of(pipeline: Pipeline) -> ScheduleSpace:
    """The schedules with whole patterns of loops for this CPU."""
    return ScheduleSpace(pipeline, device("cpu")).of_patterns


def good_schedules(space: ScheduleSpace, structures: int) -> list[Schedule]:
    """The best schedules of the default search under the default cost model, after that many
    structures.
    """
    found = best(search(space, limits=Limits(top=GOOD, structures=structures)))
    return [one.schedule for one in found.best]
