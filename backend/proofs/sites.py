"""The accesses of a kernel's body, and what stands around each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from attrs import frozen

from backend.ir.statements import For, If, Statement
from backend.ir.vectors import Load
from spaces.model.expressions.expr import Expr, walk

Conditions: TypeAlias = tuple[tuple[Expr, bool], ...]
"""Conditions, and whether each holds or does not."""


@frozen(eq=False)
class StatementSite:
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

    def is_around(self, other: StatementSite) -> bool:
        """Whether the other one stands inside it, or is it."""
        return other.places[: len(self.places)] == self.places

    @property
    def reads(self) -> tuple[Load, ...]:
        """What its own expressions read, each once."""
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
