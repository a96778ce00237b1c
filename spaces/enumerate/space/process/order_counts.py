"""How many domain orders a stage has at most if its loops are decided one by one."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from attrs import frozen

from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.nests import may_follow
from spaces.enumerate.space.process.topics.ordering import (
    has_single_threads,
    loop_kinds,
    may_be_atomic,
    split_tails,
)
from spaces.enumerate.space.process.topics.specializing import most_cases
from spaces.model.schedules.domain_order import SINGLE_THREAD, LoopKind
from spaces.model.schedules.schedule import StageOf

Allows: TypeAlias = Callable[[LoopKind, Collection[LoopKind]], bool]
"""Whether a loop of a kind may stand inside loops of other kinds."""


@frozen
class OrderCount:
    """A number of domain orders.

    Attributes:
        orders: how many there are at most.
        loops: the largest number of loops of one.
    """

    orders: int
    loops: int


def order_count(
    state: ProcessState,
    stage: StageOf,
    pattern: str,
    menu_size: Callable[[StageOf, str], int],
    conditions: int,
) -> OrderCount:
    """The orders of a stage in pattern ``nests`` or ``loops``, with menus of these sizes for the
    factors along each dimension, and so many conditions to specialize it for.

    Exact for ``loops``, but for stages that must keep their order. For ``nests`` it leaves out four
    limits: which loops are short, which ones race, which ones fused loops stand inside, and which
    ones keep the order of an update.
    """
    directives, as_nests = state.choices.directives, pattern == "nests"
    levels = state.choices.splits if "split" in directives else 0
    ways = sorted(
        len(split_tails(state, stage, one)) * menu_size(stage, one)
        for one in state.stage(stage).dimensions
    )
    allows = may_follow if as_nests else _anything
    count = _orders(levels, tuple(ways), "fuse" in directives, tuple(loop_kinds(state)), allows)
    orders, loops = count.orders, count.loops
    if has_single_threads(state):
        orders, loops = 2 * orders, loops + len(SINGLE_THREAD)
    total = orders * _specialized(orders, conditions, most_cases(state, conditions))
    if may_be_atomic(state, stage):
        total *= 2
    return OrderCount(total, loops)


def _specialized(orders: int, conditions: int, most: int) -> int:
    """The ways to specialize a stage, each specialization with one of some orders."""
    return sum(math.perm(conditions, number) * orders**number for number in range(most + 1))


@lru_cache(maxsize=1024)
def _orders(
    levels: int, ways: tuple[int, ...], has_fuses: bool, kinds: tuple[LoopKind, ...], allows: Allows
) -> OrderCount:
    """The orders of loops that are split, fused, put in a row and given kinds."""

    def rows(loops: int) -> int:
        return math.factorial(loops) * kind_sequences(loops, kinds, allows)

    ordered = allows is not _anything
    shares = _product(split_shares(levels, each, is_ordered=ordered) for each in ways)
    total = sum((share * rows(loops) for loops, share in shares.items()), Fraction(0))
    if has_fuses:
        plain = _product(split_shares(levels, each, is_ordered=False) for each in ways)
        total += sum(
            share * fuses(before, loops) * rows(loops)
            for before, share in plain.items()
            for loops in range(1, before)
        )
    assert total.denominator == 1
    return OrderCount(int(total), max(shares))


def _anything(kind: LoopKind, outside: Iterable[LoopKind]) -> bool:
    return True


def split_shares(levels: int, ways: int, is_ordered: bool) -> dict[int, Fraction]:
    """By number of loops: the ways to split one loop, each with the share of the orders of these
    loops that it allows.

    Args:
        levels: how often the loop, and each part of it, may be split.
        ways: the ways to make one split.
        is_ordered: whether a loop over tiles stands outside the loops inside the tiles, unless it
            is split itself.
    """
    found = defaultdict[int, Fraction](Fraction, {1: Fraction(1)})
    if not levels:
        return found
    parts = split_shares(levels - 1, ways, is_ordered)
    for outer, share in parts.items():
        for inner, other in parts.items():
            # Of all orders of the loop over tiles and n loops inside, one in n + 1 starts with it.
            allowed = Fraction(1, inner + 1) if is_ordered and outer == 1 else 1
            found[outer + inner] += ways * share * other * allowed
    return found


def fuses(before: int, after: int) -> int:
    """The ways to fuse loops until some are left.

    Each loop left is a binary tree, whose leaves are loops before, outer and inner told apart: a
    power of the series of Catalan numbers counts such rows of trees.
    """
    rows = Fraction(after, 2 * before - after) * math.comb(2 * before - after, before)
    return int(rows * math.factorial(before) / math.factorial(after))


@lru_cache(maxsize=4096)
def kind_sequences(loops: int, kinds: tuple[LoopKind, ...], allows: Allows) -> int:
    """The kinds that so many loops may have, from the outside.

    Args:
        loops: the number of loops.
        kinds: the kinds of a loop.
        allows: which kinds may stand inside others.
    """
    outside: Counter[frozenset[LoopKind]] = Counter({frozenset(): 1})
    for _ in range(loops):
        longer: Counter[frozenset[LoopKind]] = Counter()
        for seen, count in outside.items():
            for kind in kinds:
                if allows(kind, seen):
                    longer[seen | {kind}] += count
        outside = longer
    return sum(outside.values())


def _product(shares: Iterable[dict[int, Fraction]]) -> dict[int, Fraction]:
    """The same for all dimensions together. Parts of different dimensions mix freely."""
    found: dict[int, Fraction] = {0: Fraction(1)}
    for one in shares:
        longer = defaultdict[int, Fraction](Fraction)
        for loops, share in found.items():
            for more, other in one.items():
                longer[loops + more] += share * other
        found = longer
    return found
