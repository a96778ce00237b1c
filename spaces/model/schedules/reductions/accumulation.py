"""Updates that accumulate by an associative operator, whose parts may be accumulated apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce

from attrs import frozen

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Call, Const, Expr, Op
from spaces.model.expressions.rewrite import substitute
from spaces.model.schedules.reductions.associative import (
    Part,
    by_operator,
    operands_of,
    own_numbers,
    reads_own,
)
from spaces.model.schedules.reductions.best import best
from spaces.model.schedules.reductions.best_by_keys import best_by_keys
from spaces.model.schedules.reductions.nan_first import nan_first
from spaces.model.schedules.reductions.pairs import product, running

TUPLE_ACCUMULATIONS = (
    "the least or the greatest kept with what comes with it, products of complex numbers and their "
    "kin, and what is combined with the values before it"
)
"""What several components of a Tuple may accumulate, in words."""


@frozen
class Accumulation:
    """``f(args) = f(args) op operand``, up to how it is grouped, where ``operand`` does not read
    ``f``; of a Tuple in each component, or in several together.

    Attributes:
        parts: the components that change together, or alone.
    """

    parts: tuple[Part, ...]

    @property
    def operators(self) -> tuple[str, ...]:
        """The operator of each component; none where some change together."""
        alone = sorted((p.components, p.operator) for p in self.parts if p.operator)
        return tuple(op for _, op in alone) if len(alone) == len(self.parts) else ()

    @property
    def order(self) -> str:
        """Why the order of updates matters, in words; empty if it does not."""
        return next((p.order for p in self.parts if p.order), "")

    @property
    def of_some(self) -> bool:
        """Whether each partial result must combine at least one value."""
        return any(p.of_some for p in self.parts)

    @property
    def inexact(self) -> str:
        """Why another order may give other bits, in words; empty if it does not."""
        return next((p.inexact for p in self.parts if p.inexact), "")

    @property
    def identities(self) -> tuple[Const, ...]:
        """What partial results begin with."""
        found = {c: i for p in self.parts for c, i in zip(p.components, p.identities, strict=True)}
        return tuple(found[c] for c in range(len(found)))

    def combined(self, now: Sequence[Expr], following: Sequence[Expr]) -> tuple[Expr, ...]:
        """The values after those of ``now`` and, accumulated after them, of ``following``."""
        values = {f"now.{i}": value for i, value in enumerate(now)}
        values |= {f"next.{i}": value for i, value in enumerate(following)}
        found = {c: v for p in self.parts for c, v in zip(p.components, p.pattern, strict=True)}
        return tuple(substitute(found[c], values) for c in range(len(found)))


@lru_cache(maxsize=4096)
def accumulation(function: Function, index: int) -> Accumulation | None:
    """How an update stage accumulates; None where it does something else."""
    stage = function.stages[index]
    if index == 0 or reads_own(function, *stage.args, *stage.predicates):
        return None
    parts = [_part(function, stage, group) for group in _groups(function, stage)]
    found = tuple(part for part in parts if part is not None)
    return Accumulation(found) if len(found) == len(parts) else None


def _part(function: Function, stage: Stage, group: tuple[int, ...]) -> Part | None:
    """What components do that read one another."""
    if len(group) == 1:
        alone = by_operator(function, stage, group[0]) or nan_first(function, stage, group[0])
        return alone or best(function, stage, group)
    for form in (best, best_by_keys, product, running):
        found = form(function, stage, group)
        if found is not None:
            return found
    return None


def _groups(function: Function, stage: Stage) -> list[tuple[int, ...]]:
    """The components that read one another, directly or not."""
    group = list(range(len(stage.values)))
    for number, value in enumerate(stage.values):
        for other in own_numbers(function, value):
            joined, left = group[number], group[other]
            group = [joined if g == left else g for g in group]
    return [tuple(n for n, g in enumerate(group) if g == name) for name in dict.fromkeys(group)]


def operand_of(value: Expr, operator: str, func: str) -> Expr:
    """What ``value``, in which a call of ``func`` is combined with others by ``operator``, combines
    it with.
    """
    others = [
        o for o in operands_of(value, operator) if not (isinstance(o, Call) and o.target == func)
    ]
    return reduce(lambda a, b: Op(value.type, operator, (a, b)), others)
