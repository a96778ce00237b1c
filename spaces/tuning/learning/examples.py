"""Measured schedules as the inputs of a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import CpuDevice
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.learned.inputs import INPUTS_OF, Floats, compress, table
from spaces.cost.measurer import RunOutcome
from spaces.features.extraction import FeatureMemo
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.text import parse_schedule


class MeasurementsError(ValueError):
    """A file of measured schedules cannot be read."""


@frozen
class MeasuredSchedule:
    """One schedule with its time.

    Attributes:
        subject: the name of the pipeline; times of one subject compare.
        seconds: the time of a run.
    """

    subject: str
    pipeline: Pipeline
    schedule: Schedule
    seconds: float


def read_measurements(path: Path, pipeline_of: Callable[[str], Pipeline]) -> list[MeasuredSchedule]:
    """The schedules of a file that ran correctly.

    A line is a JSON object with ``subject``, ``schedule`` (directives), ``outcome``, and ``ratio``:
    the time over that of a reference, whose seconds are ``reference_median_seconds``. A last line
    without a newline does not count: a measurement is still writing it.

    Args:
        path: the file.
        pipeline_of: the pipeline of a subject.

    Raises:
        MeasurementsError: a line is not such an object, or names a schedule that does not exist.
    """
    text = path.read_text("utf-8")
    whole = text[: text.rfind("\n") + 1]
    pipelines: dict[str, Pipeline] = {}
    found: list[tuple[str, Schedule, float, float]] = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            record = json.loads(line)
            if record["outcome"] != RunOutcome.CORRECT or not record["ratio"]:
                continue
            subject = str(record["subject"])
            if subject not in pipelines:
                pipelines[subject] = pipeline_of(subject)
            schedule = parse_schedule(record["schedule"], pipelines[subject])
            times = float(record["ratio"]), float(record["reference_median_seconds"])
            found.append((subject, schedule, *times))
        except (KeyError, TypeError, ValueError, ScheduleSyntaxError) as error:
            raise MeasurementsError(f"{path}, line {number}: {error}") from None
    references = {
        subject: float(np.median([one[3] for one in found if one[0] == subject]))
        for subject in pipelines
    }
    return [
        MeasuredSchedule(subject, pipelines[subject], schedule, ratio * references[subject])
        for subject, schedule, ratio, _ in found
    ]


@frozen(eq=False)
class TrainingExample:
    """One measured schedule as a network reads it: a row for each stage.

    Attributes:
        subject: the name of its pipeline.
        algorithm: the compressed inputs from the algorithm.
        schedule: those from the schedule.
        terms: the terms of the cost.
        seconds: its time.
        analytic: its cost by the model ``reuse``, to compare with.
    """

    subject: str
    algorithm: Floats
    schedule: Floats
    terms: Floats
    seconds: float
    analytic: float


@frozen(eq=False)
class Examples:
    """Examples with one set of names.

    Attributes:
        kind: ``learned`` or ``hybrid``.
        names: the names of inputs from the algorithm, of those from the schedule, and of terms.
        examples: the examples.
    """

    kind: str
    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    examples: Sequence[TrainingExample]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects, each once, in their order."""
        return tuple(dict.fromkeys(one.subject for one in self.examples))

    def without(self, subject: str) -> Examples:
        """The examples of all other subjects."""
        kept = [one for one in self.examples if one.subject != subject]
        return Examples(self.kind, self.names, kept)


def examples(
    measured: Iterable[MeasuredSchedule],
    device: CpuDevice,
    kind: str,
    progress: Callable[[int], None] = lambda count: None,
) -> Examples:
    """Reads measured schedules as a network of this kind does.

    Raises:
        MeasurementsError: ``measured`` has no schedule.
    """
    memos: dict[str, FeatureMemo] = {}
    reuse = Reuse(device)
    found: list[TrainingExample] = []
    names: tuple[tuple[str, ...], ...] = ()
    for one in measured:
        memo = memos.setdefault(one.subject, FeatureMemo())
        batch = Batch.of(one.pipeline, one.schedule, memo=memo)
        stages = list(INPUTS_OF[kind](batch.features, device))
        names = (tuple(stages[0].algorithm), tuple(stages[0].schedule), tuple(stages[0].terms))
        found.append(
            TrainingExample(
                one.subject,
                compress(np.concatenate([table(s.algorithm, ()) for s in stages])),
                compress(np.concatenate([table(s.schedule, ()) for s in stages])),
                np.concatenate([table(s.terms, ()) for s in stages]),
                one.seconds,
                float(reuse.cost(batch)),
            )
        )
        progress(len(found))
    if not found:
        raise MeasurementsError("There is no schedule with a time to train on.")
    return Examples(kind, (names[0], names[1], names[2]), found)


@frozen(eq=False)
class Group:
    """The examples of one subject, their stages one below the other.

    Attributes:
        starts: the first row of each example.
        times: the logarithm of each time.
    """

    algorithm: Floats
    schedule: Floats
    terms: Floats
    starts: NDArray[np.int64] = field()
    times: Floats = field()

    @staticmethod
    def of(members: Sequence[TrainingExample]) -> Group:
        """The group of some examples."""
        counts = [len(one.terms) for one in members]
        return Group(
            np.concatenate([one.algorithm for one in members]),
            np.concatenate([one.schedule for one in members]),
            np.concatenate([one.terms for one in members]),
            np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64),
            np.log([one.seconds for one in members]),
        )


def by_subject(found: Examples) -> Mapping[str, Sequence[TrainingExample]]:
    """The examples of each subject."""
    grouped: dict[str, list[TrainingExample]] = {}
    for one in found.examples:
        grouped.setdefault(one.subject, []).append(one)
    return grouped
