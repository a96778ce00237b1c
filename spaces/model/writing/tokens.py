"""The words, numbers, strings and signs that a schedule text is made of."""

from __future__ import annotations

import re

from attrs import frozen

from spaces.model.text_limits import LONGEST_WORD

_TOKEN = re.compile(
    r"""
    (?P<space>   [ \t\r\f\v]+ | \\\n | //[^\n]* | \#[^\n]* | /\*.*?(?:\*/|\Z) )
  | (?P<newline> \n )
  | (?P<number>  -?[0-9](?:[\w.]*\w)? )
  | (?P<string>  "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
  | (?P<open>    ["'][^\n]* )
  | (?P<word>    [A-Za-z_$][\w$]* )
  | (?P<sign>    :: | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_CHAIN_START = re.compile(r"[ \t]*[A-Za-z_$][\w$]*\.[A-Za-z_]+\(")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
OPEN, CLOSE = "([", ")]"


_SHOWN = 60
"""Characters of the text of a user that a message shows of one name."""


@frozen
class Token:
    """Characters ``[start, end)`` of a text that belong together.

    Attributes:
        kind: ``number``, ``string``, ``word`` or ``sign``; ``newline`` and ``end``; ``open`` for a
            string that does not end, ``long`` for a name or a number that is too long.
    """

    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Tokens without blanks; a line's end is kept where it ends a statement."""
    tokens: list[Token] = []
    depth = 0
    for found in _TOKEN.finditer(text):
        kind = str(found.lastgroup)
        if kind in ("number", "word") and found.end() - found.start() > LONGEST_WORD:
            kind = "long"
        token = Token(kind, found.group(), found.start(), found.end())
        if kind == "newline" and depth > 0 and _CHAIN_START.match(text, found.end()):
            # A parenthesis was left open; the next line is read all the same.
            depth = 0
            tokens.append(token)
            continue
        if kind == "space" or (kind == "newline" and depth > 0):
            continue
        if kind == "newline" and tokens and tokens[-1].text in (".", "::", ",", "="):
            continue
        if token.text in (".", "::") and tokens and tokens[-1].kind == "newline":
            while tokens and tokens[-1].kind == "newline":
                tokens.pop()
        if kind == "sign":
            depth += (token.text in OPEN) - (token.text in CLOSE)
            depth = 0 if token.text == ";" else max(depth, 0)
        tokens.append(token)
    return [*tokens, Token("end", "", len(text), len(text))]


def unquote(literal: str) -> str:
    """The text of a string literal."""
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), literal[1:-1], flags=re.DOTALL)


def quote(text: str) -> str:
    """``text`` as a string literal on one line."""
    for escape, char in (("\\", "\\"), ('"', '"'), *_ESCAPES.items()):
        text = text.replace(char, f"\\{escape}")
    return f'"{text}"'


def is_plain(name: str) -> bool:
    """Whether ``name`` needs no quotes."""
    return re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)*", name) is not None


def shortened(text: str) -> str:
    """``text``, cut if it is long."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
