"""Results for other programs: the T4 format of autotuners, CSV, dataframes and Parquet.

T4 is the results schema that Kernel Tuner writes, version 1.0.0. Times are in milliseconds.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.extras import how_to_install
from spaces.model.writing.text import format_schedule, parse_schedule
from spaces.tuning.schema import StoreError, is_time
from spaces.tuning.trial import Proposal, Trial

T4_VERSION = "1.0.0"

_T4_NAMES = {
    RunOutcome.CORRECT: "correct",
    RunOutcome.ILLEGAL: "constraints",
    RunOutcome.NOT_COMPILED: "compile",
    RunOutcome.REFUSED: "runtime",
    RunOutcome.CRASHED: "runtime",
    RunOutcome.HUNG: "timeout",
    RunOutcome.OUT_OF_MEMORY: "runtime",
    RunOutcome.WRONG: "correctness",
}
"""What T4 calls each outcome."""

_MS = 1e3


def t4_text(trials: Iterable[Trial], pipeline: Pipeline) -> str:
    """The results of some trials as a T4 document. Open trials are left out."""
    results = [_t4_result(trial, pipeline) for trial in trials if trial.result is not None]
    document = {
        "schema_version": T4_VERSION,
        "metadata": {"timeunit": "milliseconds", "pipeline": pipeline.name},
        "results": results,
    }
    return json.dumps(document, indent=2, allow_nan=False)


def _t4_result(trial: Trial, pipeline: Pipeline) -> dict[str, Any]:
    result = trial.result
    assert result is not None
    times: dict[str, Any] = {"runtimes": [seconds * _MS for seconds in result.seconds]}
    if result.compile_seconds is not None:
        times["compilation_time"] = result.compile_seconds * _MS
    measured: list[tuple[str, object, str]] = [
        ("number", trial.number, ""),
        ("outcome", str(result.outcome), ""),
        ("reason", result.reason, ""),
        ("source", trial.proposal.source, ""),
        ("reference_runtimes", [seconds * _MS for seconds in result.reference_seconds], "ms"),
        # A time in milliseconds does not always give back the bits of the seconds.
        ("seconds", list(result.seconds), "s"),
        ("reference_seconds", list(result.reference_seconds), "s"),
    ]
    if result.metrics:
        measured.append(("metrics", dict(result.metrics), ""))
    if result.compile_seconds is not None:
        measured.append(("compile_seconds", result.compile_seconds, "s"))
    if result.seconds:
        measured.append(("time", result.median_seconds * _MS, "ms"))
        measured.append(("ratio", result.ratio, ""))
    predicted = trial.proposal.predicted
    if predicted is not None:  # JSON has no infinity
        measured.append(
            ("predicted", predicted if math.isfinite(predicted) else str(predicted), "")
        )
    return {
        "configuration": {"schedule": format_schedule(trial.schedule, pipeline)},
        "times": times,
        "invalidity": _T4_NAMES[result.outcome],
        "correctness": float(result.is_correct),
        "measurements": [
            {"name": name, "value": value, "unit": unit} for name, value, unit in measured
        ],
        "objectives": ["ratio"] if result.seconds else [],
    }


def trials_from_t4(text: str, pipeline: Pipeline) -> list[Trial]:
    """The trials of a T4 document that :func:`t4_text` wrote, with the same bits.

    Raises:
        StoreError: the text is no such document.
    """
    try:
        document = json.loads(text)
        version, results = document["schema_version"], document["results"]
        if version != T4_VERSION:
            raise StoreError(f"The T4 document has version {version}, not {T4_VERSION}.")
        return [_trial(place, one, pipeline) for place, one in enumerate(results)]
    except StoreError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"The text is no T4 document of this library: {type(error).__name__}, {error}."
        ) from None


def _trial(place: int, result: dict[str, Any], pipeline: Pipeline) -> Trial:
    measured = {one["name"]: one["value"] for one in result["measurements"]}
    times = result["times"]
    schedule = parse_schedule(result["configuration"]["schedule"], pipeline)
    predicted, compiling = measured.get("predicted"), times.get("compilation_time")
    if compiling is not None:
        compiling = float(measured.get("compile_seconds", compiling / _MS))
    return Trial(
        int(measured.get("number", place)),
        Proposal(
            schedule,
            str(measured["source"]),
            None if predicted is None else float(predicted),
        ),
        Measurement(
            schedule,
            RunOutcome(measured["outcome"]),
            str(measured["reason"]),
            _seconds(measured, "seconds", times["runtimes"]),
            _seconds(measured, "reference_seconds", measured["reference_runtimes"]),
            compiling,
            metrics=_metrics(measured.get("metrics", {})),
        ),
    )


def _metrics(found: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """Raises:
    ValueError: a value is no number.
    """
    return tuple((name, float(value)) for name, value in found.items())


def _seconds(measured: dict[str, Any], name: str, in_ms: list[float]) -> tuple[float, ...]:
    """Times in seconds: those that the document has, or else from milliseconds.

    Raises:
        ValueError: one is no time.
    """
    found = tuple(float(one) for one in measured.get(name, [ms / _MS for ms in in_ms]))
    wrong = next((one for one in found if not is_time(one)), None)
    if wrong is not None:
        raise ValueError(f"a run takes {wrong} s")
    return found


COLUMNS = (
    "number", "source", "predicted", "outcome", "reason", "runs", "median_ms", "ratio",
    "ratio_low", "ratio_high", "compile_ms", "schedule",
)  # fmt: skip
"""The columns of a table of trials."""

_NUMBERS = ("predicted", "median_ms", "ratio", "ratio_low", "ratio_high", "compile_ms")
"""Those that hold floats."""


def csv_text(trials: Iterable[Trial], pipeline: Pipeline) -> str:
    """One line a trial, with the names of :func:`trial_columns` first; a cell without a value is
    empty. Lines end in a newline.
    """
    columns = trial_columns(trials, pipeline)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow("" if cell is None else cell for cell in row)
    return written.getvalue()


def trial_columns(trials: Iterable[Trial], pipeline: Pipeline) -> dict[str, list[Any]]:
    """The columns of a table with a row a trial: the names and values of :data:`COLUMNS` and then
    of all metrics, None where there is no value. The constructors of tables of pandas, Polars and
    Arrow take it.
    """
    listed = list(trials)
    rows = [_cells(trial, pipeline) for trial in listed]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}
    metrics = [dict(one.result.metrics) if one.result else {} for one in listed]
    names = dict.fromkeys(name for noted in metrics for name in noted if name not in columns)
    return columns | {name: [noted.get(name) for noted in metrics] for name in names}


def trials_frame(trials: Iterable[Trial], pipeline: Pipeline) -> Any:
    """A dataframe of pandas with the columns of :func:`trial_columns`; numbers are float64 or
    int64, and what is missing is NaN.

    Raises:
        TablesUnavailable: pandas is not installed.
    """
    pandas = _import("pandas")
    columns = trial_columns(trials, pipeline)
    frame = pandas.DataFrame(columns, columns=list(columns))
    metrics = [name for name in columns if name not in COLUMNS]
    return frame.astype(dict.fromkeys([*_NUMBERS, *metrics], "float64"))


def write_parquet(path: str | Path, trials: Iterable[Trial], pipeline: Pipeline) -> None:
    """Writes the columns of :func:`trial_columns` to a Parquet file.

    Raises:
        TablesUnavailable: pyarrow is not installed.
        OSError: the file cannot be written.
    """
    arrow = _import("pyarrow")
    parquet = _import("pyarrow.parquet")
    columns = trial_columns(trials, pipeline)
    kinds = dict.fromkeys(COLUMNS, arrow.string())
    kinds |= {"number": arrow.int64(), "runs": arrow.int64()}
    kinds |= {name: arrow.float64() for name in _NUMBERS}
    made = {
        name: arrow.array(column, kinds.get(name, arrow.float64()))
        for name, column in columns.items()
    }
    written = io.BytesIO()
    parquet.write_table(arrow.table(made), written)
    Path(path).write_bytes(written.getvalue())


class TablesUnavailable(RuntimeError):
    """A package that makes tables is not installed; ``str`` gives a sentence."""


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise TablesUnavailable(
            f"Tables of trials need {name.partition('.')[0]}, which can't be imported ({error}): "
            f"{how_to_install('tables')}."
        ) from None


def _cells(trial: Trial, pipeline: Pipeline) -> list[Any]:
    result, predicted = trial.result, trial.proposal.predicted
    cells: list[Any] = [trial.number, trial.proposal.source, predicted]
    if result is None:
        cells += ["open", *[None] * 7]
    else:
        cells += [str(result.outcome), result.reason, len(result.seconds)]
        low, high = result.interval
        times = (result.median_seconds * _MS, result.ratio, low, high)
        cells += times if result.seconds else [None] * 4
        compiling = result.compile_seconds
        cells.append(None if compiling is None else compiling * _MS)
    return [*cells, format_schedule(trial.schedule, pipeline)]
