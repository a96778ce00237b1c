"""The file of a store: statements, transactions, and errors that name it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define, field

from spaces.tuning.schema import StoreError
from spaces.tuning.store_connections import errors_of


@define
class StoreFile:
    """An open file.

    Attributes:
        path: its name, as the user gave it.
        connection: the connection.
        place: its whole name, also after a change of the folder.
    """

    path: str
    connection: sqlite3.Connection = field(repr=False)
    place: str = field(init=False, repr=False)
    _identity: tuple[int, int] | None = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.place = os.path.abspath(self.path)
        self._identity = _identity(self.place)

    @property
    def is_on_disk(self) -> bool:
        """Whether there is a file, which other processes can open, too."""
        return self._identity is not None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction: all of it is kept, or nothing.

        Raises:
            StoreError: the file is gone, or cannot be written.
        """
        if self.is_on_disk and _identity(self.place) != self._identity:
            raise StoreError(
                f"{self.path} is gone: somebody removed or replaced it or its folder, so no result "
                "can be kept there. Run the same again to begin a new file."
            )
        with errors_of(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:  # a full disk ends it
                    self.connection.execute("ROLLBACK")
                raise

    def do(self, statement: str, *values: object) -> sqlite3.Cursor:
        """Executes a statement.

        Raises:
            StoreError: the file cannot be written.
        """
        with errors_of(self.path):
            return self.connection.execute(statement, values)

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that a statement gives.

        Raises:
            StoreError: the file is damaged, or the statement is wrong.
        """
        with errors_of(self.path):
            return self.connection.execute(statement, values).fetchall()

    def one(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The first row that a statement gives; None if it gives no row."""
        found = self.rows(statement, *values)
        return found[0] if found else None

    def some(self, statement: str, *values: object) -> tuple[Any, ...]:
        """The first row that a statement gives.

        Raises:
            StoreError: it gives no row.
        """
        found = self.one(statement, *values)
        if found is None:
            raise StoreError(f"{self.path} lacks a row that another one needs: {statement}.")
        return found


def _identity(path: str) -> tuple[int, int] | None:
    """What tells a file from others; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
