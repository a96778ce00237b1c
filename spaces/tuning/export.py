"""Results for other programs: the T4 format of autotuners, and CSV.

T4 is the results schema that Kernel Tuner writes, version 1.0.0. Times are in milliseconds.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from typing import Any

from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.writing.text import format_schedule, parse_schedule
from spaces.tuning.schema import StoreError
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
    measurements: list[dict[str, Any]] = [
        {"name": "outcome", "value": str(result.outcome), "unit": ""},
        {"name": "reason", "value": result.reason, "unit": ""},
        {"name": "source", "value": trial.proposal.source, "unit": ""},
        {
            "name": "reference_runtimes",
            "value": [seconds * _MS for seconds in result.reference_seconds],
            "unit": "ms",
        },
    ]
    if result.seconds:
        median = result.median_seconds * _MS
        measurements.append({"name": "time", "value": median, "unit": "ms"})
        measurements.append({"name": "ratio", "value": result.ratio, "unit": ""})
    if trial.proposal.predicted is not None and math.isfinite(trial.proposal.predicted):
        cost = {"name": "predicted", "value": trial.proposal.predicted, "unit": ""}
        measurements.append(cost)
    return {
        "configuration": {"schedule": format_schedule(trial.schedule, pipeline)},
        "times": times,
        "invalidity": _T4_NAMES[result.outcome],
        "correctness": float(result.is_correct),
        "measurements": measurements,
        "objectives": ["ratio"],
    }


def trials_from_t4(text: str, pipeline: Pipeline) -> list[Trial]:
    """The trials of a T4 document that :func:`t4_text` wrote, numbered from 0.

    Raises:
        StoreError: the text is no such document.
    """
    try:
        document = json.loads(text)
        version, results = document["schema_version"], document["results"]
        if version != T4_VERSION:
            raise StoreError(f"The T4 document has version {version}, not {T4_VERSION}.")
        return [_trial(number, one, pipeline) for number, one in enumerate(results)]
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise StoreError(
            f"The text is no T4 document of this library: {type(error).__name__}, {error}."
        ) from None


def _trial(number: int, result: dict[str, Any], pipeline: Pipeline) -> Trial:
    measured = {one["name"]: one["value"] for one in result["measurements"]}
    schedule = parse_schedule(result["configuration"]["schedule"], pipeline)
    compiling = result["times"].get("compilation_time")
    return Trial(
        number,
        Proposal(schedule, measured["source"], measured.get("predicted")),
        Measurement(
            schedule,
            RunOutcome(measured["outcome"]),
            measured["reason"],
            tuple(ms / _MS for ms in result["times"]["runtimes"]),
            tuple(ms / _MS for ms in measured["reference_runtimes"]),
            None if compiling is None else compiling / _MS,
        ),
    )


COLUMNS = (
    "number", "source", "predicted", "outcome", "reason", "runs", "median_ms", "ratio",
    "ratio_low", "ratio_high", "compile_ms", "schedule",
)  # fmt: skip
"""The columns of the CSV."""


def csv_text(trials: Iterable[Trial], pipeline: Pipeline) -> str:
    """One line a trial, with the names of :data:`COLUMNS` first; a cell without a value is empty.
    Lines end in a newline.
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    for trial in trials:
        writer.writerow(_cells(trial, pipeline))
    return written.getvalue()


def _cells(trial: Trial, pipeline: Pipeline) -> list[object]:
    result, predicted = trial.result, trial.proposal.predicted
    cells: list[object] = [trial.number, trial.proposal.source]
    cells.append("" if predicted is None else predicted)
    if result is None:
        cells += ["open", *[""] * 7]
    else:
        cells += [str(result.outcome), result.reason, len(result.seconds)]
        low, high = result.interval
        times = (result.median_seconds * _MS, result.ratio, low, high)
        cells += times if result.seconds else [""] * 4
        compiling = result.compile_seconds
        cells.append("" if compiling is None else compiling * _MS)
    return [*cells, format_schedule(trial.schedule, pipeline)]
