"""Find one place of a syntax tree by a fragment of Python, and replace it.

A fragment is one expression or some statements. Spaces, line breaks, comments, brackets and quotes
do not matter. ``...`` stands for any one expression; ``*...`` among elements or arguments,
``**...`` among keywords or entries of a dict, and a statement ``...`` stand for any number of them.
In the new fragment the n-th of these holds what the n-th one of the old fragment stood for.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen

Caught = tuple[Any, ...]
"""What the wildcards of a fragment stand for: an expression, or a list of nodes."""

_PASSED_OVER = {"ctx", "kind", "type_comment"}


class WildcardError(ValueError):
    """The new fragment has more wildcards than the old one."""


@frozen(eq=False)
class Site:
    """A place in a tree: ``parent.field``, or its items from ``start`` to ``stop``."""

    parent: ast.AST
    field: str
    start: int | None
    stop: int
    caught: Caught


def fragments(old: str, new: str) -> tuple[list[ast.AST], list[ast.AST]]:
    """Both as one expression if both are one, else both as statements.

    Raises:
        SyntaxError: one of them is not Python.
    """
    old, new = (textwrap.dedent(fragment).strip() for fragment in (old, new))
    try:
        return [ast.parse(old, mode="eval").body], [ast.parse(new, mode="eval").body]
    except SyntaxError:
        return list(ast.parse(old).body), list(ast.parse(new).body)


def sites(tree: ast.AST, old: list[ast.AST]) -> Iterator[Site]:
    """All places that look like the fragment."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(old[0], ast.expr):
                yield from _expressions(parent, field, value, old[0])
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                for start in range(len(value)):
                    for stop in range(start + 1, len(value) + 1):
                        caught = _sequence(old, value[start:stop])
                        if caught is not None:
                            yield Site(parent, field, start, stop, caught)


def _expressions(parent: ast.AST, field: str, value: object, old: ast.AST) -> Iterator[Site]:
    if isinstance(value, ast.expr):
        caught = _matched(old, value)
        if caught is not None:
            yield Site(parent, field, None, 0, caught)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            caught = _matched(old, item) if isinstance(item, ast.expr) else None
            if caught is not None:
                yield Site(parent, field, index, index + 1, caught)


def replaced(tree: ast.AST, site: Site, new: list[ast.AST]) -> ast.AST:
    """A copy of the tree with the new fragment in place of what was found."""
    caught = iter(site.caught)
    filled = [item for node in new for item in _filled(node, caught)]

    def change(node: ast.AST, fields: dict[str, Any]) -> None:
        if node is site.parent:
            if site.start is None:
                (fields[site.field],) = filled
            else:
                fields[site.field][site.start : site.stop] = filled
            if site.field == "body" and fields["body"] == []:
                fields["body"] = [ast.Pass()]

    return copied(tree, change)


def copied(node: Any, change: Callable[[ast.AST, dict[str, Any]], None]) -> Any:
    """A copy of a tree in which ``change`` had its way with the fields of each node."""
    if isinstance(node, list):
        return [copied(item, change) for item in node]
    if not isinstance(node, ast.AST):
        return node
    fields = {name: copied(value, change) for name, value in ast.iter_fields(node)}
    change(node, fields)
    return type(node)(**fields)


def _filled(node: Any, caught: Iterator[Any]) -> list[Any]:
    """A node of the new fragment with what its wildcards stand for."""
    if _is_any(node) or _is_run(node):
        for found in caught:
            return found if isinstance(found, list) else [found]
        raise WildcardError("the new fragment has more wildcards than the old one")
    if not isinstance(node, ast.AST):
        return [node]
    fields: dict[str, Any] = {}
    for name, value in _fields(node):
        if isinstance(value, list):
            fields[name] = [new for item in value for new in _filled(item, caught)]
        else:
            (fields[name],) = _filled(value, caught)
    if isinstance(node, ast.Dict):
        entries = fields.pop("entries")
        fields = {"keys": [e.key for e in entries], "values": [e.value for e in entries]}
    return [type(node)(**fields)]


def _matched(old: Any, node: Any) -> Caught | None:
    """What the wildcards stand for if both are alike; None if they are not."""
    if _is_any(old) and isinstance(node, ast.expr):
        return (node,)
    if isinstance(old, list):
        return _sequence(old, node) if isinstance(node, list) else None
    if type(old) is not type(node):
        return None
    if not isinstance(old, ast.AST):
        return () if old == node else None
    caught: Caught = ()
    for (_, mine), (_, its) in zip(_fields(old), _fields(node), strict=True):
        found = _matched(mine, its)
        if found is None:
            return None
        caught += found
    return caught


def _sequence(old: list[Any], nodes: list[Any]) -> Caught | None:
    if not old:
        return None if nodes else ()
    first, rest = old[0], old[1:]
    if _is_run(first):
        for length in range(len(nodes) + 1):
            after = _sequence(rest, nodes[length:])
            if after is not None:
                return (nodes[:length], *after)
        return None
    if not nodes:
        return None
    caught = _matched(first, nodes[0])
    after = None if caught is None else _sequence(rest, nodes[1:])
    return None if caught is None or after is None else caught + after


class _Entry(ast.AST):
    """An entry of a dict: key and value side by side."""

    _fields = ("key", "value")
    key: ast.expr | None
    value: ast.expr


def _fields(node: ast.AST) -> list[tuple[str, Any]]:
    """The fields that count, in order."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [("entries", [_Entry(key=key, value=value) for key, value in pairs])]
    return [(name, value) for name, value in ast.iter_fields(node) if name not in _PASSED_OVER]


def _is_any(node: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _is_run(node: object) -> bool:
    match node:
        case ast.Expr(value=value) | ast.Starred(value=value):
            return _is_any(value)
        case ast.keyword(arg=None, value=value) | _Entry(key=None, value=value):
            return _is_any(value)
    return False
