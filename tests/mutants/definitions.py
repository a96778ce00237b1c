"""Where names are defined: functions, methods, classes and assignments, in whatever file."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path, PurePosixPath

from attrs import field, frozen

ROOMS = ("spaces", "backend", "apps", "tests/differential")
"""Folders whose code is mutated."""


class NoDefinitionError(ValueError):
    """No definition has this name."""


@frozen
class Definition:
    """One definition of a name.

    Attributes:
        name: with the classes and functions around it: ``_Largest._apart``.
        module: with the packages around it, joined by dots.
        path: from the root of the repository.
        node: its statement.
        lines: the lines of its file.
    """

    name: str
    module: str
    path: str
    node: ast.stmt = field(eq=False, repr=False)
    lines: Sequence[str] = field(eq=False, repr=False)

    @property
    def first_line(self) -> int:
        """The first line of the statement or of its decorators, from 1."""
        decorators: list[ast.expr] = getattr(self.node, "decorator_list", [])
        return min([self.node.lineno, *(d.lineno for d in decorators)])

    @property
    def imported_path(self) -> str:
        """The path by which Python imports the file, from the root of the repository."""
        return _imported(self.path)

    @property
    def place(self) -> str:
        """The file and line, to print."""
        return f"{self.path}:{self.first_line}"

    def rewritten(self, changed: ast.stmt) -> str:
        """The text of the file with another statement in place of the definition."""
        depth = self.node.col_offset // 4
        for _ in range(depth):
            changed = ast.If(test=ast.Constant(value=True), body=[changed], orelse=[])
        whole = ast.fix_missing_locations(changed)
        text = ast.unparse(whole).splitlines(keepends=True)[depth:]
        before, after = self.lines[: self.first_line - 1], self.lines[self.node.end_lineno :]
        return "".join((*before, *text, "\n", *after))


def named(root: Path, where: str) -> tuple[Definition, ...]:
    """The definitions of ``name``, or of ``module:name`` where the module's name ends so.

    Raises:
        NoDefinitionError: there are none.
    """
    module, _, name = where.rpartition(":")
    everywhere = _called(root, name)
    ending = f".{module}" if module else ""
    found = tuple(d for d in everywhere if f".{d.module}".endswith(ending))
    if found:
        return found
    hint = ""
    if everywhere:
        hint = f"; modules that define {name} are {', '.join(d.module for d in everywhere)}"
    elif near := get_close_matches(name, _by_name(root), 3):
        hint = f"; near are {', '.join(near)}"
    raise NoDefinitionError(f"nothing is called {where} in {', '.join(ROOMS)}{hint}")


def every(root: Path) -> tuple[Definition, ...]:
    """All definitions, in order of their names."""
    return tuple(d for _, found in sorted(_by_name(root).items()) for d in found)


def functions(root: Path) -> tuple[Definition, ...]:
    """The functions and methods of the product, without those inside of functions, in order of
    files and lines.
    """
    found = [d for d in every(root) if isinstance(d.node, ast.FunctionDef)]
    found = [d for d in found if not d.path.startswith("tests/")]
    spans: dict[str, list[range]] = defaultdict(list)
    for one in found:
        spans[one.path].append(range(one.node.lineno + 1, (one.node.end_lineno or 0) + 1))
    outer = [d for d in found if not any(d.node.lineno in span for span in spans[d.path])]
    return tuple(sorted(outer, key=lambda d: (d.path, d.node.lineno)))


@cache
def _texts(root: Path) -> dict[str, str]:
    """The text of each file, by its path from ``root``."""
    paths = [path for room in ROOMS for path in sorted((root / room).rglob("*.py"))]
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}


@cache
def _in_file(root: Path, path: str) -> tuple[Definition, ...]:
    return tuple(in_text(path, _texts(root)[path]))


def _called(root: Path, name: str) -> list[Definition]:
    """The definitions of a name; files that do not have its last part are not parsed."""
    last = name.rpartition(".")[2]
    paths = [path for path, text in _texts(root).items() if last in text]
    return [one for path in paths for one in _in_file(root, path) if one.name == name]


@cache
def _by_name(root: Path) -> dict[str, list[Definition]]:
    found = defaultdict(list)
    for path in _texts(root):
        for one in _in_file(root, path):
            found[one.name].append(one)
    return dict(found)


def in_text(path: str, text: str) -> Iterator[Definition]:
    """The definitions of a file at ``path``, from the root of the repository."""
    parts = PurePosixPath(_imported(path)).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    lines = text.splitlines(keepends=True)
    for name, node in _named_in(ast.parse(text).body, ""):
        yield Definition(name, module, path, node, lines)


def _imported(path: str) -> str:
    """The path by which Python imports a file: it reaches `backend` and `apps` through `spaces`."""
    return f"spaces/{path}" if path.startswith(("backend/", "apps/")) else path


def _named_in(body: list[ast.stmt], within: str) -> Iterator[tuple[str, ast.stmt]]:
    """The names defined by statements, and by the functions and classes among them."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                name = within + node.name
                yield name, node
                yield from _named_in(node.body, f"{name}.")
            case ast.Assign(targets=targets):
                for target in targets:
                    for part in ast.walk(target):
                        if isinstance(part, ast.Name):
                            yield within + part.id, node
            case ast.AnnAssign(target=ast.Name(id=id)):
                yield within + id, node
            case _:
                for _, value in ast.iter_fields(node):
                    if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                        yield from _named_in(value, within)
