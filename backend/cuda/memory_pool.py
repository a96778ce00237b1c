"""Memory of a device that calls use again, since the driver takes long to make some."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from attrs import define, field

GRANULE = 512
"""Bytes to which sizes are rounded up, so that memory fits nearly equal sizes, too. The driver
gives no smaller pieces.
"""


@define
class MemoryPool:
    """Pieces of memory by size. It holds no more unused bytes than were in use at once.

    A piece that a stream has used is used again in that stream only. A stream does its work in
    order, so a piece may be given back while kernels still use it.

    Attributes:
        allocate: makes memory of a number of bytes; an error of type ``full`` says that there is
            not enough.
        free: waits until no kernel uses memory, and gives it back.
    """

    allocate: Callable[[int], int]
    free: Callable[[int], None]
    full: type[Exception]
    _unused: dict[int, _Piece] = field(init=False, factory=dict)
    """Each unused piece by address; the one that was used last is the last."""
    _used: dict[int, _Piece] = field(init=False, factory=dict)
    _in_use: int = field(init=False, default=0)
    _kept: int = field(init=False, default=0)
    _most: int = field(init=False, default=0)
    """The bytes that were in use at once."""
    _ended: deque[int] = field(init=False, factory=deque)
    _guard: threading.Lock = field(init=False, factory=threading.Lock)

    def take(self, nbytes: int, stream: int = 0) -> int:
        """The address of at least that many bytes, contents undefined, for the work of a stream."""
        piece = _Piece(-(-max(nbytes, 1) // GRANULE) * GRANULE, stream)
        with self._guard:
            self._take_back()
            # The last one that fits is most likely in the caches of the device.
            address = next((a for a in reversed(self._unused) if self._unused[a] == piece), None)
            if address is None:
                address = self._made(piece.size)
            else:
                self._kept -= self._unused.pop(address).size
            self._used[address] = piece
            self._in_use += piece.size
            self._most = max(self._most, self._in_use)
            return address

    def give(self, address: int) -> None:
        """Keeps memory for later work of its stream; what is too much goes back to the device."""
        with self._guard:
            self._keep(address)

    def give_later(self, address: int) -> None:
        """The same at the next call of another method: a thread may call it at any moment."""
        self._ended.append(address)

    def clear(self) -> None:
        """Gives all unused memory back."""
        with self._guard:
            self._take_back()
            for address in list(self._unused):
                self._return(address)

    def _take_back(self) -> None:
        while self._ended:
            self._keep(self._ended.popleft())

    def _keep(self, address: int) -> None:
        piece = self._unused[address] = self._used.pop(address)
        self._in_use -= piece.size
        self._kept += piece.size
        while self._kept > self._most:
            self._return(next(iter(self._unused)))

    def _made(self, size: int) -> int:
        try:
            return self.allocate(size)
        except self.full:
            for address in list(self._unused):
                self._return(address)
            return self.allocate(size)

    def _return(self, address: int) -> None:
        self._kept -= self._unused.pop(address).size
        self.free(address)


class _Piece(NamedTuple):
    size: int
    stream: int
