"""The store: one SQLite file with everything that was ever measured.

Several processes may use a file at once. A write-ahead log keeps it whole when a process is killed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from attrs import define, evolve, field, frozen

from spaces.backend.llvm.operators import FloatMode
from spaces.cost.cpu.prices import Prices
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import format_schedule
from spaces.tuning.common_references import TimedStudy
from spaces.tuning.identity import (
    TuningMachine,
    algorithm_of,
    digest,
    pipeline_digest,
    schedule_digest,
    sizes_text,
    with_sizes,
)
from spaces.tuning.prices_as_json import prices_from_json, prices_to_json
from spaces.tuning.runner import Runner
from spaces.tuning.schema import StoreError, migrate
from spaces.tuning.trial import Proposal, Trial, fastest

WAITING = 30.0
"""Seconds to wait while another process writes."""


@frozen
class StudyKey:
    """The inputs that decide what a study measures and proposes.

    Attributes:
        pipeline: the pipeline, at the sizes that are measured.
        machine: the machine that measures.
        device: the name of the device that schedules are for.
        space: a text that is equal for equal spaces.
        model: the name of the cost model.
        strategy: a text that is equal for equal strategies.
        seed: the seed of random choices.
        reference: the schedule that the user gives to run beside all others; None for one that the
            study finds.
        prices: a text that is equal for equal prices of the cost model, and for equal terms that it
            leaves out.
        threads: how many threads run parallel loops; 0 for one on each core.
        float_mode: the float mode of the code.
    """

    pipeline: Pipeline
    machine: TuningMachine
    device: str
    space: str
    model: str
    strategy: str
    seed: int
    reference: Schedule | None = None
    prices: str = ""
    threads: int = 0
    float_mode: str = FloatMode.STRICT

    @property
    def digest(self) -> str:
        """Equal for equal keys."""
        is_usual = self.threads == 0 and self.float_mode == FloatMode.STRICT
        return digest(
            pipeline_digest(self.pipeline),
            sizes_text(self.pipeline),
            self.machine.fingerprint,
            self.device,
            self.space,
            self.model,
            self.strategy,
            str(self.seed),
            "" if self.reference is None else schedule_digest(self.pipeline, self.reference),
            self.prices,
            *(() if is_usual else (str(self.threads), str(self.float_mode))),
        )


@frozen
class StudySummary:
    """One line about a study.

    Attributes:
        id: its number in the store.
        pipeline: the name of the pipeline.
        device: the device.
        machine: the machine.
        sizes: for each buffer the (min, extent) of each dimension.
        model: the cost model.
        strategy: the strategy.
        seed: the seed.
        created: when it began, in UTC.
        trials: the number of its trials.
        told: how many of them have a result.
        correct: how many of them have times.
        best: the ratio to the reference of the fastest trial; None without times.
        threads: how many threads run parallel loops; 0 for one on each core.
        float_mode: the float mode of the code.
    """

    id: int
    pipeline: str
    device: str
    machine: TuningMachine
    sizes: dict[str, Any]
    model: str
    strategy: str
    seed: int
    created: str
    trials: int
    told: int
    correct: int
    best: float | None
    threads: int
    float_mode: str


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Lets others read while one writes. If two processes make a file at once, one finds it locked,
    and SQLite does not wait for this lock; so this function does.
    """
    end = time.monotonic() + WAITING
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


MEMORY = ":memory:"
"""The name of a store that is gone when it is closed."""


@define
class TuningStore:
    """A file with studies. A context manager, which closes it.

    >>> with TuningStore.open("tuning.sqlite") as store:
    ...     for study in store.studies():
    ...         print(study.pipeline, study.best)
    """

    path: str
    _connection: sqlite3.Connection = field(repr=False)

    @staticmethod
    def open(path: str | Path) -> TuningStore:
        """The store in a file; a new one if there is no such file. ``:memory:`` keeps nothing.

        Raises:
            StoreError: the file holds something else, or cannot be opened.
        """
        name = str(path)
        if name != MEMORY:
            Path(name).expanduser().parent.mkdir(parents=True, exist_ok=True)
            name = str(Path(name).expanduser())
        try:
            connection = sqlite3.connect(name, timeout=WAITING, isolation_level=None)
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = NORMAL")  # whole after any kill of a process
            connection.execute("PRAGMA foreign_keys = ON")
            migrate(connection, name)
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{name} cannot be opened as a store: {error}.") from None
        return TuningStore(name, connection)

    @staticmethod
    def read(path: str | Path) -> TuningStore:
        """The store in a file, to look at what it has; an empty one in memory if there is no such
        file, which stays absent.

        Raises:
            StoreError: the file holds something else, or cannot be opened.
        """
        file = Path(path).expanduser()
        if str(path) == MEMORY or file.exists():
            return TuningStore.open(path)
        return evolve(TuningStore.open(MEMORY), path=str(file))

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find_study(self, key: StudyKey) -> int | None:
        """The number of the study with this key. None if the store has no such study."""
        found = self._one("SELECT id FROM studies WHERE key = ?", key.digest)
        return None if found is None else int(found[0])

    def open_study(self, key: StudyKey, reference: Schedule) -> int:
        """The number of the study with this key. If the store has no such study, adds one, whose
        schedules run beside ``reference``.
        """
        with self._writing():
            known = self.find_study(key)
            if known is not None:
                return known
            pipeline = self._keep_pipeline(key.pipeline)
            self._do(
                "INSERT OR IGNORE INTO machines VALUES (?, ?)",
                key.machine.fingerprint,
                key.machine.document,
            )
            made = self._do(
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
        with self._writing():
            (count,) = self._some("SELECT count(*) FROM trials WHERE study = ?", study)
            for proposal in proposals:
                schedule = self._keep_schedule(pipeline, proposal.schedule)
                number = count + len(added)
                made = self._do(
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

    def tell(self, study: int, number: int, result: Measurement) -> None:
        """Keeps the result of a trial.

        Raises:
            StoreError: the study has no such trial, or its result is known.
        """
        with self._writing():
            found = self._one(
                "SELECT outcome FROM trials WHERE study = ? AND number = ?", study, number
            )
            if found is None:
                raise StoreError(f"Study {study} of {self.path} has no trial {number}.")
            if found[0] is not None:
                raise StoreError(
                    f"The result of trial {number} of study {study} is known: it is {found[0]}."
                )
            self._do(
                "UPDATE trials SET outcome = ?, reason = ?, compile_seconds = ?, attempts = 0 "
                "WHERE study = ? AND number = ?",
                str(result.outcome),
                result.reason,
                result.compile_seconds,
                study,
                number,
            )
            self._add_runs(study, number, result)

    def add_runs(self, study: int, number: int, result: Measurement) -> None:
        """Keeps further runs of a trial whose result is known."""
        with self._writing():
            self._add_runs(study, number, result)

    def _add_runs(self, study: int, number: int, result: Measurement) -> None:
        (first,) = self._some(
            "SELECT count(*) FROM runs WHERE study = ? AND trial = ?", study, number
        )
        pairs = zip(result.seconds, result.reference_seconds, strict=True)
        self._connection.executemany(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?)",
            [(study, number, first + place, *pair) for place, pair in enumerate(pairs)],
        )
        self._do(
            "UPDATE trials SET others = max(others, ?) WHERE study = ? AND number = ?",
            result.others,
            study,
            number,
        )

    def replace(self, study: int, number: int, result: Measurement) -> None:
        """Puts a result in the place of an earlier one, whose runs are gone."""
        with self._writing():
            self._do("DELETE FROM runs WHERE study = ? AND trial = ?", study, number)
            self._do(
                "UPDATE trials SET outcome = ?, reason = ? WHERE study = ? AND number = ?",
                str(result.outcome),
                result.reason,
                study,
                number,
            )
            self._add_runs(study, number, result)

    def begin_trials(self, study: int, numbers: Iterable[int]) -> None:
        """Notes that trials are being measured. If this process ends before it tells their results,
        or calls :meth:`leave_trials`, the next one sees that.
        """
        self._count_attempts(study, numbers, 1)

    def leave_trials(self, study: int, numbers: Iterable[int]) -> None:
        """Notes that trials are measured no more, and that this is not their fault."""
        self._count_attempts(study, numbers, -1)

    def _count_attempts(self, study: int, numbers: Iterable[int], more: int) -> None:
        with self._writing():
            self._connection.executemany(
                "UPDATE trials SET attempts = attempts + ? "
                "WHERE study = ? AND number = ? AND outcome IS NULL",
                [(more, study, number) for number in numbers],
            )

    def keep_search(self, study: int, structures: int, *, is_over: bool) -> None:
        """Keeps how far the search of a study has come: how many structures it has scored, and
        whether it ended by itself.
        """
        with self._writing():
            self._do(
                "INSERT OR REPLACE INTO searches VALUES (?, ?, ?)", study, structures, int(is_over)
            )

    def search_of(self, study: int) -> tuple[int, bool] | None:
        """How far the search of a study has come, as :meth:`keep_search` keeps it; None if it has
        not begun.
        """
        row = self._one("SELECT structures, is_over FROM searches WHERE study = ?", study)
        return None if row is None else (int(row[0]), bool(row[1]))

    def timed_study(self, study: int) -> TimedStudy:
        """The times of the reference of a study, and the ratios of its schedules, by their digests.

        Raises:
            StoreError: there is no such study.
        """
        (reference,) = self._of_study(study, "reference", "")
        seconds: list[float] = []
        ratios: dict[str, list[float]] = {}
        for schedule, mine, beside in self._connection.execute(
            "SELECT schedule, seconds, reference_seconds FROM runs JOIN trials "
            "ON trials.study = runs.study AND trials.number = runs.trial WHERE runs.study = ?",
            (study,),
        ):
            seconds.append(beside)
            ratios.setdefault(schedule, []).append(mine / beside)
        middles = {schedule: statistics.median(found) for schedule, found in ratios.items()}
        return TimedStudy(str(reference), seconds, middles)

    def trials(self, study: int) -> list[Trial]:
        """All trials of a study, in order."""
        runs: dict[int, list[tuple[float, float]]] = {}
        for number, *pair in self._connection.execute(
            "SELECT trial, seconds, reference_seconds FROM runs WHERE study = ? "
            "ORDER BY trial, round",
            (study,),
        ):
            runs.setdefault(number, []).append((pair[0], pair[1]))
        rows = self._connection.execute(
            "SELECT number, document, source, predicted, outcome, reason, compile_seconds, "
            "attempts, others "
            "FROM trials JOIN studies ON studies.id = study JOIN schedules "
            "ON schedules.digest = schedule AND schedules.pipeline = studies.pipeline "
            "WHERE study = ? ORDER BY number",
            (study,),
        )
        return [_trial(row, runs.get(row[0], [])) for row in rows]

    def studies(self) -> list[StudySummary]:
        """A line about each study, the oldest first."""
        rows = self._connection.execute(
            "SELECT studies.id, pipelines.name, device, machines.document, sizes, model, strategy, "
            "seed, created, threads, float_mode "
            "FROM studies JOIN pipelines ON pipelines.digest = pipeline "
            "JOIN machines ON fingerprint = machine ORDER BY studies.id"
        ).fetchall()
        return [self._summary(row) for row in rows]

    def _summary(self, row: tuple[Any, ...]) -> StudySummary:
        id, name, device, machine, sizes, model, strategy, seed, created, threads, mode = row
        trials = self.trials(id)
        ranked = fastest(trials)
        return StudySummary(
            id=id,
            pipeline=name,
            device=device,
            machine=TuningMachine(**json.loads(machine)),
            sizes=json.loads(sizes),
            model=model,
            strategy=strategy,
            seed=seed,
            created=created,
            trials=len(trials),
            told=sum(one.result is not None for one in trials),
            correct=sum(bool(one.result and one.result.is_correct) for one in trials),
            best=ranked[0].ratio if ranked else None,
            threads=threads,
            float_mode=mode,
        )

    def similar_studies(self, pipeline: Pipeline) -> list[int]:
        """The numbers of all studies of the algorithm of a pipeline, at any size and on any
        machine, the newest first.
        """
        rows = self._connection.execute(
            "SELECT id FROM studies WHERE pipeline = ? ORDER BY id DESC",
            (pipeline_digest(pipeline),),
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
        return with_sizes(from_json(document, Pipeline), sizes)

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
        (document,) = self._of_study(
            study,
            "document",
            "JOIN schedules ON schedules.digest = reference "
            "AND schedules.pipeline = studies.pipeline",
        )
        return from_json(document, Schedule)

    def _of_study(self, study: int, columns: str, joined: str) -> tuple[Any, ...]:
        row = self._one(f"SELECT {columns} FROM studies {joined} WHERE id = ?", study)
        if row is None:
            raise StoreError(f"{self.path} has no study {study}.")
        return row

    def keep_prices(self, machine: TuningMachine, prices: Prices) -> None:
        """Keeps the prices of the cost model ``reuse`` for a machine, in the place of others."""
        with self._writing():
            self._do(
                "INSERT OR IGNORE INTO machines VALUES (?, ?)",
                machine.fingerprint,
                machine.document,
            )
            self._do(
                "INSERT OR REPLACE INTO prices VALUES (?, ?, ?)",
                machine.fingerprint,
                prices_to_json(prices),
                _now(),
            )

    def prices(self, machine: TuningMachine) -> Prices | None:
        """The prices that are kept for a machine; None if there are none."""
        row = self._one("SELECT document FROM prices WHERE machine = ?", machine.fingerprint)
        return None if row is None else prices_from_json(row[0])

    def claim_study(self, study: int) -> Runner | None:
        """Makes this process tune a study. If another process tunes it, returns that one."""
        me = Runner.this_process()
        with self._writing():
            (text,) = self._some("SELECT runner FROM studies WHERE id = ?", study)
            other = None if text is None else Runner.from_text(text)
            if other is not None and other != me and other.is_running:
                return other
            self._do("UPDATE studies SET runner = ? WHERE id = ?", me.text, study)
        return None

    def release_study(self, study: int) -> None:
        """Lets other processes tune a study."""
        self._do("UPDATE studies SET runner = NULL WHERE id = ?", study)

    def _keep_pipeline(self, pipeline: Pipeline) -> str:
        name = pipeline_digest(pipeline)
        document = to_json(algorithm_of(pipeline))
        self._do("INSERT OR IGNORE INTO pipelines VALUES (?, ?, ?)", name, pipeline.name, document)
        return name

    def _keep_schedule(self, pipeline: Pipeline, schedule: Schedule) -> str:
        name = schedule_digest(pipeline, schedule)
        self._do(
            "INSERT OR IGNORE INTO schedules VALUES (?, ?, ?, ?)",
            pipeline_digest(pipeline),
            name,
            format_schedule(schedule, pipeline),
            to_json(schedule),
        )
        return name

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction: all of it is kept, or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _do(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def _one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._do(statement, *values).fetchone()
        return found

    def _some(self, statement: str, *values: object) -> tuple[Any, ...]:
        found = self._one(statement, *values)
        if found is None:
            raise StoreError(f"{self.path} lacks a row that another one needs: {statement}.")
        return found


def _trial(row: tuple[Any, ...], runs: list[tuple[float, float]]) -> Trial:
    number, document, source, predicted, outcome, reason, compile_seconds, attempts, others = row
    schedule = from_json(document, Schedule)
    proposal = Proposal(schedule, source, predicted)
    if outcome is None:
        return Trial(number, proposal, attempts=attempts)
    mine, beside = tuple(a for a, _ in runs), tuple(b for _, b in runs)
    result = Measurement(
        schedule, RunOutcome(outcome), reason, mine, beside, compile_seconds, others
    )
    return Trial(number, proposal, result)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def default_store() -> Path:
    """The file that keeps studies if the user names none: ``tuning.sqlite`` in the user's data
    folder for this library (``$XDG_DATA_HOME/spaces``, or ``~/.local/share/spaces``).
    """
    folder = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(folder) / "spaces" / "tuning.sqlite"
