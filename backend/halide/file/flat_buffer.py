"""FlatBuffers, read inside their bounds.

A file is a graph of tables. A table begins with the distance to its *vtable*, which tells for each
slot where the table keeps it; a slot of 0 is absent. Texts, vectors and other tables lie behind a
distance, which always points forward: so there are no cycles. All numbers are little-endian.

Source: the FlatBuffers "Internals" page (flatbuffers.dev/internals).
"""

from __future__ import annotations

import struct
from typing import Any

from attrs import define, field

from spaces.backend.halide.file.errors import HalideFileError

_UINT16, _UINT32, _INT32 = (struct.Struct(form) for form in ("<H", "<I", "<i"))

MOST_ELEMENTS = 1 << 17
"""In all lists of a file together. A table is in one list, with its kind in another one, and there
are fewer names in lists than tables.
"""

MOST_CHARACTERS = 1024
"""In one name or message. Python reads numbers of a few more digits."""


@define
class FlatBuffer:
    """The bytes of a file, and how much work a reader may still do with them.

    An honest file has each table and each element of a vector once. Other files may share them, and
    so hold far more than their size tells; the reader of such a file runs out of work.
    """

    data: bytes
    _work: int = field(init=False)
    _elements: int = field(init=False, default=MOST_ELEMENTS)
    _vtables: dict[int, tuple[int, ...]] = field(init=False, factory=dict)
    """By their places, the distances that vtables tell."""

    def __attrs_post_init__(self) -> None:
        self._work = len(self.data)

    def root(self) -> int:
        """The place of the first table."""
        return self.target(0)

    def spend(self, amount: int) -> None:
        """Counts bytes that are read.

        Raises:
            HalideFileError: there are more of them than the file has.
        """
        self._work -= amount
        if self._work < 0:
            raise HalideFileError("The file refers to the same parts again and again; no file "
                                  "that Halide writes does.")  # fmt: skip

    def number(self, form: struct.Struct, at: int) -> Any:
        """The number at a place.

        Raises:
            HalideFileError: the place is outside of the file (all methods raise it).
        """
        if not 0 <= at <= len(self.data) - form.size:
            raise self._outside(at)
        return form.unpack_from(self.data, at)[0]

    def target(self, at: int) -> int:
        """The place to which the distance at a place leads."""
        distance: int = self.number(_UINT32, at)
        if not 0 < distance < len(self.data) - at:
            raise self._outside(at)
        return at + distance

    def slots(self, table: int, most: int) -> list[int]:
        """For each of the first ``most`` slots of a table its place; 0 where it is absent."""
        vtable: int = table - self.number(_INT32, table)
        distances = self._vtables.get(vtable)
        if distances is None:  # tables of one kind share it
            size: int = self.number(_UINT16, vtable)
            if size < 4 or size % 2 or vtable + size > len(self.data):
                raise self._outside(vtable)
            distances = struct.unpack_from(f"<{size // 2 - 2}H", self.data, vtable + 4)
            self.spend(size)
            self._vtables[vtable] = distances
        self.spend(_INT32.size)
        places = [table + distance if distance else 0 for distance in distances[:most]]
        return places + [0] * (most - len(places))

    def vector(self, at: int, bytes_each: int) -> tuple[int, int]:
        """The place of the first element of the vector behind a distance, and their number."""
        vector = self.target(at)
        count: int = self.number(_UINT32, vector)
        if count * bytes_each > len(self.data) - vector - 4:
            raise HalideFileError(
                f"The file is damaged: at byte {vector} it counts {count} elements, more than the "
                f"{len(self.data)} bytes of the file hold."
            )
        self.spend(count * bytes_each)
        return vector + 4, count

    def targets(self, at: int) -> list[int]:
        """The places to which the vector of distances behind a distance leads."""
        first, count = self._listed(at, 4)
        return [self.target(first + 4 * number) for number in range(count)]

    def small_numbers(self, at: int) -> bytes:
        """The numbers, of one byte each, of the vector behind a distance."""
        return self._slice(*self._listed(at, 1))

    def _listed(self, at: int, bytes_each: int) -> tuple[int, int]:
        """A vector whose elements become objects."""
        first, count = self.vector(at, bytes_each)
        self._elements -= count
        if self._elements < 0:
            raise HalideFileError(f"The lists of the file have more than {MOST_ELEMENTS} elements.")
        return first, count

    def octets(self, at: int) -> bytes:
        """The vector of bytes behind a distance."""
        first, count = self.vector(at, 1)
        return self._slice(first, count)

    def text(self, at: int) -> str:
        """The text at a place."""
        count: int = self.number(_UINT32, at)
        if count > len(self.data) - at - 4:
            raise self._outside(at)
        self.spend(count)
        if count > MOST_CHARACTERS:
            raise HalideFileError(
                f"At byte {at} the file has a name or message of {count} bytes; {MOST_CHARACTERS} "
                "is the most."
            )
        try:
            return self._slice(at + 4, count).decode()
        except UnicodeDecodeError:
            raise HalideFileError(f"The text at byte {at} of the file is damaged.") from None

    def _slice(self, first: int, size: int) -> bytes:
        return self.data[first : first + size]

    def _outside(self, at: int) -> HalideFileError:
        return HalideFileError(
            f"The file is damaged or cut off: what byte {at} points to is not inside the "
            f"{len(self.data)} bytes of the file."
        )
