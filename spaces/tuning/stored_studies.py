"""Studies in a store: what tells them apart, what they hold, and how far their search has come."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from attrs import define

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import format_schedule
from spaces.tuning.common_references import TimedStudy
from spaces.tuning.identity import (
    algorithm_of,
    pipeline_digest,
    schedule_digest,
    sizes_text,
    with_sizes,
)
from spaces.tuning.rows import DamagedRowError, intact, read_schedule, read_summary
from spaces.tuning.schema import StoreError
from spaces.tuning.search_counts import SearchCounts
from spaces.tuning.store_file import StoreFile
from spaces.tuning.study_key import StudyKey, StudySummary

_T = TypeVar("_T")

log = logging.getLogger("spaces.tuning")


@define
class StoredStudies:
    """The studies of an open file."""

    _file: StoreFile

    @property
    def path(self) -> str:
        """The name of the file."""
        return self._file.path

    def find_study(self, key: StudyKey) -> int | None:
        """The number of the study with this key. None if the store has no such study."""
        found = self._file.one("SELECT id FROM studies WHERE key = ?", key.digest)
        return None if found is None else int(found[0])

    def open_study(self, key: StudyKey, reference: Schedule) -> int:
        """The number of the study with this key. If the store has no such study, adds one, whose
        schedules run beside ``reference``.
        """
        with self._file.writing():
            known = self.find_study(key)
            if known is not None:
                return known
            pipeline = self._keep_pipeline(key.pipeline)
            self._file.do(
                "INSERT OR IGNORE INTO machines VALUES (?, ?)",
                key.machine.fingerprint,
                key.machine.document,
            )
            made = self._file.do(
                "INSERT INTO studies (key, pipeline, machine, device, sizes, model, strategy, seed,"
                " reference, created, threads, float_mode, conditions)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                key.digest,
                pipeline,
                key.machine.fingerprint,
                key.device,
                sizes_text(key.pipeline),
                key.model,
                key.strategy,
                key.seed,
                self._keep_schedule(key.pipeline, reference),
                now(),
                key.threads,
                str(key.float_mode),
                key.conditions,
            )
            assert made.lastrowid is not None
            return made.lastrowid

    def studies(self) -> list[StudySummary]:
        """A line about each study, the oldest first. Damaged rows are left out, and logged."""
        rows = self._file.rows(
            "SELECT studies.id, pipelines.name, device, machines.document, sizes, model, strategy, "
            "seed, created, threads, float_mode, conditions, count(number), count(outcome), "
            "coalesce(sum(outcome = 'correct'), 0), "
            "(SELECT ratio FROM trials WHERE study = studies.id AND upper IS NOT NULL "
            "ORDER BY upper, ratio, number LIMIT 1) "
            "FROM studies LEFT JOIN pipelines ON pipelines.digest = pipeline "
            "LEFT JOIN machines ON fingerprint = machine LEFT JOIN trials ON study = studies.id "
            "GROUP BY studies.id ORDER BY studies.id"
        )
        found = []
        for row in rows:
            try:
                found.append(read_summary(row))
            except DamagedRowError as error:
                self._tell_damage(f"study {row[0]}", error)
        return found

    def similar_studies(self, pipeline: Pipeline) -> list[int]:
        """The numbers of all studies of the algorithm of a pipeline, at any size and on any
        machine, the newest first.
        """
        rows = self._file.rows(
            "SELECT id FROM studies WHERE pipeline = ? ORDER BY id DESC", pipeline_digest(pipeline)
        )
        return [id for (id,) in rows]

    def pipeline_of(self, study: int) -> Pipeline:
        """The pipeline of a study, with its sizes as estimates.

        Raises:
            StoreError: there is no such study.
        """
        document, sizes = self._of_study(
            study, "document, sizes", "JOIN pipelines ON pipelines.digest = pipeline"
        )
        return self._read(
            f"the pipeline of study {study}",
            lambda: with_sizes(from_json(document, Pipeline), sizes),
        )

    def device_of(self, study: int) -> str:
        """The name of the device that the schedules of a study are for.

        Raises:
            StoreError: there is no such study.
        """
        (name,) = self._of_study(study, "device", "")
        return str(name)

    def reference_of(self, study: int) -> Schedule:
        """The schedule that runs beside all others of a study.

        Raises:
            StoreError: there is no such study.
        """
        document, text = self._of_study(
            study,
            "document, text",
            "JOIN schedules ON schedules.digest = reference "
            "AND schedules.pipeline = studies.pipeline",
        )
        return self._read(
            f"the reference of study {study}",
            lambda: read_schedule(document, text, lambda: self.pipeline_of(study)),
        )

    def reference_digest_of(self, study: int) -> str:
        """The digest of the schedule that runs beside all others of a study.

        Raises:
            StoreError: there is no such study.
        """
        (digest,) = self._of_study(study, "reference", "")
        return str(digest)

    def reference_seconds(self, study: int) -> float | None:
        """The median, over the trials of a study, of the time of the reference beside them; None
        without times.
        """
        counted = "study = ? AND beside IS NOT NULL"
        (count,) = self._file.some(f"SELECT count(*) FROM trials WHERE {counted}", study)
        middle = self._file.rows(
            f"SELECT beside FROM trials WHERE {counted} ORDER BY beside LIMIT ? OFFSET ?",
            study,
            2 - count % 2,
            max(count - 1, 0) // 2,
        )
        return sum(beside for (beside,) in middle) / len(middle) if middle else None

    def timed_study(self, study: int) -> TimedStudy:
        """The time of the reference of a study, and the ratios of its schedules, by their digests.

        Raises:
            StoreError: there is no such study.
        """
        rows = self._file.rows(
            "SELECT schedule, ratio FROM trials WHERE study = ? AND ratio IS NOT NULL", study
        )
        return TimedStudy(
            self.reference_digest_of(study), self.reference_seconds(study), dict(rows)
        )

    def keep_search(self, study: int, counts: SearchCounts, *, is_over: bool) -> None:
        """Keeps how far the search of a study has come, and whether it ended by itself."""
        with self._file.writing():
            self._file.do(
                "INSERT OR REPLACE INTO searches (study, structures, is_over, made, legal) "
                "VALUES (?, ?, ?, ?, ?)",
                study,
                counts.structures,
                int(is_over),
                counts.made,
                counts.legal,
            )

    def search_of(self, study: int) -> tuple[SearchCounts, bool] | None:
        """How far the search of a study has come, as :meth:`keep_search` keeps it; None if it has
        not begun.
        """
        row = self._file.one(
            "SELECT structures, made, legal, is_over FROM searches WHERE study = ?", study
        )
        return None if row is None else (SearchCounts(*row[:3]), bool(row[3]))

    def _of_study(self, study: int, columns: str, joined: str) -> tuple[Any, ...]:
        row = self._file.one(f"SELECT {columns} FROM studies {joined} WHERE id = ?", study)
        if row is None:
            raise StoreError(f"{self.path} has no study {study}.")
        return row

    def _read(self, what: str, read: Callable[[], _T]) -> _T:
        """Raises:
        StoreError: what a function reads is damaged.
        """
        try:
            return intact(what, read)
        except DamagedRowError as error:
            raise StoreError(f"{self.path} is damaged: {error}.") from None

    def _tell_damage(self, what: str, error: DamagedRowError) -> None:
        log.warning(
            "%s leaves out %s, which is damaged: %s; spaces studies --check lists all damage",
            self.path,
            what,
            error,
        )

    def _keep_pipeline(self, pipeline: Pipeline) -> str:
        name = pipeline_digest(pipeline)
        document = to_json(algorithm_of(pipeline))
        self._file.do(
            "INSERT OR IGNORE INTO pipelines VALUES (?, ?, ?)", name, pipeline.name, document
        )
        return name

    def _keep_schedule(self, pipeline: Pipeline, schedule: Schedule) -> str:
        name = schedule_digest(pipeline, schedule)
        self._file.do(
            "INSERT OR IGNORE INTO schedules VALUES (?, ?, ?, ?)",
            pipeline_digest(pipeline),
            name,
            format_schedule(schedule, pipeline),
            to_json(schedule),
        )
        return name


def now() -> str:
    """The moment in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
