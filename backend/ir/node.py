"""What nodes of programs have in common: statements, and steps of the host.

Expressions have the same two things: ``children``, and ``with_children``. What walks or rewrites a
program asks for them, and need not know each kind of node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import is_
from typing import Any, ClassVar, Generic, TypeVar, cast

from backend.ir.deep import deeper

Kind = TypeVar("Kind")


class Node(Generic[Kind]):
    """A node of a tree whose nodes are of one ``Kind``; most have nodes inside.

    Attributes:
        nests_deep: whether as many such nodes may lie inside one another as a pipeline has Funcs.
    """

    __slots__ = ()

    nests_deep: ClassVar[bool] = False

    @property
    def children(self) -> tuple[Kind, ...]:
        """The nodes directly inside it, in order."""
        return ()

    def with_children(self, children: tuple[Kind, ...]) -> Kind:
        """The same node around as many others."""
        return cast("Kind", self)


def walk_nodes(root: Node[Kind]) -> Iterator[Kind]:
    """The node and all inside it, parents first."""
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.children)


def map_children(node: Node[Kind], change: Callable[[Kind], Kind]) -> Kind:
    """The node with the nodes directly inside it replaced; itself where nothing changes."""
    children = node.children
    if node.nests_deep:
        changed = tuple([deeper(change, child) for child in children])
    else:
        changed = tuple([change(child) for child in children])
    return cast("Kind", node) if all(map(is_, children, changed)) else node.with_children(changed)
