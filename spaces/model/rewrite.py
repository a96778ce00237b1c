"""Rebuilding expressions: one memoized bottom-up walk that every transformation uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spaces.model.expr import Expr, Variable, walk


def rewrite(root: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """``root`` with ``change`` applied to every node, children first; sharing is kept."""
    done: dict[Expr, Expr] = {}
    for node in walk(root):
        children = node.children
        rebuilt = tuple(done[c] for c in children)
        same = all(a is b for a, b in zip(rebuilt, children, strict=True))
        done[node] = change(node if same else node.with_children(rebuilt))
    return done[root]


def substitute(root: Expr, values: Mapping[str, Expr]) -> Expr:
    """``root`` with each variable named in ``values`` replaced."""
    if not values:
        return root
    return rewrite(root, lambda n: values.get(n.name, n) if isinstance(n, Variable) else n)


def variables(*roots: Expr) -> tuple[str, ...]:
    """Names of the variables that occur, each once, in order of first use."""
    return tuple(dict.fromkeys(n.name for n in walk(*roots) if isinstance(n, Variable)))
