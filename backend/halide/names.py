"""Names that Halide and C++ accept."""

from __future__ import annotations

import re

_KEPT = re.compile(
    r"""
    alignas | and | asm | auto | bool | break | case | catch | char | class | const | continue |
    default | delete | do | double | else | enum | explicit | export | extern | false | float |
    for | friend | goto | if | inline | int | long | mutable | namespace | new | not | operator
    | or | private | protected | public | register | return | short | signed | sizeof | static |
    struct | switch | template | this | throw | true | try | typedef | typename | union |
    unsigned | using | virtual | void | volatile | while | xor | Expr | Func | Var | RVar | RDom
    | ImageParam | Param | Pipeline | Halide | select | cast | min | max | abs | sqrt | sin |
    cos | tan | exp | log | pow | floor | ceil
    """,
    re.VERBOSE,
)
"""Keywords of C++, and names of Halide that a declaration would hide."""


def identifier(name: str) -> str:
    """``name`` as an identifier: dots and similar characters are replaced, and names that Halide or
    C++ reserve are changed.

    Names of an underscore and a number, and names with ``$``, have a special meaning in Halide.
    """
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    if plain.startswith("_") or plain[:1].isdigit():
        plain = f"v{plain}"
    return f"{plain}_" if _KEPT.fullmatch(plain) else plain
