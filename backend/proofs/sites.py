"""The accesses of a kernel's body, and the statements around each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from attrs import frozen

from spaces.backend.ir.statements import For, If, Statement
from spaces.backend.ir.vectors import Load
from spaces.model.expressions.expr import Expr, walk

Conditions: TypeAlias = tuple[tuple[Expr, bool], ...]
"""Conditions, each with whether it holds."""


@frozen(eq=False)
class StatementSite:
    """A statement of a kernel, with its place in the kernel.

    Attributes:
        path: the statements around it, outermost first, then the statement itself.
        places: the position of each of them in the one around it.
        conditions: the conditions that hold where it runs.
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

    def is_around(self, other: StatementSite) -> bool:
        """Whether the other site is inside this one or equals it."""
        return other.places[: len(self.places)] == self.places

    @property
    def reads(self) -> tuple[Load, ...]:
        """The loads of its own expressions, each once."""
        nodes = walk(*self.statement.expressions)
        return tuple(node for node in nodes if isinstance(node, Load))


def sites(body: Statement) -> tuple[StatementSite, ...]:
    """All statements of a kernel, in the order of its text."""
    return tuple(_sites(StatementSite((body,), (0,), ())))


def _sites(site: StatementSite) -> Iterator[StatementSite]:
    yield site

    for place, inner in enumerate(site.statement.children):
        known: tuple[tuple[Expr, bool], ...] = ()
        if isinstance(site.statement, If):
            known = ((site.statement.condition, place == 0),)
        path, places = (*site.path, inner), (*site.places, place)
        yield from _sites(StatementSite(path, places, (*site.conditions, *known)))
