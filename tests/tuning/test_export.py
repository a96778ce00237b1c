"""Exports: T4 documents, checked against its schema, and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from pathlib import Path

import pytest
from attrs import evolve

from spaces import (
    Measurement,
    Proposal,
    RunOutcome,
    StoreError,
    Study,
    TablesUnavailable,
    Trial,
    TuningStore,
    csv_text,
    t4_text,
    trial_columns,
    trials_frame,
    trials_from_t4,
    write_parquet,
)
from spaces.tuning import export
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


def test_t4_documents_read_back_with_the_same_bits(trials: tuple[Trial, ...]) -> None:
    """Many times in milliseconds, divided by a thousand, are other numbers. Open trials are left
    out, and the others keep their numbers.
    """
    chosen = random.Random(3)
    odd = tuple(chosen.uniform(1e-4, 1e-2) for _ in range(200))
    assert any(one * 1e3 / 1e3 != one for one in odd)
    told = [trial for trial in trials if trial.result is not None][5:]
    schedule = told[0].schedule
    timed = Measurement(schedule, RunOutcome.CORRECT, "", odd, odd[::-1], odd[0])
    told.append(Trial(77, Proposal(schedule, "test", math.inf), timed))
    still_open = evolve(trials[-1], result=None)
    back = trials_from_t4(t4_text([still_open, *told], SPACE.pipeline), SPACE.pipeline)
    assert back == told


def test_failed_trials_have_no_objective(trials: tuple[Trial, ...]) -> None:
    results = json.loads(t4_text(trials, SPACE.pipeline))["results"]
    failed = [one for one in results if one["invalidity"] != "correct"]
    assert failed
    for one in results:
        names = {measured["name"] for measured in one["measurements"]}
        assert one["objectives"] == ([] if one in failed else ["ratio"])
        assert names.issuperset(one["objectives"])


def test_documents_of_the_version_before_are_read(trials: tuple[Trial, ...]) -> None:
    """They have times in milliseconds only, and no numbers."""
    told = [trial for trial in trials if trial.result is not None]
    document = json.loads(t4_text(told, SPACE.pipeline))
    for one in document["results"]:
        new = ("number", "seconds", "reference_seconds", "compile_seconds")
        one["measurements"] = [m for m in one["measurements"] if m["name"] not in new]
    back = trials_from_t4(json.dumps(document), SPACE.pipeline)
    assert [trial.number for trial in back] == list(range(len(told)))
    for mine, theirs in zip(back, told, strict=True):
        assert mine.result is not None
        assert theirs.result is not None
        assert mine.result.seconds == pytest.approx(theirs.result.seconds)
        assert mine.result.compile_seconds == pytest.approx(theirs.result.compile_seconds)


def damaged(trials: tuple[Trial, ...], name: str, value: object) -> str:
    document = json.loads(t4_text(trials[:4], SPACE.pipeline))
    measured = {one["name"]: one for one in document["results"][-1]["measurements"]}
    measured[name]["value"] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("name", "value"),
    [("outcome", "fine"), ("seconds", [1.0, math.nan]), ("seconds", 3), ("predicted", "dear")],
)
def test_values_that_are_none_are_refused(
    trials: tuple[Trial, ...], name: str, value: object
) -> None:
    with pytest.raises(StoreError, match="no T4 document of this library"):
        trials_from_t4(damaged(trials, name, value), SPACE.pipeline)


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


def test_tables_have_a_column_for_each_name(trials: tuple[Trial, ...]) -> None:
    columns = trial_columns(trials, SPACE.pipeline)
    assert tuple(columns) == COLUMNS
    assert columns["number"] == [trial.number for trial in trials]
    ratios = [trial.ratio if trial.result and trial.result.is_correct else None for trial in trials]
    assert columns["ratio"] == ratios
    assert columns["outcome"].count("open") == sum(trial.result is None for trial in trials)


def test_without_pandas_there_is_a_sentence(
    trials: tuple[Trial, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(export.importlib, "import_module", missing)
    with pytest.raises(TablesUnavailable, match=r"need pandas.*pip install '\.\[tables\]'"):
        trials_frame(trials, SPACE.pipeline)
    with pytest.raises(TablesUnavailable, match="need pyarrow"):
        write_parquet(tmp_path / "t.parquet", trials, SPACE.pipeline)


def test_dataframes_and_parquet_have_the_same_bits(
    trials: tuple[Trial, ...], tmp_path: Path
) -> None:
    pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = trial_columns(trials, SPACE.pipeline)
    frame = trials_frame(trials, SPACE.pipeline)
    assert list(frame.columns) == list(COLUMNS)
    write_parquet(tmp_path / "t.parquet", trials, SPACE.pipeline)
    read = parquet.read_table(tmp_path / "t.parquet").to_pydict()
    assert read == columns
    for name in ("ratio", "compile_ms"):
        assert frame[name].dtype == "float64"
        assert [None if value != value else value for value in frame[name]] == columns[name]
