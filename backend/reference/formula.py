"""The values of expressions on a mesh: each variable is an array, and all of them broadcast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from attrs import define, field

from spaces.backend.arguments import ArgumentError, Array
from spaces.backend.arithmetic import convert, operate
from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable, walk

Environment: TypeAlias = Mapping[str, Array]
Read: TypeAlias = Callable[[Call, Sequence[Array]], Array]
"""Gives the values that a call reads at coordinates, innermost first."""


@define
class Formula:
    """Expressions prepared for evaluation, once or at many points.

    ``known`` holds subexpressions whose values do not change from point to point.
    """

    roots: tuple[Expr, ...]
    known: Mapping[Expr, Array] = field(factory=dict)
    _order: list[Expr] = field(init=False)
    _uses: Counter[Expr] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.roots = tuple(map(expanded, self.roots))
        self._order = _post_order(self.roots, self.known)
        self._uses = Counter(self.roots)
        for node in self._order:
            self._uses.update(node.children)

    def values(self, env: Environment, read: Read) -> tuple[Array, ...]:
        """The value of each root; intermediate arrays live only until their last use."""
        done = dict(self.known)
        left = self._uses.copy()
        for node in self._order:
            done[node] = self._value(node, [done[c] for c in node.children], env, read)
            for child in node.children:
                left[child] -= 1
                if not left[child] and child not in self.known:
                    del done[child]
        return tuple(done[root] for root in self.roots)

    @staticmethod
    def _value(node: Expr, operands: list[Array], env: Environment, read: Read) -> Array:
        match node:
            case Const():
                return np.asarray(node.value, node.type.dtype)
            case Variable():
                if node.name not in env:
                    raise ArgumentError(
                        f"`{node.name}` has no value: no image, output or parameter gives it one."
                    )
                return env[node.name]
            case Cast():
                return convert(node.type, operands[0])
            case Op(name=name):
                return operate(name, node.type, operands)
            case Call():
                return read(node, operands)
        raise TypeError(f"{type(node).__name__} is not a node of the algorithm language.")


def prepare(
    roots: tuple[Expr, ...], varies: Callable[[Expr], bool], env: Environment, read: Read
) -> Formula:
    """A formula for many points. Evaluates now all parts that do not vary between points.

    ``varies`` says whether the value of a leaf or call changes from point to point.
    """
    roots = tuple(map(expanded, roots))
    varying: set[Expr] = set()
    for node in walk(*roots):
        if varies(node) or any(c in varying for c in node.children):
            varying.add(node)
    fixed = dict.fromkeys(c for n in varying for c in n.children if c not in varying)
    fixed.update(dict.fromkeys(r for r in roots if r not in varying))
    known = dict(zip(fixed, Formula(tuple(fixed)).values(env, read), strict=True))
    return Formula(roots, known)


def _post_order(roots: Sequence[Expr], stop: Container[Expr]) -> list[Expr]:
    """Each distinct node below ``roots``, children first; does not descend into ``stop``."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif node not in seen and node not in stop:
            seen.add(node)
            stack.append((node, True))
            stack.extend((c, False) for c in reversed(node.children))
    return order
