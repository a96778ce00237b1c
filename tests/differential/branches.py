"""Which branches a case takes in the rules, in the placement of loops and in lowering.

A branch is a line and the one before it in the same call, as a number that is the same in every
process. Only code in :data:`WATCHED` is traced, and only in a share of cases: it takes three times
as long.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from attrs import define, field

_ROOT = Path(__file__).parents[2]
WATCHED = tuple(
    str(_ROOT / folder)
    for folder in ("spaces/constraints/rules", "spaces/model/nest", "backend/lowering")
)


@define
class Branches:
    """The branches that are known, to which what is recorded is added."""

    known: set[int] = field(factory=set)
    _watched: dict[CodeType, str] = field(factory=dict)

    @contextmanager
    def recorded(self) -> Iterator[list[int]]:
        """The branches taken meanwhile that were not known; filled at the end."""
        found: set[tuple[CodeType, int, int]] = set()
        new: list[int] = []
        before = sys.gettrace()
        sys.settrace(self._tracer(found))
        try:
            yield new
        finally:
            sys.settrace(before)
            numbers = {_number(self._watched[code], a, b) for code, a, b in found}
            new += sorted(numbers - self.known)
            self.known |= numbers

    def _tracer(self, found: set[tuple[CodeType, int, int]]) -> Callable[..., Any]:
        watched = self._watched

        def begin(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
            code = frame.f_code
            if code not in watched:
                name = code.co_filename
                inside = name.startswith(WATCHED)
                watched[code] = str(Path(name).relative_to(_ROOT)) if inside else ""
            if not watched[code]:
                return None
            last = code.co_firstlineno

            def line(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
                nonlocal last
                if event == "line":
                    found.add((code, last, frame.f_lineno))
                    last = frame.f_lineno
                return line

            return line

        return begin


def _number(name: str, first: int, last: int) -> int:
    return zlib.crc32(f"{name}:{first}:{last}".encode())
