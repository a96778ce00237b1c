"""Memory of a device that calls use again, since the driver takes long to make some."""

from __future__ import annotations

import threading
from collections.abc import Callable

from attrs import define, field

GRANULE = 512
"""Bytes to which sizes are rounded up, so that memory fits nearly equal sizes, too. The driver
gives no smaller pieces.
"""


@define
class MemoryPool:
    """Pieces of memory by size. It holds no more unused bytes than were in use at once.

    Attributes:
        allocate: makes memory of a number of bytes; an error of type ``full`` says that there is
            not enough.
        free: gives memory back.
    """

    allocate: Callable[[int], int]
    free: Callable[[int], None]
    full: type[Exception]
    _unused: dict[int, int] = field(init=False, factory=dict)
    """The size of each unused piece, by address; the one that was used last is the last."""
    _used: dict[int, int] = field(init=False, factory=dict)
    _in_use: int = field(init=False, default=0)
    _kept: int = field(init=False, default=0)
    _most: int = field(init=False, default=0)
    """The bytes that were in use at once."""
    _guard: threading.Lock = field(init=False, factory=threading.Lock)

    def take(self, nbytes: int) -> int:
        """The address of at least so many bytes, contents undefined."""
        size = -(-max(nbytes, 1) // GRANULE) * GRANULE
        with self._guard:
            # The last one that fits is most likely in the caches of the device.
            address = next((a for a in reversed(self._unused) if self._unused[a] == size), None)
            if address is None:
                address = self._made(size)
            else:
                self._kept -= self._unused.pop(address)
            self._used[address] = size
            self._in_use += size
            self._most = max(self._most, self._in_use)
            return address

    def give(self, address: int) -> None:
        """Keeps memory for later calls; what is too much goes back to the device."""
        with self._guard:
            size = self._unused[address] = self._used.pop(address)
            self._in_use -= size
            self._kept += size
            while self._kept > self._most:
                self._return(next(iter(self._unused)))

    def clear(self) -> None:
        """Gives all unused memory back."""
        with self._guard:
            for address in list(self._unused):
                self._return(address)

    def _made(self, size: int) -> int:
        try:
            return self.allocate(size)
        except self.full:
            for address in list(self._unused):
                self._return(address)
            return self.allocate(size)

    def _return(self, address: int) -> None:
        self._kept -= self._unused.pop(address)
        self.free(address)
