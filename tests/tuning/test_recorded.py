"""Strategies on the results of another study: nothing runs, and results stay the same."""

from __future__ import annotations

from functools import cache

import pytest
from attrs import evolve

from spaces.cost.measurer import RunOutcome
from spaces.model.writing.text import parse_schedule
from spaces.tuning.identity import schedule_digest
from spaces.tuning.plots.progress import study_progress
from spaces.tuning.plots.study_record import StudyRecord, study_record
from spaces.tuning.random_trials import RandomTrials
from spaces.tuning.recorded import UNKNOWN, RecordedMeasurer, replay_strategy
from spaces.tuning.store import TuningStore
from spaces.tuning.study import Study
from tests.enumerate.pipelines import blur
from tests.tuning.fakes import SPACE, FakeMeasurer


@cache
def measured() -> StudyRecord:
    """Twelve random schedules, with the made-up results of the fake."""
    with TuningStore.open(":memory:") as store:
        with Study.open(store, SPACE, strategy=RandomTrials(size=6)) as study:
            study.run(FakeMeasurer(), trials=12, batch=6)
        return study_record(store, study.id)


def results(record: StudyRecord) -> dict[str, object]:
    return {
        schedule_digest(record.pipeline, one.schedule): one.result
        for one in record.trials
        if one.result is not None
    }


def test_the_same_strategy_gets_the_same_results() -> None:
    again = replay_strategy(measured(), SPACE, RandomTrials(size=6), trials=12)
    assert results(again) == results(measured())
    assert len(results(again)) == 12
    points = study_progress(again)
    assert points[-1].best == study_progress(measured())[-1].best
    seconds = [one.seconds for one in points]
    expected = sum(
        0.1 + 6 * (one.result.seconds[0] + 2.0)
        for one in measured().trials
        if one.result is not None and one.result.seconds
    )
    assert seconds == sorted(seconds, key=lambda one: one or 0.0)
    assert seconds[-1] == pytest.approx(expected)


def test_what_nobody_has_measured_is_refused() -> None:
    other = replay_strategy(measured(), SPACE, RandomTrials(size=6), trials=12, seed=5)
    known = results(measured())
    outcomes = [
        (schedule_digest(other.pipeline, one.schedule) in known, one.result)
        for one in other.trials
        if one.result is not None
    ]
    assert len(outcomes) == 12
    assert {is_known for is_known, _ in outcomes} == {True, False}
    for is_known, result in outcomes:
        assert (result.reason == UNKNOWN) is not is_known
        assert is_known or result.outcome is RunOutcome.REFUSED
    measurer = RecordedMeasurer.of(measured())
    unknown = parse_schedule("blur_y.split(x, x, xi, 7)", SPACE.pipeline)
    assert [one.outcome for one in measurer.measure(SPACE.pipeline, [unknown])] == ["refused"]
    assert measurer.unknown == 1


def test_a_replay_needs_the_reference_and_its_pipeline() -> None:
    without = evolve(measured(), trials=measured().trials[1:])
    with pytest.raises(ValueError, match="has no result of its reference"):
        replay_strategy(without, SPACE, RandomTrials(), trials=3)
    larger = evolve(SPACE, pipeline=blur(64, 64))
    with pytest.raises(ValueError, match="has another pipeline or other sizes"):
        replay_strategy(measured(), larger, RandomTrials(), trials=3)
