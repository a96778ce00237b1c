"""Exports: T4 documents, checked against its schema, and CSV."""

from __future__ import annotations

import csv
import io
import json

import pytest

from spaces import StoreError, Study, Trial, TuningStore, csv_text, t4_text, trials_from_t4
from spaces.tuning.export import COLUMNS
from tests.tuning.fakes import QUICK, SPACE, FakeMeasurer


@pytest.fixture(scope="module")
def trials() -> tuple[Trial, ...]:
    with TuningStore.open(":memory:") as store:
        study = Study.open(store, SPACE, strategy=QUICK)
        study.run(FakeMeasurer(), trials=24)
        return study.trials


def test_t4_documents_have_what_the_schema_asks(trials: tuple[Trial, ...]) -> None:
    """The schema of version 1.0.0: required keys, types and names of outcomes."""
    document = json.loads(t4_text(trials, SPACE.pipeline))
    assert document["schema_version"] == "1.0.0"
    told = [trial for trial in trials if trial.result is not None]
    assert len(document["results"]) == len(told)
    for one, trial in zip(document["results"], told, strict=True):
        assert one.keys() >= {"configuration", "times", "invalidity", "correctness"}
        assert isinstance(one["configuration"], dict)
        assert isinstance(one["times"]["runtimes"], list)
        assert isinstance(one["correctness"], float)
        assert isinstance(one["objectives"], list)
        assert trial.result is not None
        is_correct = trial.result.is_correct
        assert one["invalidity"] == ("correct" if is_correct else "runtime")
        assert one["times"].get("compilation_time") == (100.0 if is_correct else None)
        for measured in one["measurements"]:
            assert isinstance(measured["name"], str)
            assert isinstance(measured["value"], str | float | int | list)
            assert isinstance(measured["unit"], str)
    assert {one["invalidity"] for one in document["results"]} == {"correct", "runtime"}


def test_t4_documents_read_back(trials: tuple[Trial, ...]) -> None:
    told = [trial for trial in trials if trial.result is not None]
    back = trials_from_t4(t4_text(trials, SPACE.pipeline), SPACE.pipeline)
    assert [trial.number for trial in back] == list(range(len(told)))
    for mine, theirs in zip(back, told, strict=True):
        assert mine.schedule == theirs.schedule
        assert mine.proposal == theirs.proposal
        assert mine.result is not None
        assert theirs.result is not None
        assert mine.result.outcome is theirs.result.outcome
        assert mine.result.reason == theirs.result.reason
        assert mine.result.seconds == pytest.approx(theirs.result.seconds)
        assert mine.result.ratios == pytest.approx(theirs.result.ratios)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema_version": "1.0.0", "results": [{}]}'])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(StoreError, match="no T4 document of this library"):
        trials_from_t4(text, SPACE.pipeline)
    with pytest.raises(StoreError, match="has version 9"):
        trials_from_t4('{"schema_version": "9", "results": []}', SPACE.pipeline)


def test_csv_has_a_line_a_trial(trials: tuple[Trial, ...]) -> None:
    header, *rows = csv.reader(io.StringIO(csv_text(trials, SPACE.pipeline)))
    assert tuple(header) == COLUMNS
    assert [int(row[0]) for row in rows] == [trial.number for trial in trials]
    assert {len(row) for row in rows} == {len(COLUMNS)}
    for row, trial in zip(rows, trials, strict=True):
        cells = dict(zip(header, row, strict=True))
        assert cells["outcome"] == ("open" if trial.result is None else str(trial.result.outcome))
        if trial.result and trial.result.is_correct:
            assert float(cells["ratio"]) == pytest.approx(trial.ratio)
            assert float(cells["median_ms"]) == pytest.approx(trial.result.median_seconds * 1000)
        else:
            assert cells["ratio"] == ""
