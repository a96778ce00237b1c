"""Records of `spaces.backend.halide.file` as the bytes of a file.

Halide writes files of pipelines that it accepts. Here any records become a file, so that a test may
build what nobody would write. What a slot holds is found out by reading it from a stub.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from attrs import define, field

from spaces.backend.halide.file.wire import FieldSlot, layout


def encoded(root: Any) -> bytes:
    """The bytes of a file whose first table is a record."""
    return _Writer().written(root)


@define
class _Stub:
    """Stands in for the bytes of a file; notes how a slot asks for them, and answers ``value``."""

    value: int = 0
    asked: list[Any] = field(factory=list)

    def number(self, form: struct.Struct, at: int) -> int:
        self.asked.append(form)
        return self.value

    def target(self, at: int) -> int:
        return at

    def targets(self, at: int) -> list[int]:
        self.asked.append("vector")
        return [at]

    def octets(self, at: int) -> bytes:
        self.asked.append("octets")
        return b""

    def small_numbers(self, at: int) -> bytes:
        self.asked.append("octets")
        return bytes([self.value])

    def text(self, at: int) -> str:
        self.asked.append("text")
        return ""


@cache
def _asked(slot: FieldSlot) -> tuple[Any, ...]:
    stub = _Stub()
    slot.read(stub, (1,))  # type: ignore[arg-type]
    return tuple(stub.asked)


@cache
def _choices(slot: FieldSlot) -> dict[str, int]:
    """The numbers of the names that a slot may hold."""
    found: dict[str, int] = {}
    for number in range(64):
        try:
            read = slot.read(_Stub(number), (1,))  # type: ignore[arg-type]
        except Exception:
            break
        found[read if isinstance(read, str) else read[0]] = number
    return found


@define
class _Writer:
    data: bytearray = field(factory=bytearray)
    waiting: deque[tuple[int, Callable[[], None]]] = field(factory=deque)
    """The places of distances, and what writes that to which they lead."""
    vtables: dict[bytes, int] = field(factory=dict)
    begin: int = 0
    """Where the last thing that was written begins."""

    def written(self, root: Any) -> bytes:
        self._later(lambda: self._table(root))
        while self.waiting:
            place, write = self.waiting.popleft()
            write()
            struct.pack_into("<I", self.data, place, self.begin - place)
        return bytes(self.data)

    def _later(self, write: Callable[[], None]) -> None:
        self.waiting.append((len(self.data), write))
        self.data += bytes(4)

    def _table(self, record: Any) -> None:
        parts: list[bytes | Callable[[], None] | None] = []
        for name, slot, *_ in layout(type(record)).fields:
            parts += self._slots(slot, getattr(record, name))
        at, places = 4, []
        for part in parts:
            places.append(0 if part is None else at)
            at += 0 if part is None else len(part) if isinstance(part, bytes) else 4
        vtable = struct.pack(f"<{len(places) + 2}H", 2 * len(places) + 4, at, *places)
        known = self.vtables.setdefault(vtable, len(self.data))
        if known == len(self.data):
            self.data += vtable
        self.begin = begin = len(self.data)
        self.data += struct.pack("<i", begin - known)
        for part in parts:
            if isinstance(part, bytes):
                self.data += part
            elif part is not None:
                self._later(part)

    def _slots(self, slot: FieldSlot, value: Any) -> list[bytes | Callable[[], None] | None]:
        if slot.width == 2:
            kinds = slot.kinds()  # type: ignore[attr-defined]
            if isinstance(value, tuple):
                numbers = bytes(0 if one is None else kinds.index(type(one)) for one in value)
                return [lambda: self._octets(numbers), lambda: self._vector(value, self._table)]
            if value is None:
                return [None, None]
            return [bytes([kinds.index(type(value))]), lambda: self._table(value)]
        if value is None or value == () or value == "":
            return [None]
        asked = _asked(slot)
        if isinstance(value, str):
            return [
                (lambda: self._text(value)) if asked[-1] == "text" else self._chosen(slot, value)
            ]
        if isinstance(value, bytes):
            return [lambda: self._octets(value)]
        if isinstance(value, tuple):
            if asked == ("octets",):
                return [lambda: self._octets(bytes(_choices(slot)[one] for one in value))]
            of_texts = asked == ("vector", "text")
            return [lambda: self._vector(value, self._text if of_texts else self._table)]
        if asked:
            return [asked[0].pack(value)]
        return [lambda: self._table(value)]

    def _chosen(self, slot: FieldSlot, value: str) -> bytes:
        return bytes([_choices(slot)[value]])

    def _text(self, text: str) -> None:
        words = text.encode()
        self.begin = len(self.data)
        self.data += struct.pack("<I", len(words)) + words

    def _octets(self, values: bytes) -> None:
        self.begin = len(self.data)
        self.data += struct.pack("<I", len(values)) + values

    def _vector(self, values: Sequence[Any], write: Callable[[Any], None]) -> None:
        self.begin = begin = len(self.data)
        self.data += struct.pack("<I", len(values))
        for one in values:
            self._later(lambda one=one: write(one))  # type: ignore[misc]
        assert len(self.data) == begin + 4 + 4 * len(values)
