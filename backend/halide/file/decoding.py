"""The records of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spaces.backend.halide.file.contents import Contents
from spaces.backend.halide.file.errors import HalideFileError
from spaces.backend.halide.file.flat_buffer import FlatBuffer
from spaces.backend.halide.file.wire import Raw, Ref, layout

SERIALIZATION = "18.0.1"
"""What the files of Halide 18, 19, 20 and 21 say of their layout. The tables are the same in all of
them; one kind of split, made by ``rfactor``, is gone since 21.
"""

MOST_BYTES = 1 << 28
"""A pipeline takes a few hundred kilobytes; more than this is something else."""

MOST_TABLES = 1 << 15
"""Halide's largest apps have some 16,000. Each table becomes a record of a few hundred bytes, and
takes some 30 microseconds until a pipeline is made of it: so any file is read or refused within a
second.
"""


def decode(data: bytes) -> Contents:
    """The pipeline in the bytes of a file.

    Raises:
        HalideFileError: the bytes are damaged, are no pipeline of Halide, or have another version.
    """
    if len(data) > MOST_BYTES:
        raise HalideFileError(
            f"The file has {len(data)} bytes; a pipeline has {MOST_BYTES} at most."
        )
    buffer = FlatBuffer(data)
    root = buffer.root()
    _check_version(buffer, root)
    found: Contents = _record(buffer, Ref(root, Contents))
    return found


def _check_version(buffer: FlatBuffer, root: int) -> None:
    *_, halide, version = buffer.slots(root, layout(Contents).slots)
    if not halide or not version:
        raise HalideFileError(
            "The file is not a pipeline that Halide has written: it tells no version."
        )
    made, laid_out = (buffer.text(buffer.target(at)) for at in (halide, version))
    if laid_out != SERIALIZATION:
        raise HalideFileError(
            f"The file has version {laid_out[:40]!r} of Halide's format, written by Halide "
            f"{made[:40]!r}; version {SERIALIZATION}, of Halide 18 to 21, can be read."
        )


def _record(buffer: FlatBuffer, root: Ref) -> Any:
    """The record of a table. Its tables are read before it, without recursion: they lie behind it,
    so there are no cycles, but a tree may be deep.

    Raises:
        HalideFileError: two tables hold the same one. In Halide's files each has one holder; where
            they share, a small file could hold an expression that is too large to be walked.
    """
    made: dict[int, Any] = {}
    opened: dict[int, dict[str, Raw]] = {}
    known = {root.place}
    stack = [root]
    while stack:
        ref = stack[-1]
        fields = opened.pop(ref.place, None)
        if fields is not None:
            stack.pop()
            filled = {name: _filled(raw, made) for name, raw in fields.items()}
            made[ref.place] = ref.record(**filled)
            continue
        opened[ref.place] = fields = _fields(buffer, ref)
        for child in _refs(fields):
            if child.place in known:
                raise HalideFileError(
                    f"The file is damaged: two parts hold what is at byte {child.place}."
                )
            known.add(child.place)
            stack.append(child)
        if len(known) > MOST_TABLES:
            raise HalideFileError(f"The file has more than {MOST_TABLES} parts.")
    return made[root.place]


def _fields(buffer: FlatBuffer, ref: Ref) -> dict[str, Raw]:
    shape = layout(ref.record)
    places = buffer.slots(ref.place, shape.slots)
    fields: dict[str, Raw] = {}
    first = 0
    for name, slot in shape.fields:
        fields[name] = slot.read(buffer, places[first : first + slot.width])
        first += slot.width
    return fields


def _refs(fields: dict[str, Raw]) -> Iterator[Ref]:
    for raw in fields.values():
        if isinstance(raw, Ref):
            yield raw
        elif isinstance(raw, list):
            yield from (one for one in raw if one is not None)


def _filled(raw: Raw, made: dict[int, Any]) -> Any:
    """A value with records in place of Refs."""
    if isinstance(raw, Ref):
        return made.pop(raw.place)
    if isinstance(raw, list):
        return tuple(None if one is None else made.pop(one.place) for one in raw)
    return raw
