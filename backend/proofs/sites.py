"""The accesses of a kernel's body, and what stands around each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from attrs import frozen

from backend.ir.statements import Allocate, Block, For, If, Statement, Together
from backend.ir.vectors import Load
from backend.ir.walk import own_expressions
from spaces.model.expressions.expr import Expr, walk

Conditions: TypeAlias = tuple[tuple[Expr, bool], ...]
"""Conditions, and whether each holds or does not."""


@frozen(eq=False)
class Site:
    """A statement of a kernel where it stands.

    Attributes:
        path: the statements around it, outermost first, and itself last.
        places: the place of each of them in the one around it.
        conditions: what is known where it runs.
    """

    path: tuple[Statement, ...]
    places: tuple[int, ...]
    conditions: Conditions

    @property
    def statement(self) -> Statement:
        """The statement itself."""
        return self.path[-1]

    @property
    def loops(self) -> tuple[For, ...]:
        """The loops around it, outermost first."""
        return tuple(s for s in self.path[:-1] if isinstance(s, For))

    def is_around(self, other: Site) -> bool:
        """Whether the other one stands inside it, or is it."""
        return other.places[: len(self.places)] == self.places

    @property
    def reads(self) -> tuple[Load, ...]:
        """What its own expressions read, each once."""
        nodes = walk(*own_expressions(self.statement))
        return tuple(node for node in nodes if isinstance(node, Load))


def sites(body: Statement) -> tuple[Site, ...]:
    """All statements of a kernel, in the order of its text."""
    return tuple(_sites(Site((body,), (0,), ())))


def _sites(site: Site) -> Iterator[Site]:
    yield site

    def inside(statement: Statement, place: int, *known: tuple[Expr, bool]) -> Iterator[Site]:
        path, places = (*site.path, statement), (*site.places, place)
        yield from _sites(Site(path, places, (*site.conditions, *known)))

    match site.statement:
        case Block() | Together():
            for place, inner in enumerate(site.statement.body):
                yield from inside(inner, place)
        case For(body=inner) | Allocate(body=inner):
            yield from inside(inner, 0)
        case If(condition=condition, body=inner, otherwise=otherwise):
            yield from inside(inner, 0, (condition, True))
            if otherwise is not None:
                yield from inside(otherwise, 1, (condition, False))
