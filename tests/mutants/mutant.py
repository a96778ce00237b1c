"""A planted bug: one small change to one function, of the sort that people make."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

from attrs import field, frozen
from attrs.validators import min_len

from tests.mutants.bug import Bug
from tests.mutants.definitions import Definition, NoDefinitionError, every, named
from tests.mutants.patterns import WildcardError, copied, fragments, replaced, sites


class DoesNotApplyError(ValueError):
    """The code that a mutant changes is no longer there, or is there several times."""


@frozen
class Mutant:
    """``old``, which occurs once in ``where``, becomes ``new``.

    Attributes:
        name: unique; what ``python -m tests.mutants NAME`` plants.
        where: the function, method, class or assignment with the bug: ``Class.method``, or
            ``module:Class.method`` if several modules define the name. The end of the module's name
            is enough.
        old: an expression or statements, as in :mod:`tests.mutants.patterns`.
        new: the same, with the bug.
        why: the mistake, in words.
        tests: files most likely to notice it, asked first: the ends of their paths.
    """

    name: str
    where: str
    old: str = field(validator=min_len(1))
    new: str
    why: str = field(validator=min_len(1))
    tests: tuple[str, ...] = field(validator=min_len(1))

    def paths(self, root: Path) -> tuple[Path, ...]:
        """The files of its tests.

        Raises:
            DoesNotApplyError: the end of a path is that of no test, or of several.
        """
        return tuple(_test(root, end) for end in self.tests)

    def planted(self, root: Path) -> Bug:
        """The bug in the code below ``root``.

        Raises:
            DoesNotApplyError: the definition is not there, or the old code does not occur in it
                exactly once.
        """
        try:
            definitions = named(root, self.where)
            found = [p for definition in definitions for p in self._in(definition)]
        except NoDefinitionError as error:
            text = f"{self.name}: {error}. It changes\n{self.old}\n\n{self._elsewhere(root)}"
            raise DoesNotApplyError(text) from None
        except WildcardError as error:
            raise DoesNotApplyError(f"{self.name}: {error}.") from None
        if len(found) != 1:
            held = "\n\n".join(f"{d.place}\n{ast.unparse(d.node)}" for d in definitions)
            raise DoesNotApplyError(
                f"{self.name} changes code that occurs once in {self.where}, but this occurs "
                f"{len(found)} times:\n{self.old}\n\n{'' if found else self._elsewhere(root)}"
                f"{self.where} now is\n{held}"
            )
        return found[0]

    def _elsewhere(self, root: Path) -> str:
        """Where the old code stands, to print: a function may have another name now."""
        places = [f"{d.name} ({d.place})" for d in every(root) if self._in(d)]
        return f"This code stands in {', '.join(places)}.\n\n" if places else ""

    def _parsed(self) -> tuple[list[ast.AST], list[ast.AST]]:
        try:
            return fragments(self.old, self.new)
        except SyntaxError as error:
            raise DoesNotApplyError(f"{self.name}: a fragment is not Python: {error}.") from None

    def _in(self, definition: Definition) -> list[Bug]:
        old, new = self._parsed()
        tree = ast.Module(body=[definition.node], type_ignores=[])
        return [
            self._bug(definition, _only(replaced(tree, site, new))) for site in sites(tree, old)
        ]

    def _bug(self, definition: Definition, changed: ast.stmt) -> Bug:
        last = definition.node.end_lineno or definition.node.lineno
        lines = range(definition.node.lineno, last + 1)
        return Bug(self.name, definition, lambda: changed, lines, self.why, self.tests)


@frozen
class TextMutant(Mutant):
    """``old``, which occurs once in the strings of ``where``, becomes ``new``.

    For text that is not Python: C, CUDA, PTX, help of commands.
    """

    def _in(self, definition: Definition) -> list[Bug]:
        found = []
        for string in _strings(definition.node):
            found += string.value.count(self.old) * [self._with(definition, string)]
        return found

    def _with(self, definition: Definition, string: ast.Constant) -> Bug:
        def change(node: ast.AST, fields: dict[str, Any]) -> None:
            if node is string:
                fields["value"] = string.value.replace(self.old, self.new)

        return self._bug(definition, copied(definition.node, change))


def _strings(node: ast.AST) -> list[ast.Constant]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _only(module: Any) -> ast.stmt:
    (statement,) = module.body
    assert isinstance(statement, ast.stmt)
    return statement


def _test(root: Path, end: str) -> Path:
    found = [path for path in _tests(root) if f"/{path.as_posix()}".endswith(f"/{end}")]
    if len(found) != 1:
        names = ", ".join(path.relative_to(root).as_posix() for path in found) or "none"
        raise DoesNotApplyError(
            f"{end} must be the end of one test's path; it is that of: {names}."
        )
    return found[0]


@cache
def _tests(root: Path) -> tuple[Path, ...]:
    return tuple(sorted((root / "tests").rglob("test_*.py")))
