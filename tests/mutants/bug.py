"""A planted bug: one small change of one definition."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from attrs import field, frozen

from tests.mutants.definitions import Definition
from tests.mutants.patterns import copied


@frozen
class Bug:
    """A change in its place.

    Attributes:
        name: what it is called in reports.
        definition: what it changes.
        lines: the lines of the file that run only where the bug may show.
        why: what it does, in words.
        tests: files of the tests most likely to notice it; empty for those that run its lines.
    """

    name: str
    definition: Definition
    _change: Callable[[], ast.stmt] = field(eq=False, repr=False)
    lines: range
    why: str
    tests: tuple[str, ...] = ()

    @property
    def changed(self) -> ast.stmt:
        """The definition with the bug, made when it is asked for."""
        return self._change()

    @property
    def text(self) -> str:
        """The whole file with the bug."""
        return self.definition.rewritten(self.changed)

    @property
    def place(self) -> str:
        """The file and line, to print."""
        return f"{self.definition.path}:{self.lines.start}"

    @property
    def package(self) -> str:
        """The folder, to count by: two names deep, three in `spaces`."""
        parts = PurePosixPath(self.definition.path).parent.parts
        return "/".join(parts[: 3 if parts[0] == "spaces" else 2])

    @property
    def key(self) -> str:
        """A digest of the definition and of what the bug does to it.

        Docstrings, layout and the file do not count.
        """
        what = self.name.removeprefix(f"{self.definition.module}:")
        return digest(self.definition.name, meaning(self.definition.node), what, self.why)


@cache
def meaning(node: ast.AST) -> str:
    """A syntax tree as text, without the docstrings in it."""

    def change(inner: ast.AST, fields: dict[str, Any]) -> None:
        if isinstance(body := fields.get("body"), list):
            fields["body"] = [statement for statement in body if not _is_text(statement)]

    return ast.dump(copied(node, change))


def digest(*parts: str) -> str:
    """Sixteen digits that tell texts apart."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
