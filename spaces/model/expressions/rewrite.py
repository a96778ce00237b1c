"""Rebuilding of expressions: one memoized bottom-up walk that every transformation uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spaces.model.expressions.expr import Expr, Variable


def rewrite(
    root: Expr, change: Callable[[Expr], Expr], done: dict[Expr, Expr] | None = None
) -> Expr:
    """``root`` with ``change`` applied to every node, children first; shared parts stay shared.

    ``done`` maps nodes to their results. Several calls may share it if ``change`` depends on the
    node alone; a node with an entry becomes that entry.
    """
    done = {} if done is None else done
    stack = [root]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        children = node.children
        missing = [c for c in children if c not in done]
        if missing:
            stack += missing[::-1]
            continue
        stack.pop()
        for child in children:
            if done[child] is not child:
                node_now = node.with_children(tuple([done[c] for c in children]))
                break
        else:
            node_now = node
        done[node] = change(node_now)
    return done[root]


class Substitution:
    """Replaces variables by values, in any number of expressions that may share parts; applies
    ``then`` to each rebuilt node.
    """

    def __init__(
        self, values: Mapping[str, Expr], then: Callable[[Expr], Expr] | None = None
    ) -> None:
        self._values = values
        self._then = then
        self._done: dict[Expr, Expr] = {}

    @property
    def kept(self) -> int:
        """The number of expressions whose results it keeps."""
        return len(self._done)

    def __call__(self, root: Expr) -> Expr:
        """``root`` with each of the variables replaced; the walk skips parts without them."""
        done, values, then = self._done, self._values, self._then
        names = values.keys()
        if names.isdisjoint(root.names):
            return root
        stack = [root]
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
                continue
            if isinstance(node, Variable):
                done[stack.pop()] = values[node.name]
                continue
            children = node.children
            touched = [c for c in children if not names.isdisjoint(c.names)]
            missing = [c for c in touched if c not in done]
            if missing:
                stack += missing
                continue
            stack.pop()
            rebuilt = node.with_children(tuple([done.get(c, c) for c in children]))
            done[node] = rebuilt if then is None else then(rebuilt)
        return done[root]


def substitute(root: Expr, values: Mapping[str, Expr]) -> Expr:
    """``root`` with each variable named in ``values`` replaced."""
    return Substitution(values)(root)


def variables(*roots: Expr) -> tuple[str, ...]:
    """Names of the variables in ``roots``, each once, in order of first use."""
    found: dict[str, None] = {}
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if isinstance(node, Variable):
            found[node.name] = None
        elif not node.names <= found.keys():  # of other parts all variables are known
            stack.extend(reversed(node.children))
    return tuple(found)
