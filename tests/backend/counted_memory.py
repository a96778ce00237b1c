"""Scratch memory that counts: how often compiled code takes some, and how much it holds at once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from unittest import mock

from attrs import define, field

from spaces.backend.llvm.runtime.helpers import runtime_symbols

_USERS = ("spaces.backend.compile", "spaces.backend.cuda.host_part")
"""The modules that link code with the runtime."""

_RUBBISH = 0xA5
"""Each byte of new memory."""


@define
class CountedMemory:
    """The memory of code that was linked with it.

    Attributes:
        limit: no more bytes than this at once.
        requests: the bytes of each request, in order, also of those that it refused.
        most: the most bytes at once.
    """

    limit: int = 1 << 30
    requests: list[int] = field(factory=list)
    most: int = 0
    _blocks: dict[int, ctypes.Array[ctypes.c_char]] = field(factory=dict)
    _taken: Callable[..., int] = field(init=False)
    _given: Callable[..., None] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._taken = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(self._take)
        self._given = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._give)

    @property
    def held(self) -> int:
        """The bytes that code has not given back."""
        return sum(len(block) for block in self._blocks.values())

    def _take(self, size: int) -> int:
        self.requests.append(size)
        if self.held + size > self.limit:
            return 0
        block = ctypes.create_string_buffer(bytes([_RUBBISH]) * size, size)
        # A block of no bytes has an address of its own, too.
        address = ctypes.addressof(block) if size else -len(self.requests) & (1 << 63) - 1
        self._blocks[address] = block
        self.most = max(self.most, self.held)
        return address

    def _give(self, address: int | None) -> None:
        if address is not None:
            del self._blocks[address]

    @property
    def symbols(self) -> Mapping[str, int]:
        """The functions of the runtime, with this memory."""
        own = {"spaces_malloc": self._taken, "spaces_free": self._given}
        addresses = {n: ctypes.cast(f, ctypes.c_void_p).value or 0 for n, f in own.items()}
        return {**runtime_symbols(), **addresses}

    @contextmanager
    def linked(self) -> Iterator[None]:
        """Code that is compiled inside uses this memory."""
        with ExitStack() as stack:
            for user in _USERS:
                stack.enter_context(
                    mock.patch(f"{user}.runtime_symbols", return_value=self.symbols)
                )
            yield
