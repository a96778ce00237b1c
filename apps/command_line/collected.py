"""Items found one after another, until there are no more or the user has had enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from attrs import define

from apps.errors import Interrupted

T = TypeVar("T")


@define
class Collected(Generic[T]):
    """``items``, which end early where Ctrl-C is pressed while the next is sought, so that what
    was found until then can be shown.
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
        """Go on, if not interrupted.

        Raises:
            Interrupted: the items ended early.
        """
        if self.interrupted:
            raise Interrupted
