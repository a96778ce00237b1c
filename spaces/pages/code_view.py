"""Generated code, compressed in the page and unpacked where a reader opens it."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator

from attrs import frozen

from spaces.markup.element import Markup, joined, tag
from spaces.model.amounts import amount


@frozen
class GeneratedCode:
    """A text of generated code.

    Attributes:
        title: what it is, such as ``LLVM IR``.
        text: the code.
        hint: the command that prints it.
    """

    title: str
    text: str
    hint: str = ""


def code_view(codes: Iterable[GeneratedCode], room: int) -> Markup:
    """Each text behind a button; a text that does not fit the room is cut.

    Args:
        codes: the texts, the most important first.
        room: the bytes that they may take in the page together.
    """
    return joined([_shown(code, packed, cut) for code, packed, cut in _packed(codes, room)])


def _packed(codes: Iterable[GeneratedCode], room: int) -> Iterator[tuple[GeneratedCode, str, bool]]:
    every = list(codes)
    for left, code in zip(range(len(every), 0, -1), every, strict=True):
        packed, cut = _fitting(code.text, room if left == 1 else room * 2 // 3)
        room -= len(packed)
        yield code, packed, cut


def _fitting(text: str, room: int) -> tuple[str, bool]:
    """The text compressed, as much of it as fits, and whether something is left out."""
    lines = text.splitlines(keepends=True)
    count = len(lines)
    while count:
        packed = base64.b64encode(zlib.compress("".join(lines[:count]).encode(), 9)).decode()
        if len(packed) <= room:
            return packed, count < len(lines)
        count = min(count - 1, int(count * room / len(packed) * 0.95))
    return "", bool(lines)


def _shown(code: GeneratedCode, packed: str, cut: bool) -> Markup:
    many = f"{amount(len(code.text.splitlines()), 'line')}{', the first ones' if cut else ''}"
    plain = tag("noscript", f"`{code.hint}` prints it.") if code.hint else None
    return tag(
        "details",
        tag("summary", code.title, " ", tag("small", many)),
        plain,
        tag("pre", data_z=packed, class_="code", tabindex=0),
        class_="generated",
    )
