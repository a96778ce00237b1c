"""What every app promises."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.writing.text import format_schedule, parse_schedule


class AppLike(Protocol):
    """What the tests ask an app for."""

    name: str
    summary: str

    def pipeline(self) -> Pipeline:
        """Builds the pipeline."""
        ...

    @property
    def schedules(self) -> Mapping[str, Path]:
        """Its schedules by hand."""
        ...


class AppContract:
    """The tests of an app."""

    def app(self) -> AppLike:
        """The app under test."""
        raise NotImplementedError("a contract test says which app it tests")

    def test_its_pipeline_is_the_same_each_time(self) -> None:
        assert self.app().pipeline() == self.app().pipeline()

    def test_it_has_sizes_and_a_summary(self) -> None:
        pipeline = self.app().pipeline()
        for name in pipeline.outputs:
            assert pipeline.estimate(name) is not None, f"Output {name} has no estimate."
        assert self.app().summary, "It has no summary."

    def test_its_schedules_are_legal(self) -> None:
        pipeline = self.app().pipeline()
        for name, path in self.app().schedules.items():
            schedule = parse_schedule(path.read_text("utf-8"), pipeline)
            assert parse_schedule(format_schedule(schedule, pipeline), pipeline) == schedule
            verdict = verify(pipeline, schedule, device("sm_80" if name == "gpu" else "cpu"))
            assert verdict, f"Schedule {name} is illegal.\n{verdict}"
