"""The tables of a store, and the migration of older files."""

from __future__ import annotations

import math
import sqlite3
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from spaces.cost.measurer import interval_of_median

_SQL_NOW = "(julianday('now') - 2440587.5) * 86400.0"
"""The clock of SQLite in seconds since 1970, to the millisecond."""

MIGRATIONS = (
    """
    CREATE TABLE pipelines (
        digest TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        document TEXT NOT NULL            -- JSON of the pipeline without estimates
    );
    CREATE TABLE machines (
        fingerprint TEXT PRIMARY KEY,
        document TEXT NOT NULL            -- JSON: processor, flags, cores, versions
    );
    CREATE TABLE schedules (
        pipeline TEXT NOT NULL REFERENCES pipelines,
        digest TEXT NOT NULL,             -- of the canonical form: names of loops do not count
        text TEXT NOT NULL,               -- the directives, for people
        document TEXT NOT NULL,           -- JSON
        PRIMARY KEY (pipeline, digest)
    );
    CREATE TABLE studies (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,         -- digest of all that decides what is proposed
        pipeline TEXT NOT NULL REFERENCES pipelines,
        machine TEXT NOT NULL REFERENCES machines,
        device TEXT NOT NULL,
        sizes TEXT NOT NULL,              -- JSON: (min, extent) of each dimension of each buffer
        model TEXT NOT NULL,
        strategy TEXT NOT NULL,
        seed INTEGER NOT NULL,
        reference TEXT NOT NULL,          -- digest of the schedule that runs beside all others
        created TEXT NOT NULL,
        runner TEXT                       -- the process that tunes it now
    );
    CREATE TABLE trials (
        study INTEGER NOT NULL REFERENCES studies,
        number INTEGER NOT NULL,
        schedule TEXT NOT NULL,
        source TEXT NOT NULL,             -- who proposed it
        predicted REAL,                   -- the cost by the model
        outcome TEXT,                     -- NULL as long as the trial is open
        reason TEXT NOT NULL DEFAULT '',
        compile_seconds REAL,
        PRIMARY KEY (study, number),
        UNIQUE (study, schedule)
    );
    CREATE TABLE runs (
        study INTEGER NOT NULL,
        trial INTEGER NOT NULL,
        round INTEGER NOT NULL,
        seconds REAL NOT NULL,
        reference_seconds REAL NOT NULL,
        PRIMARY KEY (study, trial, round),
        FOREIGN KEY (study, trial) REFERENCES trials (study, number)
    );
    CREATE INDEX studies_by_pipeline ON studies (pipeline, machine);
    """,
    """
    CREATE TABLE prices (
        machine TEXT PRIMARY KEY REFERENCES machines,
        document TEXT NOT NULL,           -- JSON: the prices of the cost model reuse
        created TEXT NOT NULL
    );
    """,
    """
    ALTER TABLE studies ADD COLUMN renewed REAL;  -- when the runner last said that it runs
    ALTER TABLE trials ADD COLUMN upper REAL;     -- upper end of the interval of the ratio
    ALTER TABLE trials ADD COLUMN ratio REAL;     -- the median ratio
    ALTER TABLE trials ADD COLUMN beside REAL;    -- the median time of the reference beside it
    CREATE INDEX trials_by_outcome ON trials (study, outcome);
    CREATE INDEX trials_by_time ON trials (study, upper, ratio, number) WHERE upper IS NOT NULL;
    CREATE INDEX trials_by_reference ON trials (study, beside) WHERE beside IS NOT NULL;
    """,
    """
    ALTER TABLE studies ADD COLUMN threads INTEGER NOT NULL DEFAULT 0;  -- 0: one on each core
    ALTER TABLE studies ADD COLUMN float_mode TEXT NOT NULL DEFAULT 'strict';
    ALTER TABLE trials ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;  -- begun without a result
    ALTER TABLE trials ADD COLUMN others REAL NOT NULL DEFAULT 0;  -- processors that others took
    CREATE TABLE searches (
        study INTEGER PRIMARY KEY REFERENCES studies,
        structures INTEGER NOT NULL,      -- how many the search has scored
        is_over INTEGER NOT NULL          -- whether it ended by itself
    );
    """,
    f"""
    ALTER TABLE trials ADD COLUMN told REAL;      -- when its result came, in seconds since 1970
    CREATE TABLE sessions (               -- a row each time a process begins to tune a study
        study INTEGER NOT NULL REFERENCES studies,
        began REAL NOT NULL               -- in seconds since 1970
    );
    CREATE INDEX sessions_by_study ON sessions (study, began);
    CREATE TRIGGER notes_when_told AFTER UPDATE OF outcome ON trials
    WHEN OLD.outcome IS NULL AND NEW.outcome IS NOT NULL
    BEGIN
        UPDATE trials SET told = {_SQL_NOW} WHERE study = NEW.study AND number = NEW.number;
    END;
    CREATE TRIGGER notes_when_claimed AFTER UPDATE OF runner ON studies
    WHEN NEW.runner IS NOT NULL
    BEGIN
        INSERT INTO sessions VALUES (NEW.id, {_SQL_NOW});
    END;
    """,
    """
    CREATE INDEX trials_by_source ON trials (study, source, predicted, number);
    ALTER TABLE studies ADD COLUMN conditions TEXT NOT NULL DEFAULT '';  -- of timed runs, in words
    ALTER TABLE trials ADD COLUMN metrics TEXT NOT NULL DEFAULT '{}';  -- JSON: numbers by name
    """,
    """
    ALTER TABLE searches ADD COLUMN made INTEGER;   -- how many structures it has looked at
    ALTER TABLE searches ADD COLUMN legal INTEGER;  -- how many of those judged are legal
    """,
)
"""The SQL of each version, in order. It turns a file of the version before into one of this
version. A released text never changes.
"""

APPLICATION_ID = 0x53504143
"""Marks an SQLite file as a store."""


class StoreError(ValueError):
    """A file is no store that this library can use; ``str`` gives a sentence."""


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Brings a file to the newest version, in one transaction a version.

    Raises:
        StoreError: the file is of a later version, or holds something else.
    """
    newest = len(MIGRATIONS)
    version = _number(connection, "user_version")
    if version > newest:
        raise StoreError(
            f"{path} has version {version} of the store, and this library reads versions up to "
            f"{newest}: use a newer library."
        )
    is_new = not connection.execute("SELECT name FROM sqlite_master").fetchone()
    if not is_new and _number(connection, "application_id") != APPLICATION_ID:
        raise StoreError(f"{path} is an SQLite file of another program; give another file.")
    while version < newest:
        connection.execute("BEGIN IMMEDIATE")
        version = _number(connection, "user_version")  # another process may have been faster
        if version < newest:
            for statement in _statements(MIGRATIONS[version]):
                connection.execute(statement)
            version += 1
            for fill in _FILLS.get(version, ()):
                fill(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")


def _fill_summaries(connection: sqlite3.Connection) -> None:
    """Sums up the runs of each trial that has some."""
    runs: dict[tuple[int, int], list[tuple[Any, Any]]] = {}
    for study, trial, *pair in connection.execute(
        "SELECT study, trial, seconds, reference_seconds FROM runs ORDER BY study, trial, round"
    ):
        runs.setdefault((study, trial), []).append((pair[0], pair[1]))
    summaries = []
    for place, pairs in runs.items():
        summary = summarise(*zip(*pairs, strict=True))
        if summary is not None:
            summaries.append((*summary, *place))
    connection.executemany(SUMMARISED, summaries)


SUMMARISED = (
    "UPDATE trials SET upper = ?, ratio = ?, beside = ? "
    "WHERE study = ? AND number = ? AND outcome = 'correct'"
)
"""Keeps the summary of a trial."""

_FILLS: dict[int, tuple[Callable[[sqlite3.Connection], None], ...]] = {3: (_fill_summaries,)}
"""What a version computes for rows that were there before."""


def summarise(
    seconds: Sequence[float], beside: Sequence[float]
) -> tuple[float, float, float] | None:
    """Three numbers of some runs: the upper end of the interval of their ratio, the median ratio,
    and the median time of the reference beside them. None without runs, or if a time is not a
    finite number above zero.
    """
    if not seconds or not all(is_time(one) for one in (*seconds, *beside)):
        return None
    ratios = [mine / theirs for mine, theirs in zip(seconds, beside, strict=True)]
    return interval_of_median(ratios)[1], statistics.median(ratios), statistics.median(beside)


def is_time(value: object) -> bool:
    """Whether a value is a time of a run in seconds: a number above zero that is not infinite."""
    return isinstance(value, float) and 0.0 < value < math.inf


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    (number,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(number)


def _statements(script: str) -> list[str]:
    """The statements of a script; ``executescript`` would commit in between."""
    lines = (line.partition("--")[0] for line in script.splitlines())
    found, begun = [], ""
    for part in "\n".join(lines).split(";")[:-1]:
        begun += f"{part};"
        if sqlite3.complete_statement(begun):  # a trigger has statements of its own
            found.append(begun)
            begun = ""
    return found
