"""Texts of expressions with shared parts: a part that occurs often or is long gets a name.

In a chain of sixty nodes, each may use the one before twice; its full text would have more than
2**60 characters. The text of a short expression stays in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeAlias, TypeVar

Shown: TypeAlias = tuple[str, int]
"""A text, and how strongly its outermost operator binds."""

ATOM = 100
"""How strongly names, literals and calls bind: they never need parentheses."""

_FULL = 1000
"""An expression up to this size stays in full. The size counts each occurrence of a node."""

_SMALL = 4
"""A shared part up to this many nodes is repeated, not named."""

_LONG = 120
"""A part with more nodes gets a name even if it occurs once."""


class HasChildren(Protocol):
    """A node with parts."""

    @property
    def children(self) -> tuple[Self, ...]:
        """The parts, in order."""


_N = TypeVar("_N", bound=HasChildren)


def shared_text(nodes: Sequence[_N], write: Callable[[_N, list[Shown]], Shown]) -> str:
    """The text of the last of ``nodes``: ``$2 * $2 where $1 = x + 1, $2 = $1 * $1``.

    Args:
        nodes: all nodes of the expression, each once, parts before the nodes that use them.
        write: returns the text of a node from the texts of its parts.
    """
    names = _named(nodes)
    shown: dict[_N, Shown] = {}
    definitions: list[str] = []
    for node in nodes:
        text, level = write(node, [shown[part] for part in node.children])
        if node in names:
            name = f"${len(definitions) + 1}"
            definitions.append(f"{name} = {text}")
            text, level = name, ATOM
        shown[node] = text, level
    whole = shown[nodes[-1]][0]
    return f"{whole} where {', '.join(definitions)}" if definitions else whole


def _named(nodes: Sequence[_N]) -> set[_N]:
    """The parts that get a name."""
    written: dict[_N, int] = {}
    for node in nodes:
        written[node] = min(_FULL + 1, 1 + sum(written[part] for part in node.children))
    if written[nodes[-1]] <= _FULL:
        return set()
    uses = Counter(part for node in nodes for part in node.children)
    named: set[_N] = set()
    for node in nodes[:-1]:
        written[node] = 1 + sum(written[part] for part in node.children)
        if written[node] > (_SMALL if uses[node] > 1 else _LONG):
            named.add(node)
            written[node] = 1
    return named
