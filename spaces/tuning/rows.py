"""Rows of a store as records. A row that is no record of its kind is damaged."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from attrs import evolve

from spaces.cost.measurer import Measurement, RunOutcome
from spaces.markup.terminal import visible
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json
from spaces.model.writing.text import parse_schedule
from spaces.tuning.identity import TuningMachine
from spaces.tuning.schema import is_time
from spaces.tuning.study_key import StudySummary
from spaces.tuning.trial import Proposal, Trial

_T = TypeVar("_T")


class DamagedRowError(ValueError):
    """A row does not hold what rows of its table hold; ``str`` gives a sentence."""


def intact(kind: str, read: Callable[[], _T]) -> _T:
    """What a function reads from a row.

    Raises:
        DamagedRowError: it fails, however it fails: damaged texts raise anything.
    """
    try:
        return read()
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DamagedRowError(f"{kind}: {visible(why)}") from None


def read_trial(
    row: Sequence[Any], runs: Sequence[tuple[Any, Any]], pipeline: Callable[[], Pipeline]
) -> Trial:
    """A trial.

    Args:
        row: its number, the document and the directives of its schedule, its source and its
            predicted cost. Then its outcome with the reason, the seconds of compiling, how often it
            was begun, what other programs took, and its metrics.
        runs: the times of its runs and of the reference beside them.
        pipeline: gives the pipeline; called if only the directives of the schedule are readable.

    Raises:
        DamagedRowError: the row or a run is damaged.
    """
    number, document, text, source, predicted, outcome, reason, *numbers = row
    compiling, attempts, others, metrics = numbers
    schedule = read_schedule(document, text, pipeline)
    if not (predicted is None or isinstance(predicted, float)):
        raise DamagedRowError(f"its predicted cost is {predicted!r}")
    proposal = Proposal(schedule, str(source), predicted)
    if not isinstance(attempts, int):
        raise DamagedRowError(f"its number of attempts is {attempts!r}")
    if outcome is None:
        return Trial(number, proposal, attempts=attempts)
    if outcome not in RunOutcome.__members__.values():
        raise DamagedRowError(f"its outcome is {outcome!r}")
    if not (compiling is None or (isinstance(compiling, float) and math.isfinite(compiling))):
        raise DamagedRowError(f"its time of compiling is {compiling!r}")
    wrong = next((one for pair in runs for one in pair if not is_time(one)), None)
    if wrong is not None:
        raise DamagedRowError(f"a run of it takes {wrong!r} seconds")
    mine, beside = tuple(a for a, _ in runs), tuple(b for _, b in runs)
    if not isinstance(others, float | int):
        raise DamagedRowError(f"its share of other programs is {others!r}")
    result = Measurement(
        schedule,
        RunOutcome(outcome),
        str(reason),
        mine,
        beside,
        compiling,
        others,
        intact("its metrics", lambda: read_metrics(metrics)),
    )
    return Trial(number, proposal, result)


def read_metrics(text: str) -> tuple[tuple[str, float], ...]:
    """Metrics by name.

    Raises:
        ValueError: the text is damaged.
    """
    found = json.loads(text)
    if not all(isinstance(one, float) and math.isfinite(one) for one in found.values()):
        raise ValueError("one is no number")
    return tuple(found.items())


def write_metrics(metrics: Iterable[tuple[str, float]]) -> str:
    """The text of metrics; those that are no numbers are left out."""
    return json.dumps({name: float(one) for name, one in metrics if math.isfinite(one)})


def read_schedule(document: str, text: str, pipeline: Callable[[], Pipeline]) -> Schedule:
    """A schedule, from its document or else from its directives.

    Raises:
        DamagedRowError: both are damaged.
    """
    try:
        return intact("its schedule", lambda: from_json(document, Schedule))
    except DamagedRowError as error:
        try:
            return parse_schedule(text, pipeline())
        except Exception:  # the first of two damaged texts tells enough
            raise error from None


def read_machine(document: str) -> TuningMachine:
    """A machine.

    Raises:
        DamagedRowError: the document is damaged.
    """
    return intact("its machine", lambda: TuningMachine(**json.loads(document)))


def read_summary(row: Sequence[Any]) -> StudySummary:
    """A line about a study.

    Raises:
        DamagedRowError: the row is damaged.
    """
    id, name, device, machine, sizes, model, strategy, seed, created, *more = row
    threads, float_mode, conditions, trials, told, correct, best = more
    return StudySummary(
        id=id,
        pipeline=str(name),
        device=str(device),
        machine=read_machine(machine),
        sizes=intact("its sizes", lambda: json.loads(sizes)),
        model=str(model),
        strategy=str(strategy),
        seed=seed,
        created=str(created),
        trials=trials,
        told=told,
        correct=correct,
        best=best,
        threads=threads,
        float_mode=str(float_mode),
        conditions=str(conditions),
    )


def plausible(result: Measurement) -> Measurement:
    """A measurement as a store can keep it: one with a time that is no time is refused, and
    characters of a reason that are no Unicode text are written as escapes.
    """
    reason = result.reason.encode(errors="backslashreplace").decode()
    times = [*result.seconds, *result.reference_seconds]
    wrong = next((one for one in times if not is_time(float(one))), None)
    if wrong is not None:
        why = f"The measurer gave {wrong} s as a time; a time is more than zero and finite."
        return Measurement(result.schedule, RunOutcome.REFUSED, why)
    compiling = result.compile_seconds
    if compiling is not None and not math.isfinite(compiling):
        compiling = None
    metrics = read_metrics(write_metrics(result.metrics))
    return evolve(result, reason=reason, compile_seconds=compiling, metrics=metrics)
