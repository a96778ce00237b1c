"""Fragments of Python find one place of a tree, whatever its layout, and take its place."""

from __future__ import annotations

import ast

import pytest

from tests.mutants.patterns import fragments, replaced, sites


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("f(a,  # Why.\n  'b')", 'f(a, "b")', "g", "g"),
        ("if a < 1:\n    x\n    y", "a < 1", "a <= 1", "if a <= 1:\n    x\n    y"),
        ("if a:\n    x\n    y", "if a: ...", "while a: ...", "while a:\n    x\n    y"),
        ("a\nb\nc", "a\nb", "b\na", "b\na\nc"),
        ("if a:\n    f()", "f()", "", "if a:\n    pass"),
        ("f(x + 1, 2)", "f(..., 2)", "g(...)", "g(x + 1)"),
        ("(a, b, c, d)", "(*..., c, *...)", "(*..., *...)", "(a, b, d)"),
        ("f(a, b=1, c=2)", "f(a, **..., c=2)", "f(a, **...)", "f(a, b=1)"),
        ("{1: a, 2: b}", "{**..., 2: b, **...}", "{**..., 2: c, **...}", "{1: a, 2: c}"),
        ("x: T[int, ...] = a", "T[int, ...]", "T[str, ...]", "x: T[str, ...] = a"),
        ("a = b", "a", "c", "c = b"),
    ],
)  # fmt: skip
def test_replaces_what_looks_like_it(text: str, old: str, new: str, expected: str) -> None:
    tree = ast.parse(text)
    before, after = fragments(old, new)
    (site,) = sites(tree, before)
    changed = ast.fix_missing_locations(replaced(tree, site, after))
    assert ast.unparse(changed) == expected
    assert ast.unparse(tree) == ast.unparse(ast.parse(text))


@pytest.mark.parametrize(
    ("text", "old", "count"),
    [
        ("a + a", "a", 2),
        ("a < b", "b > a", 0),
        ("f(1)", "f(1.0)", 0),
        ("f(1)", "f(True)", 0),
        ("f(a, b)", "f(...)", 0),
        ("x = [a, b]\ny = [a]", "[a, *...]", 2),
        ("if a:\n    x\nif a:\n    y", "if a: ...", 2),
        ("if a:\n    x\nelse:\n    y", "if a: ...", 0),
    ],
)
def test_counts_its_places(text: str, old: str, count: int) -> None:
    before, _ = fragments(old, old)
    assert len(list(sites(ast.parse(text), before))) == count
