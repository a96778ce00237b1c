"""Schedules that Halide's autoschedulers find for a pipeline at its estimates."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from attrs import frozen

from spaces.backend.halide.bridge import CUDA, HOST, HalidePipeline
from spaces.backend.halide.definition import PeerAlgorithm
from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.found_schedule import found_schedule
from spaces.backend.halide.peer import failing_as, hl
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule

AUTOSCHEDULERS = ("Mullapudi2016", "Adams2019", "Li2018")
"""Those of Halide's package that schedule for CPUs."""

GPU_AUTOSCHEDULERS = ("Anderson2021", "Li2018")
"""Those that schedule for GPUs, here for one of compute capability 8.0."""


@frozen
class Autoscheduled:
    """What an autoscheduler has found.

    Attributes:
        peer: the pipeline in Halide, with the schedule.
        source: the schedule as the autoscheduler writes it, C++ in its own manner.
    """

    peer: HalidePipeline
    source: str

    @property
    def schedule(self) -> Schedule:
        """The schedule as one of ours, as
        :func:`~spaces.backend.halide.found_schedule.found_schedule` reads it.
        """
        spelled = {name: str(func.name()) for name, func in self.peer.algorithm.funcs.items()}
        return found_schedule(self.source, self.peer.pipeline, spelled)


def autoscheduled(pipeline: Pipeline, autoscheduler: str, cores: int) -> Autoscheduled:
    """The schedule of an autoscheduler for this host. Finding it may take minutes, or take all
    memory: run it in a process of its own.

    Args:
        pipeline: has estimates of all its images and outputs.
        autoscheduler: one of :data:`AUTOSCHEDULERS`.
        cores: how many threads the schedule is for.

    Raises:
        DirectiveError: Halide refuses the pipeline or fails to schedule it.
    """
    return _found(pipeline, autoscheduler, cores, HOST)


def gpu_autoscheduled(
    pipeline: Pipeline, autoscheduler: str, multiprocessors: int
) -> Autoscheduled:
    """The schedule of an autoscheduler for a GPU, which this machine need not have.

    Args:
        pipeline: has estimates of all its images and outputs.
        autoscheduler: one of :data:`GPU_AUTOSCHEDULERS`.
        multiprocessors: how many the GPU has.

    Raises:
        DirectiveError: Halide refuses the pipeline or fails to schedule it.
    """
    return _found(pipeline, autoscheduler, multiprocessors, CUDA)


def _found(pipeline: Pipeline, autoscheduler: str, parallelism: int, target: str) -> Autoscheduled:
    peer = HalidePipeline(PeerAlgorithm(pipeline))
    with failing_as(DirectiveError, f"{autoscheduler} fails to schedule {pipeline.name}"):
        peer.algorithm.set_estimates()
        _load(autoscheduler)
        given = hl.AutoschedulerParams(autoscheduler, {"parallelism": str(parallelism)})
        return Autoscheduled(peer, peer.autoschedule(hl.Target(target), given))


@cache
def _load(autoscheduler: str) -> None:
    folder = Path(hl.__file__).parent / "lib64"
    hl.load_plugin(str(folder / f"libautoschedule_{autoscheduler.lower()}.so"))
