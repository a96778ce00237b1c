"""A subject of measurements of cost models, and a measurer that takes no time."""

import math

from bench.cost_quality import (
    subjects,
)
from bench.cost_quality.collecting import Collecting
from bench.cost_quality.drawing import Drawing
from bench.cost_quality.random_pipelines import random_pipeline
from bench.cost_quality.subjects import Subject
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule

PROCESSOR = "AMD EPYC (znver4)"
"""One that is described beside the measurements."""


class Killed(Exception):
    """Stands for the end of a process."""


class FakeMeasurer:
    """Says that each schedule takes as many seconds as its text has letters; ends at a batch."""

    def __init__(self, batches=math.inf):
        self.batches = batches
        self.asked = []

    def measure(self, pipeline, schedules):
        if self.batches == 0:
            raise Killed
        self.batches -= 1
        texts = [format_schedule(one, pipeline) for one in schedules]
        self.asked += texts
        return [
            Measurement(one, RunOutcome.CORRECT, "", (len(text) + 1.0,) * 3, (2.0,) * 3, 0.1)
            for one, text in zip(schedules, texts, strict=True)
        ]


def random_subject():
    """A random pipeline with two good schedules of its space."""
    pipeline = random_pipeline(17)
    space = subjects.space_of(pipeline)
    plain = Schedule.default(pipeline)
    return Subject(pipeline.name, pipeline, space, plain, space.sample(2, seed=3))


def collecting(subject, path, measurer, wanted=20):
    drawing = Drawing(subject.space, subject.good)
    return Collecting(subject, drawing, measurer, path, wanted, PROCESSOR)
