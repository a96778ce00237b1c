"""Schedules that Halide's autoschedulers find for a pipeline at its estimates."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from backend.halide.bridge import HOST, HalidePipeline
from backend.halide.definition import PeerAlgorithm
from backend.halide.errors import DirectiveError
from backend.halide.peer import failing_as, hl
from spaces.model.algorithm.pipeline import Pipeline

AUTOSCHEDULERS = ("Mullapudi2016", "Adams2019", "Li2018")
"""Those of Halide's package that schedule for CPUs."""


def autoscheduled(pipeline: Pipeline, autoscheduler: str, cores: int) -> HalidePipeline:
    """The pipeline in Halide, with the schedule of an autoscheduler for this host. It may take
    minutes, or take all memory: run it in a process of its own.

    Args:
        pipeline: has estimates of all its images and outputs.
        autoscheduler: one of :data:`AUTOSCHEDULERS`.
        cores: how many threads the schedule is for.

    Raises:
        DirectiveError: Halide refuses the pipeline or fails to schedule it.
    """
    peer = HalidePipeline(PeerAlgorithm(pipeline))
    with failing_as(DirectiveError, f"{autoscheduler} fails to schedule {pipeline.name}"):
        peer.algorithm.set_estimates()
        _load(autoscheduler)
        given = hl.AutoschedulerParams(autoscheduler, {"parallelism": str(cores)})
        peer.autoschedule(hl.Target(HOST), given)
    return peer


@cache
def _load(autoscheduler: str) -> None:
    folder = Path(hl.__file__).parent / "lib64"
    hl.load_plugin(str(folder / f"libautoschedule_{autoscheduler.lower()}.so"))
