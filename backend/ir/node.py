"""What all nodes of programs have in common, be they statements or steps of the host.

They have ``children`` and ``with_children``, as expressions do, and expressions of their own. Code
that walks or rewrites a program uses these and need not know each kind of node. The types of a
node's fields say which fields hold nodes, and which hold expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import is_
from typing import Any, ClassVar, Generic, TypeVar, cast

from spaces.backend.ir.parts import derived
from spaces.model.expressions.expr import Expr
from spaces.model.recursion import deeper

NodeKind = TypeVar("NodeKind")


class Node(Generic[NodeKind]):
    """A node of a tree whose nodes all have one ``NodeKind``; most nodes have other nodes inside.

    A record derives the four methods from its fields, except those that it defines itself.

    Attributes:
        nests_deep: whether such nodes may nest as deep as a pipeline has Funcs.
        called: the name of ``NodeKind`` in the types of fields.
    """

    __slots__ = ()

    nests_deep: ClassVar[bool] = False
    called: ClassVar[str]

    @classmethod
    def __attrs_init_subclass__(cls) -> None:
        own = vars(cls)
        for held, read, changed in (
            (cls.called, "children", "with_children"),
            ("Expr", "expressions", "with_expressions"),
        ):
            for name, method in zip((read, changed), derived(cls, held), strict=True):
                if name not in own:
                    setattr(cls, name, method)

    @property
    def children(self) -> tuple[NodeKind, ...]:
        """The nodes directly inside it, in order."""
        return ()

    def with_children(self, children: tuple[NodeKind, ...]) -> NodeKind:
        """The same node around other children, as many as before."""
        return cast("NodeKind", self)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """Its own expressions, without those of nodes inside it."""
        return ()

    def with_expressions(self, expressions: tuple[Expr, ...]) -> NodeKind:
        """The same node with other expressions, as many as before."""
        return cast("NodeKind", self)


def walk_nodes(root: Node[NodeKind]) -> Iterator[NodeKind]:
    """The node and all inside it, parents first."""
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.children)


def map_children(node: Node[NodeKind], change: Callable[[NodeKind], NodeKind]) -> NodeKind:
    """The node with ``change`` applied to each node directly inside it; the node itself if nothing
    changes.
    """
    children = node.children
    if node.nests_deep:
        changed = tuple([deeper(change, child) for child in children])
    else:
        changed = tuple([change(child) for child in children])
    return (
        cast("NodeKind", node) if all(map(is_, children, changed)) else node.with_children(changed)
    )
