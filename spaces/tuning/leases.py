"""Leases of studies in a store: one process at a time tunes a study."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

from attrs import define, field

from spaces.tuning.runner import Heartbeat, Runner
from spaces.tuning.schema import StoreError
from spaces.tuning.stored_studies import StoredStudies


@define
class LeasedStudies(StoredStudies):
    """The studies of an open file; this process may tune some of them."""

    _leases: dict[int, Heartbeat] = field(init=False, factory=dict, repr=False)

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
            self._leases[study] = Heartbeat(lambda: renew_lease(self._file.place, study, me))
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

    def _end_leases(self) -> None:
        """Renews no lease any more."""
        for lease in self._leases.values():
            lease.stop()
        self._leases.clear()

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


_LEASED = "UPDATE studies SET runner = ?, renewed = ? WHERE id = ?"


def renew_lease(path: str, study: int, runner: Runner) -> None:
    """Renews the lease of a study, in a connection of the calling thread."""
    with closing(sqlite3.connect(path, timeout=1.0)) as connection, connection:
        connection.execute(
            "UPDATE studies SET renewed = ? WHERE id = ? AND runner = ?",
            (time.time(), study, runner.text),
        )
