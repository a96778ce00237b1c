"""Items that a command finds one by one, until the last one or until Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from attrs import define

from spaces.apps.errors import Interrupted

T = TypeVar("T")


@define
class Collected(Generic[T]):
    """Iterates over ``items``. Ctrl-C during the search for the next item ends the iteration, so
    that the command can still show the items before it.
    """

    items: Iterable[T]
    interrupted: bool = False

    def __iter__(self) -> Iterator[T]:
        items = iter(self.items)
        while True:
            try:
                item = next(items)
            except StopIteration:
                return
            except KeyboardInterrupt:
                self.interrupted = True
                return
            yield item

    def stop(self) -> None:
        """Raises if Ctrl-C ended the iteration.

        Raises:
            Interrupted: Ctrl-C ended the iteration.
        """
        if self.interrupted:
            raise Interrupted
