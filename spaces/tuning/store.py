"""The store: one SQLite file with everything that was ever measured.

Several processes may use a file at once. A write-ahead log keeps it whole when a process is killed.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from attrs import define, field

from spaces.cost.cpu.prices import Prices
from spaces.cost.measurer import Measurement
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import format_schedule
from spaces.tuning.common_references import TimedStudy
from spaces.tuning.connecting import MEMORY, connect_to_read, connect_to_write
from spaces.tuning.identity import (
    TuningMachine,
    algorithm_of,
    pipeline_digest,
    schedule_digest,
    sizes_text,
    with_sizes,
)
from spaces.tuning.prices_as_json import prices_from_json, prices_to_json
from spaces.tuning.rows import (
    DamagedRowError,
    intact,
    plausible,
    read_schedule,
    read_summary,
    read_trial,
)
from spaces.tuning.runner import Heartbeat, Runner
from spaces.tuning.schema import SUMMARISED, StoreError, summarise
from spaces.tuning.store_file import StoreFile
from spaces.tuning.study_key import StudyKey, StudySummary
from spaces.tuning.trial import Proposal, Trial
from spaces.tuning.trial_log import TrialLog

__all__ = ["MEMORY", "StudyKey", "StudySummary", "TuningStore", "default_store"]

_T = TypeVar("_T")

log = logging.getLogger("spaces.tuning")

PAGE = 16
"""How many of the fastest trials are read at a time."""

_TRIALS = (
    "SELECT number, document, text, source, predicted, outcome, reason, compile_seconds, "
    "attempts, others "
    "FROM trials JOIN studies ON studies.id = study LEFT JOIN schedules "
    "ON schedules.digest = schedule AND schedules.pipeline = studies.pipeline "
    "WHERE study = ?"
)


@define
class TuningStore:
    """A file with studies. A context manager, which closes it.

    >>> with TuningStore.open("tuning.sqlite") as store:
    ...     for study in store.studies():
    ...         print(study.pipeline, study.best)
    """

    _file: StoreFile
    _leases: dict[int, Heartbeat] = field(init=False, factory=dict, repr=False)

    @property
    def path(self) -> str:
        """The name of the file."""
        return self._file.path

    @staticmethod
    def open(path: str | Path) -> TuningStore:
        """The store in a file; a new one if there is no such file. ``:memory:`` keeps nothing.

        Raises:
            StoreError: the file holds something else, or cannot be opened.
        """
        name = str(path) if str(path) == MEMORY else str(Path(path).expanduser())
        return TuningStore(StoreFile(name, connect_to_write(name)))

    @staticmethod
    def read(path: str | Path) -> TuningStore:
        """The store in a file, to look at what it has, also where it cannot be written; an empty
        one in memory if there is no such file, which stays absent.

        Raises:
            StoreError: the file holds something else, or cannot be opened.
        """
        file = Path(path).expanduser()
        if str(path) == MEMORY:
            return TuningStore.open(path)
        if file.exists():
            return TuningStore(StoreFile(str(file), connect_to_read(str(file))))
        return TuningStore(StoreFile(str(file), connect_to_write(MEMORY)))

    def close(self) -> None:
        """Closes the file."""
        for lease in self._leases.values():
            lease.stop()
        self._leases.clear()
        self._file.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
                " reference, created, threads, float_mode)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                key.digest,
                pipeline,
                key.machine.fingerprint,
                key.device,
                sizes_text(key.pipeline),
                key.model,
                key.strategy,
                key.seed,
                self._keep_schedule(key.pipeline, reference),
                _now(),
                key.threads,
                str(key.float_mode),
            )
            assert made.lastrowid is not None
            return made.lastrowid

    def propose(self, study: int, pipeline: Pipeline, proposals: Sequence[Proposal]) -> list[Trial]:
        """Adds trials, all or none, and returns them; leaves out schedules that the study has."""
        added: list[Trial] = []
        with self._file.writing():
            self._keep_out(study)
            (first,) = self._file.some(
                "SELECT coalesce(max(number) + 1, 0) FROM trials WHERE study = ?", study
            )
            for proposal in proposals:
                schedule = self._keep_schedule(pipeline, proposal.schedule)
                number = first + len(added)
                made = self._file.do(
                    "INSERT OR IGNORE INTO trials (study, number, schedule, source, predicted) "
                    "VALUES (?, ?, ?, ?, ?)",
                    study,
                    number,
                    schedule,
                    proposal.source,
                    proposal.predicted,
                )
                if made.rowcount:
                    added.append(Trial(number, proposal))
        return added

    def tell(self, study: int, number: int, result: Measurement) -> Measurement:
        """Keeps the result of a trial, and returns what it keeps: a measurement with a time that is
        no time counts as refused (:func:`plausible`).

        Raises:
            StoreError: the study has no such trial, its result is known, another process tunes the
                study now, or the file cannot be written.
        """
        result = plausible(result)
        with self._file.writing():
            self._keep_out(study)
            found = self._file.one(
                "SELECT outcome FROM trials WHERE study = ? AND number = ?", study, number
            )
            if found is None:
                raise StoreError(f"Study {study} of {self.path} has no trial {number}.")
            if found[0] is not None:
                raise StoreError(
                    f"The result of trial {number} of study {study} is known: it is {found[0]}."
                )
            self._file.do(
                "UPDATE trials SET outcome = ?, reason = ?, compile_seconds = ?, attempts = 0 "
                "WHERE study = ? AND number = ?",
                str(result.outcome),
                result.reason,
                result.compile_seconds,
                study,
                number,
            )
            self._add_runs(study, number, result)
        return result

    def add_runs(self, study: int, number: int, result: Measurement) -> None:
        """Keeps further runs of a trial whose result is known.

        Raises:
            StoreError: another process tunes the study now, or the file cannot be written.
        """
        if result.is_correct and plausible(result).is_correct:
            with self._file.writing():
                self._keep_out(study)
                self._add_runs(study, number, result)

    def _add_runs(self, study: int, number: int, result: Measurement) -> None:
        """Adds runs to those of a trial, and sums all of them up."""
        before = self._runs(study, number)
        pairs = list(zip(result.seconds, result.reference_seconds, strict=True))
        self._file.connection.executemany(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?)",
            [(study, number, place, *pair) for place, pair in enumerate(pairs, len(before))],
        )
        self._file.do(
            "UPDATE trials SET others = max(others, ?) WHERE study = ? AND number = ?",
            result.others,
            study,
            number,
        )
        all_pairs = [*before, *pairs]
        summary = summarise([a for a, _ in all_pairs], [b for _, b in all_pairs])
        if summary is not None:
            self._file.do(SUMMARISED, *summary, study, number)

    def replace(self, study: int, number: int, result: Measurement) -> Measurement:
        """Puts a result in the place of an earlier one, whose runs are gone, and returns what it
        keeps.

        Raises:
            StoreError: another process tunes the study now, or the file cannot be written.
        """
        result = plausible(result)
        with self._file.writing():
            self._keep_out(study)
            self._file.do("DELETE FROM runs WHERE study = ? AND trial = ?", study, number)
            self._file.do(
                "UPDATE trials SET outcome = ?, reason = ?, upper = NULL, ratio = NULL, "
                "beside = NULL WHERE study = ? AND number = ?",
                str(result.outcome),
                result.reason,
                study,
                number,
            )
            self._add_runs(study, number, result)
        return result

    def begin_trials(self, study: int, numbers: Iterable[int]) -> None:
        """Notes that trials are being measured. If this process ends before it tells their results,
        or calls :meth:`leave_trials`, the next one sees that.
        """
        self._count_attempts(study, numbers, 1)

    def leave_trials(self, study: int, numbers: Iterable[int]) -> None:
        """Notes that trials are measured no more, and that this is not their fault."""
        self._count_attempts(study, numbers, -1)

    def _count_attempts(self, study: int, numbers: Iterable[int], more: int) -> None:
        with self._file.writing():
            self._file.connection.executemany(
                "UPDATE trials SET attempts = attempts + ? "
                "WHERE study = ? AND number = ? AND outcome IS NULL",
                [(more, study, number) for number in numbers],
            )

    def keep_search(self, study: int, structures: int, *, is_over: bool) -> None:
        """Keeps how far the search of a study has come: how many structures it has scored, and
        whether it ended by itself.
        """
        with self._file.writing():
            self._file.do(
                "INSERT OR REPLACE INTO searches VALUES (?, ?, ?)", study, structures, int(is_over)
            )

    def search_of(self, study: int) -> tuple[int, bool] | None:
        """How far the search of a study has come, as :meth:`keep_search` keeps it; None if it has
        not begun.
        """
        row = self._file.one("SELECT structures, is_over FROM searches WHERE study = ?", study)
        return None if row is None else (int(row[0]), bool(row[1]))

    def reference_digest_of(self, study: int) -> str:
        """The digest of the schedule that runs beside all others of a study.

        Raises:
            StoreError: there is no such study.
        """
        (digest,) = self._of_study(study, "reference", "")
        return str(digest)

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

    def trials(self, study: int) -> list[Trial]:
        """All trials of a study, in order. A damaged row costs its trial, and is logged."""
        runs: dict[int, list[tuple[Any, Any]]] = {}
        for number, *pair in self._file.rows(
            "SELECT trial, seconds, reference_seconds FROM runs WHERE study = ? "
            "ORDER BY trial, round",
            study,
        ):
            runs.setdefault(number, []).append((pair[0], pair[1]))
        rows = self._file.rows(f"{_TRIALS} ORDER BY number", study)
        return list(self._intact_trials(study, ((row, runs.get(row[0], [])) for row in rows)))

    def trial_log(self, study: int, pipeline: Pipeline) -> TrialLog:
        """The trials of a study, with what is asked of them while it is tuned."""
        digests = self._file.rows("SELECT schedule FROM trials WHERE study = ?", study)
        return TrialLog.of(pipeline, self.trials(study), (digest for (digest,) in digests))

    def fastest(self, study: int) -> Iterator[Trial]:
        """The trials of a study with times, the fastest first; read as they are asked for."""
        place = 0
        while True:
            rows = self._file.rows(
                f"{_TRIALS} AND upper IS NOT NULL ORDER BY upper, ratio, number LIMIT ? OFFSET ?",
                study,
                PAGE,
                place,
            )
            if not rows:
                return
            with_runs = ((row, self._runs(study, row[0])) for row in rows)
            yield from self._intact_trials(study, with_runs)
            place += PAGE

    def _runs(self, study: int, number: int) -> list[tuple[Any, Any]]:
        return self._file.rows(
            "SELECT seconds, reference_seconds FROM runs WHERE study = ? AND trial = ? "
            "ORDER BY round",
            study,
            number,
        )

    def _intact_trials(
        self, study: int, rows: Iterable[tuple[Sequence[Any], list[tuple[Any, Any]]]]
    ) -> Iterator[Trial]:
        for row, runs in rows:
            try:
                yield read_trial(row, runs, lambda: self.pipeline_of(study))
            except DamagedRowError as error:
                self._tell_damage(f"trial {row[0]} of study {study}", error)

    def _tell_damage(self, what: str, error: DamagedRowError) -> None:
        log.warning(
            "%s leaves out %s, which is damaged: %s; spaces studies --check lists all damage",
            self.path,
            what,
            error,
        )

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

    def studies(self) -> list[StudySummary]:
        """A line about each study, the oldest first. Damaged rows are left out, and logged."""
        rows = self._file.rows(
            "SELECT studies.id, pipelines.name, device, machines.document, sizes, model, strategy, "
            "seed, created, threads, float_mode, count(number), count(outcome), "
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

    def _read(self, what: str, read: Callable[[], _T]) -> _T:
        """Raises:
        StoreError: what a function reads is damaged.
        """
        try:
            return intact(what, read)
        except DamagedRowError as error:
            raise StoreError(f"{self.path} is damaged: {error}.") from None

    def _of_study(self, study: int, columns: str, joined: str) -> tuple[Any, ...]:
        row = self._file.one(f"SELECT {columns} FROM studies {joined} WHERE id = ?", study)
        if row is None:
            raise StoreError(f"{self.path} has no study {study}.")
        return row

    def keep_prices(self, machine: TuningMachine, prices: Prices) -> None:
        """Keeps the prices of the cost model ``reuse`` for a machine, in the place of others."""
        with self._file.writing():
            self._file.do(
                "INSERT OR IGNORE INTO machines VALUES (?, ?)",
                machine.fingerprint,
                machine.document,
            )
            self._file.do(
                "INSERT OR REPLACE INTO prices VALUES (?, ?, ?)",
                machine.fingerprint,
                prices_to_json(prices),
                _now(),
            )

    def prices(self, machine: TuningMachine) -> Prices | None:
        """The prices that are kept for a machine; None if there are none."""
        row = self._file.one("SELECT document FROM prices WHERE machine = ?", machine.fingerprint)
        if row is None:
            return None
        return self._read("the prices of this machine", lambda: prices_from_json(row[0]))

    def claim_study(self, study: int) -> Runner | None:
        """Makes this process tune a study. If another process tunes it, returns that one."""
        me = Runner.this_process()
        with self._file.writing():
            text, renewed = self._file.some(
                "SELECT runner, renewed FROM studies WHERE id = ?", study
            )
            other = None if text is None else Runner.from_text(text)
            if other is not None and other != me and other.is_running(renewed):
                return other
            self._file.do(_LEASED, me.text, time.time(), study)
        if self._file.is_on_disk and study not in self._leases:
            self._leases[study] = Heartbeat(lambda: _renew(self._file.place, study, me))
        return None

    def release_study(self, study: int) -> None:
        """Lets other processes tune a study, if this process tunes it."""
        if study in self._leases:
            self._leases.pop(study).stop()
        with self._file.writing():
            self._file.do(
                "UPDATE studies SET runner = NULL, renewed = NULL WHERE id = ? AND runner = ?",
                study,
                Runner.this_process().text,
            )

    def _keep_out(self, study: int) -> None:
        """Raises:
        StoreError: another process took the study over, while this one was suspended or could not
            renew its lease.
        """
        found = self._file.one("SELECT runner FROM studies WHERE id = ?", study)
        me = Runner.this_process().text
        if found is not None and found[0] is not None and found[0] != me:
            raise StoreError(
                f"{Runner.from_text(found[0])} tunes study {study} of {self.path} now; it took the "
                "study over when this process had not been heard of for long."
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

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that a statement of SQL gives.

        Raises:
            StoreError: the file is damaged, or the statement is wrong.
        """
        return self._file.rows(statement, *values)


_LEASED = "UPDATE studies SET runner = ?, renewed = ? WHERE id = ?"


def _renew(path: str, study: int, runner: Runner) -> None:
    """Renews the lease of a study, in a connection of the calling thread."""
    with closing(sqlite3.connect(path, timeout=1.0)) as connection, connection:
        connection.execute(
            "UPDATE studies SET renewed = ? WHERE id = ? AND runner = ?",
            (time.time(), study, runner.text),
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def default_store() -> Path:
    """The file that keeps studies if the user names none: ``tuning.sqlite`` in the user's data
    folder for this library (``$XDG_DATA_HOME/spaces``, or ``~/.local/share/spaces``).
    """
    folder = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(folder) / "spaces" / "tuning.sqlite"
