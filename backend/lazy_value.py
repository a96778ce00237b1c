"""A value that is made at its first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Content = TypeVar("Content")


class LazyValue(Generic[Content]):
    """A value that the first call makes; threads that call meanwhile wait for it. A call that fails
    makes nothing, and the next one tries again.
    """

    def __init__(self, make: Callable[[], Content]) -> None:
        self._make = make
        self._found: list[Content] = []
        self._guard = threading.Lock()

    def __call__(self) -> Content:
        """The value."""
        with self._guard:
            if not self._found:
                self._found.append(self._make())
            return self._found[0]
