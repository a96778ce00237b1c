"""Tuning without running: the results that a study has stand in for measurements. So strategies are
compared in seconds, and on the same results. Kernel Tuner calls this its simulation mode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, evolve, field

from spaces.cost.measurer import Measurement, RunOutcome
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.identity import pipeline_digest, schedule_digest, sizes_text
from spaces.tuning.plots.study_record import StudyRecord, study_record
from spaces.tuning.sources import REFERENCE
from spaces.tuning.store import MEMORY, TuningStore
from spaces.tuning.strategy import TuningStrategy
from spaces.tuning.study import Study

SEARCHING = 10.0
"""The most seconds in which a strategy searches before its first result."""

UNKNOWN = "The study that is replayed has no result of this schedule."
"""The reason of results that nobody has measured."""


@define
class RecordedMeasurer:
    """A :class:`Measurer` that runs nothing: a schedule has the result that a study has of it. One
    without a result is refused, and so has no time.

    Attributes:
        unknown: how many schedules were refused.
    """

    _known: Mapping[str, Measurement] = field(repr=False)
    unknown: int = field(init=False, default=0)

    @staticmethod
    def of(record: StudyRecord) -> RecordedMeasurer:
        """The measurer with the results of a study."""
        return RecordedMeasurer(
            {
                schedule_digest(record.pipeline, one.schedule): one.result
                for one in record.trials
                if one.result is not None
            }
        )

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        return [self._result(pipeline, one) for one in schedules]

    def _result(self, pipeline: Pipeline, schedule: Schedule) -> Measurement:
        known = self._known.get(schedule_digest(pipeline, schedule))
        if known is None:
            self.unknown += 1
            return Measurement(schedule, RunOutcome.REFUSED, UNKNOWN)
        return evolve(known, schedule=schedule)


def replay_strategy(
    record: StudyRecord,
    space: ScheduleSpace,
    strategy: str | TuningStrategy | None = None,
    *,
    trials: int,
    seed: int = 0,
    searching: float = SEARCHING,
) -> StudyRecord:
    """The study that a strategy would have made of the results of another one. It is in memory, and
    nothing runs.

    A strategy learns only of schedules that the other study has measured; others are refused. So
    measure all schedules of a small space first, or many, and look at how many were refused.

    Args:
        record: the study with the results.
        space: the space of both.
        strategy: what proposes schedules, or its name; by default :class:`Evolving`.
        trials: how many schedules it proposes.
        seed: the seed of random choices.
        searching: the most seconds in which it searches before its first result.

    Returns:
        A study for tables and plots. Its times of tuning are those that compilers and runs took in
        the other study, the runs of the reference beside them included; searching takes none.

    Raises:
        ValueError: the study has no result of its reference, or the space is of another pipeline.
        EmptySpaceError, UnknownTuningStrategyError: as :meth:`Study.open` does.

    >>> replayed = replay_strategy(study_record(store, 1), space, "random", trials=50)
    >>> study_progress(replayed)[-1].best
    """
    begun = [one for one in record.trials if one.proposal.source == REFERENCE and one.result]
    if not begun:
        raise ValueError(
            f"Study {record.about.id} of {record.path} has no result of its reference."
        )
    if space.pipeline != record.pipeline:
        raise ValueError(
            f"Study {record.about.id} is of {record.about.pipeline} at the sizes of its store; the "
            f"space of {space.pipeline.name} has another pipeline or other sizes."
        )
    with (
        TuningStore.open(MEMORY) as store,
        Study.open(
            store,
            space,
            strategy=strategy,
            seed=seed,
            reference=begun[0].schedule,
            searching=searching,
        ) as study,
    ):
        study.run(RecordedMeasurer.of(record), trials=trials)
        made = study_record(store, study.id, study.trials)
    return evolve(made, path=f"a replay of {record.path}", told=_simulated_seconds(made))


def _identity(pipeline: Pipeline) -> tuple[str, str]:
    return pipeline_digest(pipeline), sizes_text(pipeline)


def _simulated_seconds(record: StudyRecord) -> dict[int, float]:
    """The seconds that compilers and runs took until each result."""
    found, spent = {}, 0.0
    for trial in record.trials:
        result = trial.result
        if result is not None:
            spent += result.compile_seconds or 0.0
            spent += sum(result.seconds) + sum(result.reference_seconds)
            found[trial.number] = spent
    return found
