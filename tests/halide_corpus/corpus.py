"""The schedules of the corpus, read from ``schedules/*.toml``: one file a pipeline."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from attrs import frozen

from spaces import Device, Schedule, Verdict, device, parse_schedule, verify
from tests.halide_corpus.algorithms import Algorithm, algorithms

FOLDER = Path(__file__).parent


@frozen
class Case:
    """One schedule of one pipeline for one device.

    Attributes:
        name: ``pipeline/schedule``.
        purpose: what the schedule tries, in a phrase.
        text: the directives.
        device: a name that :func:`spaces.device` knows.
    """

    name: str
    purpose: str
    text: str
    device: str = "cpu"

    @property
    def algorithm(self) -> Algorithm:
        """The pipeline and its inputs."""
        return algorithms()[self.name.split("/")[0]]

    @property
    def schedule(self) -> Schedule:
        """The text as a record."""
        return parse_schedule(self.text, self.algorithm.pipeline)

    @property
    def target(self) -> Device:
        """The device that the schedule is for."""
        return device(self.device)

    @property
    def is_gpu(self) -> bool:
        """Whether the schedule is for a GPU."""
        return self.device != "cpu"

    def verdict(self) -> Verdict:
        """What `verify` says of the schedule."""
        return verify(self.algorithm.pipeline, self.schedule, self.target)


@cache
def cases() -> Mapping[str, Case]:
    """All cases by name, in the order of the pipelines and of their files."""
    return {
        case.name: case
        for algorithm in algorithms()
        for case in _read(FOLDER / "schedules" / f"{algorithm}.toml")
    }


def _read(path: Path) -> list[Case]:
    entries = tomllib.loads(path.read_text())
    return [
        Case(
            f"{path.stem}/{name}",
            entry["purpose"],
            entry["schedule"],
            entry.get("device", "cpu"),
        )
        for name, entry in entries.items()
    ]
