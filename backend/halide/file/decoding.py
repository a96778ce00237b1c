"""The records of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from spaces.backend.halide.file.contents import Contents
from spaces.backend.halide.file.errors import HalideFileError
from spaces.backend.halide.file.flat_buffer import FlatBuffer
from spaces.backend.halide.file.wire import Raw, Ref, layout

SERIALIZATION = "18.0.1"
"""What the files of Halide 18, 19, 20 and 21 say of their layout. The tables are the same in all of
them; one kind of split, made by ``rfactor``, is gone since 21.
"""

MOST_BYTES = 1 << 26
"""A pipeline takes a few hundred kilobytes besides the arrays inside of it. Of these memory holds
two copies, with that of the file.
"""

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
    opened: dict[int, tuple[dict[str, Raw], _Holding]] = {}
    known = {root.place}
    stack = [root]
    while stack:
        ref = stack[-1]
        if ref.place in opened:
            fields, holding = opened.pop(ref.place)
        else:
            fields, holding = _opened(buffer, ref)
            children = [one for refs in holding.values() for one in refs if one is not None]
            for child in children:
                if child.place in known:
                    raise HalideFileError(
                        f"The file is damaged: two parts hold what is at byte {child.place}."
                    )
                known.add(child.place)
            if len(known) > MOST_TABLES:
                raise HalideFileError(f"The file has more than {MOST_TABLES} parts.")
            if children:
                stack += children
                opened[ref.place] = fields, holding
                continue
        stack.pop()
        for name, refs in holding.items():
            records = tuple(None if one is None else made.pop(one.place) for one in refs)
            fields[name] = records if isinstance(fields[name], list) else records[0]
        made[ref.place] = ref.record(**fields)
    return made[root.place]


_Holding: TypeAlias = Mapping[str, list[Ref | None]]
"""By the names of the fields that hold other tables, these."""


def _opened(buffer: FlatBuffer, ref: Ref) -> tuple[dict[str, Raw], _Holding]:
    """The fields of a table."""
    shape = layout(ref.record)
    places = buffer.slots(ref.place, shape.slots)
    fields = {**shape.absent}
    holding: dict[str, list[Ref | None]] = {}
    for name, slot, first, end in shape.fields:
        if places[first] and places[end - 1]:
            fields[name] = raw = slot.read(buffer, places[first:end])
            if isinstance(raw, Ref):
                holding[name] = [raw]
            elif isinstance(raw, list):
                holding[name] = raw
    return fields, holding
