"""What was found before, by all that it depends on: the last entries that somebody asked for."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from attrs import define, field, frozen

Entry = TypeVar("Entry")


@frozen
class MemoEntry(Generic[Entry]):
    """A value and its number; no other entry of the memo has or had this number, so it may stand
    for the value in keys.
    """

    number: int
    value: Entry


@define
class Memo(Generic[Entry]):
    """The values of the last ``most`` keys. Its owner drops them with it."""

    most: int
    _kept: dict[Hashable, MemoEntry[Entry]] = field(init=False, factory=dict)
    _count: int = field(init=False, default=0)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def entries(self) -> tuple[MemoEntry[Entry], ...]:
        """The entries that are kept, the oldest first."""
        return tuple(self._kept.values())

    def find(self, key: Hashable) -> MemoEntry[Entry] | None:
        """The value of a key, if it is kept."""
        found = self._kept.pop(key, None)
        if found is not None:
            self._kept[key] = found  # a dict keeps its order: the first key is the oldest one
        return found

    def keep(self, key: Hashable, value: Entry) -> MemoEntry[Entry]:
        """Keeps a value under a new number."""
        found = self._kept[key] = MemoEntry(self._count, value)
        self._count += 1
        while len(self._kept) > self.most:
            del self._kept[next(iter(self._kept))]
        return found
