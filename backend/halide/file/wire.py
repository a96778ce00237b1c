"""What the slots of tables hold.

A record class of :mod:`~spaces.backend.halide.file.nodes` or
:mod:`~spaces.backend.halide.file.contents` is the layout of a table: its fields, in order, are the
slots. Each field is made by one of the functions here. Absent slots have the default that the file
format gives them. The union of all expressions takes two slots, one for the kind of the expression.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import attrs
from attrs import frozen

from spaces.backend.halide.file.errors import HalideFileError
from spaces.backend.halide.file.flat_buffer import FlatBuffer

INT32, INT64, UINT64, FLOAT64, BYTE = (
    struct.Struct(form) for form in ("<i", "<q", "<Q", "<d", "B")
)


class Ref(NamedTuple):
    """The table at a place, to be read as a record of a class. A tuple, as they are many."""

    place: int
    record: type[Any]


Raw: TypeAlias = Any
"""The value of a slot, or a :class:`Ref`, or a list of Refs (None among them for nothing)."""


class FieldSlot(Protocol):
    """How one field of a record is read from its place, or its two places."""

    @property
    def width(self) -> int:
        """How many slots the field takes."""

    @property
    def absent(self) -> Raw:
        """The value where a slot is absent."""

    def read(self, buffer: FlatBuffer, places: Sequence[int]) -> Raw:
        """The value at the places of the slots, none of them absent. Its tables are still Refs."""


@frozen
class _Plain:
    """A field that one function reads; ``absent`` is its value without a place."""

    reads: Callable[[FlatBuffer, int], Raw]
    absent: Any
    width: int = 1

    def read(self, buffer: FlatBuffer, places: Sequence[int]) -> Raw:
        return self.reads(buffer, places[0])


@frozen
class _Union:
    """One expression or statement: the kind in one slot, the table in the next."""

    kinds: Callable[[], Sequence[type[Any] | None]]
    width: int = 2
    absent: Raw = None

    def read(self, buffer: FlatBuffer, places: Sequence[int]) -> Raw:
        kind, at = places
        record = _of_kind(self.kinds(), buffer.number(BYTE, kind))
        return None if record is None else Ref(buffer.target(at), record)


@frozen
class _Unions:
    """A vector of kinds in one slot, and a vector of tables as long in the next."""

    kinds: Callable[[], Sequence[type[Any] | None]]
    width: int = 2
    absent: Raw = ()

    def read(self, buffer: FlatBuffer, places: Sequence[int]) -> Raw:
        kinds, at = places
        records = [_of_kind(self.kinds(), kind) for kind in buffer.small_numbers(kinds)]
        targets = buffer.targets(at)
        if len(records) != len(targets):
            raise HalideFileError(
                f"The file is damaged: {len(targets)} expressions have {len(records)} kinds."
            )
        pairs = zip(targets, records, strict=True)
        return [None if record is None else Ref(target, record) for target, record in pairs]


def _of_kind(kinds: Sequence[type[Any] | None], kind: int) -> type[Any] | None:
    """The record class of a kind in a union; None for nothing."""
    if not 0 <= kind < len(kinds):
        raise HalideFileError(f"The file has an expression of the unknown kind {kind}.")
    return kinds[kind]


def _field(slot: FieldSlot) -> Any:
    return attrs.field(metadata={"slot": slot})


def text() -> Any:
    """A text; absent ones are empty."""
    return _field(_Plain(lambda buffer, at: buffer.text(buffer.target(at)), ""))


def texts() -> Any:
    """A tuple of texts."""
    return _field(_Plain(lambda b, at: tuple(b.text(place) for place in b.targets(at)), ()))


def number(form: struct.Struct = INT32, absent: float | None = 0) -> Any:
    """A number."""
    return _field(_Plain(lambda buffer, at: buffer.number(form, at), absent))


def flag() -> Any:
    """True or false."""
    return _field(_Plain(lambda buffer, at: bool(buffer.number(BYTE, at)), False))


def octets() -> Any:
    """Bytes."""
    return _field(_Plain(lambda buffer, at: buffer.octets(at), b""))


def choice(*names: str) -> Any:
    """One of a list of names, by its number there."""
    return _field(_Plain(lambda buffer, at: _named(names, buffer.number(BYTE, at)), names[0]))


def choices(*names: str) -> Any:
    """A tuple of names of a list, by their numbers there."""
    return _field(_Plain(lambda b, at: tuple(_named(names, n) for n in b.small_numbers(at)), ()))


def _named(names: Sequence[str], place: int) -> str:
    if place >= len(names):
        raise HalideFileError(
            f"The file is damaged: it names choice {place} of {', '.join(names)}."
        )
    return names[place]


def table(record: Callable[[], type[Any]]) -> Any:
    """Another record, or None."""
    return _field(_Plain(lambda buffer, at: Ref(buffer.target(at), record()), None))


def tables(record: Callable[[], type[Any]]) -> Any:
    """A tuple of other records."""
    return _field(_Plain(lambda b, at: [Ref(place, record()) for place in b.targets(at)], ()))


def union(kinds: Callable[[], Sequence[type[Any] | None]]) -> Any:
    """A record of one of several classes, or None."""
    return _field(_Union(kinds))


def unions(kinds: Callable[[], Sequence[type[Any] | None]]) -> Any:
    """A tuple of records of several classes; None for nothing."""
    return _field(_Unions(kinds))


@frozen
class TableLayout:
    """How a table holds a record of a class.

    Attributes:
        fields: the fields in the order of their slots, each with the number of its first slot, and
            that behind its last one.
        slots: the number of slots.
        absent: the values of all fields if all slots are absent.
    """

    fields: tuple[tuple[str, FieldSlot, int, int], ...]
    slots: int
    absent: Mapping[str, Raw]


_LAYOUTS: dict[type[Any], TableLayout] = {}


def layout(record: type[Any]) -> TableLayout:
    """How a table holds a record of a class."""
    found = _LAYOUTS.get(record)
    if found is None:
        found = _LAYOUTS[record] = _layout(record)
    return found


def _layout(record: type[Any]) -> TableLayout:
    fields = []
    first = 0
    for one in attrs.fields(record):
        slot: FieldSlot = one.metadata["slot"]
        fields.append((one.name, slot, first, first + slot.width))
        first += slot.width
    return TableLayout(tuple(fields), first, {name: slot.absent for name, slot, *_ in fields})
