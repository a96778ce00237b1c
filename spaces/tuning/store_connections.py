"""Connections to the file of a store, to write or only to read, and errors that name it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spaces.tuning.schema import StoreError, migrate

WAITING = 30.0
"""Seconds to wait while another process writes."""

MEMORY = ":memory:"
"""The name of a store that is gone when it is closed."""

_SENTENCES = {
    sqlite3.SQLITE_FULL: (
        "{path} cannot be written: the disk is full. What it has stays readable; free some space, "
        "and run the same again."
    ),
    sqlite3.SQLITE_READONLY: "{path} cannot be written: the file or its folder is read-only.",
    sqlite3.SQLITE_CANTOPEN: "{path} cannot be opened as a store: {error}.",
    sqlite3.SQLITE_NOTADB: "{path} cannot be opened as a store: {error}.",
    sqlite3.SQLITE_BUSY: f"Another process has been writing {{path}} for {WAITING:g} s.",
    sqlite3.SQLITE_IOERR: (
        "{path} cannot be read or written: {error}. What it has may be readable later."
    ),
    sqlite3.SQLITE_CORRUPT: (
        "{path} is damaged: {error}. spaces studies --check names what is damaged, and the command "
        ".recover of SQLite's program saves the rest."
    ),
}
"""What to say for the codes of SQLite; of an extended code the last byte counts."""


@contextmanager
def errors_of(path: str) -> Iterator[None]:
    """Errors of SQLite as those of a store, with the name of its file.

    Raises:
        StoreError: something fails.
    """
    try:
        yield
    except sqlite3.Error as error:
        if isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error):
            raise StoreError(f"{path} is closed; ask while the store is open.") from None
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        sentence = _SENTENCES.get(code, "{path} cannot be used: {error}.")
        raise StoreError(sentence.format(path=path, error=error)) from None


def connect_to_write(name: str) -> sqlite3.Connection:
    """A connection to the newest version of a store; a new one if there is no such file.

    Raises:
        StoreError: the file holds something else, or cannot be opened.
    """
    if name != MEMORY:
        folder = Path(name).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"The folder of {name} cannot be made: {error.strerror}: {error.filename}."
            ) from None
    with errors_of(name):
        connection = _connect(name)
        try:
            _write_ahead(connection)
            connection.execute("PRAGMA synchronous = NORMAL")  # whole after any kill of a process
            connection.execute("PRAGMA foreign_keys = ON")
            migrate(connection, name)
        except BaseException:
            connection.close()
            raise
        return connection


def connect_to_read(name: str) -> sqlite3.Connection:
    """A connection to a store that is there, which may be on a medium that cannot be written.

    Raises:
        StoreError: the file holds something else, or cannot be opened.
    """
    has_room = os.access(Path(name).parent, os.W_OK)
    if has_room and os.access(name, os.W_OK):
        return connect_to_write(name)
    address = f"{Path(name).absolute().as_uri()}?mode=ro"
    with errors_of(name):
        if has_room:
            return _at_newest_version(_connect(address, is_uri=True), name)
        log = Path(f"{name}-wal")
        if log.exists() and log.stat().st_size:
            return _read_copy(name)  # SQLite would have to make a file beside the log
        return _at_newest_version(_connect(f"{address}&immutable=1", is_uri=True), name)


def _read_copy(name: str) -> sqlite3.Connection:
    """A store in memory with what a file and its log have."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.sqlite"
        for end in ("", "-wal"):
            shutil.copyfile(f"{name}{end}", f"{copy}{end}")
        on_disk = _connect(str(copy))
        made = _connect(MEMORY)
        on_disk.backup(made)
        on_disk.close()
    migrate(made, name)
    return made


def _at_newest_version(connection: sqlite3.Connection, name: str) -> sqlite3.Connection:
    """The connection, or one to a copy in memory of a file of an older version."""
    try:
        migrate(connection, name)
    except sqlite3.OperationalError:
        made = _connect(MEMORY)
        connection.rollback()
        connection.backup(made)
        connection.close()
        migrate(made, name)
        return made
    return connection


def _connect(name: str, *, is_uri: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(name, timeout=WAITING, isolation_level=None, uri=is_uri)
    # A damaged text is one damaged row, not the end of the query.
    connection.text_factory = lambda text: text.decode(errors="backslashreplace")
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Lets others read while one writes. If two processes make a file at once, one finds it locked,
    and SQLite does not wait for this lock; so this function does.
    """
    end = time.monotonic() + WAITING
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
