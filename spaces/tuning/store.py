"""The store: one SQLite file with everything that was ever measured.

Several processes may use a file at once. A write-ahead log keeps it whole when a process is killed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

from attrs import define

from spaces.cost.cpu.prices import Prices
from spaces.tuning.identity import TuningMachine
from spaces.tuning.prices_as_json import prices_from_json, prices_to_json
from spaces.tuning.store_connections import MEMORY, connect_to_read, connect_to_write
from spaces.tuning.store_file import StoreFile
from spaces.tuning.stored_studies import now
from spaces.tuning.stored_trials import StoredTrials
from spaces.tuning.study_key import StudyKey, StudySummary

__all__ = ["MEMORY", "StudyKey", "StudySummary", "TuningStore", "default_store"]


@define
class TuningStore(StoredTrials):
    """A file with studies. A context manager, which closes it.

    >>> with TuningStore.open("tuning.sqlite") as store:
    ...     for study in store.studies():
    ...         print(study.pipeline, study.best)
    """

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
        self._end_leases()
        self._file.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
                now(),
            )

    def prices(self, machine: TuningMachine) -> Prices | None:
        """The prices that are kept for a machine; None if there are none."""
        row = self._file.one("SELECT document FROM prices WHERE machine = ?", machine.fingerprint)
        if row is None:
            return None
        return self._read("the prices of this machine", lambda: prices_from_json(row[0]))

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that a statement of SQL gives.

        Raises:
            StoreError: the file is damaged, or the statement is wrong.
        """
        return self._file.rows(statement, *values)


def default_store() -> Path:
    """The file that keeps studies if the user names none: ``tuning.sqlite`` in the user's data
    folder for this library (``$XDG_DATA_HOME/spaces``, or ``~/.local/share/spaces``).
    """
    folder = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(folder) / "spaces" / "tuning.sqlite"
