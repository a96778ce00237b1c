"""Names of pipelines, schedules and machines that are the same in every process."""

from __future__ import annotations

import json

from attrs import evolve

from spaces.backend.measuring.machine import TuningMachine, this_machine
from spaces.model.algorithm.pipeline import Estimate, Pipeline
from spaces.model.digests import digest
from spaces.model.nest.canonical import canonical_form
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import to_json

__all__ = [
    "TuningMachine", "algorithm_of", "pipeline_digest", "schedule_digest", "sizes_text",
    "this_machine", "with_sizes",
]  # fmt: skip


def algorithm_of(pipeline: Pipeline) -> Pipeline:
    """A pipeline without estimates: results at several sizes belong to one algorithm."""
    return evolve(pipeline, estimates=())


def pipeline_digest(pipeline: Pipeline) -> str:
    """The digest of the algorithm of a pipeline, without its sizes."""
    return digest(to_json(algorithm_of(pipeline)))


def schedule_digest(pipeline: Pipeline, schedule: Schedule) -> str:
    """The digest of a schedule up to the names of its loops."""
    return canonical_form(pipeline, schedule).digest


def sizes_text(pipeline: Pipeline) -> str:
    """The estimates of a pipeline as JSON: for each buffer the (min, extent) of each dimension."""
    return json.dumps({one.buffer: one.ranges for one in pipeline.estimates})


def with_sizes(pipeline: Pipeline, text: str) -> Pipeline:
    """A pipeline with the estimates of :func:`sizes_text`."""
    estimates = (
        Estimate(buffer, tuple((low, extent) for low, extent in ranges))
        for buffer, ranges in json.loads(text).items()
    )
    return evolve(pipeline, estimates=tuple(estimates))
