"""Text for terminals."""

from __future__ import annotations

import re


def visible(text: str) -> str:
    r"""A text that does nothing to a terminal. Escapes such as ``\x1b`` stand for characters that
    control it, all but newlines and tabs, and for those that turn the direction of a line.
    """
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
