"""What a store knows about one study: the common source of all tables and plots."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from attrs import field, frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.tuning.schema import StoreError, is_time
from spaces.tuning.search_counts import SearchCounts
from spaces.tuning.store import TuningStore
from spaces.tuning.study_key import StudySummary
from spaces.tuning.trial import Trial, fastest


@frozen(repr=False)
class StudyRecord:
    """A study as its store has it.

    Attributes:
        about: its line in the list of studies.
        path: the file of the store.
        pipeline: the pipeline, with its sizes as estimates.
        trials: all trials, in order.
        told: for trials with a result, by number: the seconds of tuning until the result came. The
            time between two processes that tune does not count, nor does the search before the
            first trial. Results of older stores have no time.
        counts: what the search of the study has counted; None if the study has no search.
        reference_seconds: the median time of the reference; None without times.
    """

    about: StudySummary
    path: str
    pipeline: Pipeline
    trials: tuple[Trial, ...]
    told: Mapping[int, float] = field(factory=dict)
    counts: SearchCounts | None = None
    reference_seconds: float | None = None

    def __repr__(self) -> str:
        return f"<StudyRecord {self.about.id} of {self.about.pipeline}: {len(self.trials)} trials>"

    @cached_property
    def ranked(self) -> Sequence[Trial]:
        """The trials with times, the fastest first."""
        return fastest(self.trials)

    def milliseconds(self, trial: Trial) -> float:
        """The time of a run of a trial: its ratio times the median time of the reference in the
        whole study. So a moment in which the machine was slow does not count. Infinite without
        times.
        """
        return trial.ratio * (self.reference_seconds or 1.0) * 1e3


def study_record(
    store: TuningStore, study: int, trials: Iterable[Trial] | None = None
) -> StudyRecord:
    """What a store knows about a study.

    Args:
        store: the store.
        study: the number of the study.
        trials: its trials, if they are read already.

    Raises:
        StoreError: the store has no such study, or the study is damaged.
    """
    pipeline = store.pipeline_of(study)
    about = next((one for one in store.studies() if one.id == study), None)
    if about is None:
        raise StoreError(
            f"Study {study} of {store.path} is damaged; spaces studies --check lists all damage."
        )
    search = store.search_of(study)
    times = store.rows("SELECT number, told FROM trials WHERE study = ? AND told > 0", study)
    began = store.rows("SELECT began FROM sessions WHERE study = ? ORDER BY began", study)
    told = {number: moment for number, moment in times if is_time(moment)}
    return StudyRecord(
        about,
        store.path,
        pipeline,
        tuple(store.trials(study) if trials is None else trials),
        tuning_seconds(told, [moment for (moment,) in began]),
        None if search is None else search[0],
        store.reference_seconds(study),
    )


def tuning_seconds(told: Mapping[int, float], began: Sequence[float]) -> dict[int, float]:
    """The seconds of tuning until each result: those since its process began, and those of earlier
    processes until their last result.

    Args:
        told: for each trial the moment of its result, in seconds.
        began: the moments when processes began to tune, in order. A result before the first one has
            no time.
    """
    last: dict[int, float] = {}
    for moment in told.values():
        process = bisect_right(began, moment) - 1
        last[process] = max(last.get(process, moment), moment)
    before, spent = {}, 0.0
    for process, start in enumerate(began):
        before[process] = spent
        spent += last.get(process, start) - start
    found = {}
    for number, moment in told.items():
        process = bisect_right(began, moment) - 1
        if process >= 0:
            found[number] = before[process] + moment - began[process]
    return found


def in_order_of_results(record: StudyRecord, trials: Iterable[Trial]) -> list[Trial]:
    """Trials with a result, in the order in which the results came; by number where the store does
    not know it.
    """
    with_result = [one for one in trials if one.result is not None]
    return sorted(with_result, key=lambda one: (record.told.get(one.number, 0.0), one.number))
