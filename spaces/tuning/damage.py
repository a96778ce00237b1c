"""What is damaged in a store, row by row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen

from spaces.cost.measurer import RunOutcome
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json
from spaces.tuning.identity import pipeline_digest, schedule_digest
from spaces.tuning.prices_as_json import prices_from_json
from spaces.tuning.rows import DamagedRowError, intact, read_machine, read_metrics
from spaces.tuning.schema import is_time
from spaces.tuning.store import TuningStore


@frozen
class Damage:
    """A damaged row, or a damaged part of the file.

    Attributes:
        table: the table; ``file`` if the damage is not one of a row.
        row: which row, by its key.
        why: what is wrong, as a sentence.
    """

    table: str
    row: str
    why: str

    def __str__(self) -> str:
        return f"{self.table} {self.row}: {self.why}"


def find_damage(store: TuningStore) -> list[Damage]:
    """All damage of a store: pages that SQLite cannot read, rows without those that they need, and
    rows that hold something else than a result of this library. It reads every schedule, which
    takes about a millisecond for each.
    """
    found = list(_file_damage(store))
    pipelines: dict[str, Pipeline] = {}
    readers: dict[str, tuple[str, Callable[[tuple[Any, ...]], object]]] = {
        "pipelines": (
            "SELECT digest, document FROM pipelines",
            lambda row: pipelines.update({row[0]: _pipeline(*row)}),
        ),
        "machines": ("SELECT fingerprint, document FROM machines", lambda row: _machine(*row)),
        "schedules": (
            "SELECT digest, pipeline, document FROM schedules",
            lambda row: _schedule(row[0], pipelines.get(row[1]), row[2]),
        ),
        "studies": ("SELECT id, sizes FROM studies", lambda row: _sizes(row[1])),
        "trials": (
            "SELECT study || '.' || number, outcome, predicted, compile_seconds, metrics "
            "FROM trials",
            lambda row: _trial(*row[1:]),
        ),
        "runs": (
            "SELECT study || '.' || trial || '.' || round, seconds, reference_seconds FROM runs",
            lambda row: _run(*row[1:]),
        ),
        "prices": ("SELECT machine, document FROM prices", lambda row: prices_from_json(row[1])),
    }
    for table, (statement, read) in readers.items():
        found += _row_damage(store, table, statement, read)
    return found


def _file_damage(store: TuningStore) -> Iterator[Damage]:
    """What SQLite itself finds."""
    try:
        for (said,) in store.rows("PRAGMA integrity_check"):
            if said != "ok":
                yield Damage("file", store.path, said)
        for table, row, parent, _ in store.rows("PRAGMA foreign_key_check"):
            yield Damage(str(table), f"row {row}", f"lacks its row of {parent}")
    except ValueError as error:
        yield Damage("file", store.path, str(error))


def _row_damage(
    store: TuningStore, table: str, statement: str, read: Callable[[tuple[Any, ...]], object]
) -> Iterator[Damage]:
    try:
        for row in store.rows(statement):
            try:
                intact("it cannot be read", lambda row=row: read(row))  # type: ignore[misc]
            except DamagedRowError as error:
                yield Damage(table, str(row[0]), str(error).removeprefix("it cannot be read: "))
    except ValueError as error:
        yield Damage("file", store.path, str(error))


def _pipeline(digest: str, document: str) -> Pipeline:
    found = from_json(document, Pipeline)
    if pipeline_digest(found) != digest:
        raise ValueError("it is another pipeline than its digest says")
    return found


def _machine(fingerprint: str, document: str) -> None:
    if read_machine(document).fingerprint != fingerprint:
        raise ValueError("it is another machine than its fingerprint says")


def _schedule(digest: str, pipeline: Pipeline | None, document: str) -> None:
    schedule = from_json(document, Schedule)
    if pipeline is not None and schedule_digest(pipeline, schedule) != digest:
        raise ValueError("it is another schedule than its digest says")


def _sizes(sizes: str) -> None:
    for ranges in json.loads(sizes).values():
        if not all(isinstance(one, int) for pair in ranges for one in pair):
            raise ValueError("a size is no whole number")


def _trial(outcome: object, predicted: object, compiling: object, metrics: str) -> None:
    if outcome is not None and outcome not in RunOutcome.__members__.values():
        raise ValueError(f"its outcome is {outcome!r}")
    for what, value in (("predicted cost", predicted), ("time of compiling", compiling)):
        if value is not None and not isinstance(value, float):
            raise ValueError(f"its {what} is {value!r}")
    intact("its metrics", lambda: read_metrics(metrics))


def _run(seconds: object, beside: object) -> None:
    for value in (seconds, beside):
        if not is_time(value):
            raise ValueError(f"it takes {value!r} seconds")
