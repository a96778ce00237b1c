"""Which ways to decide a Func a search prices. Where a Func is computed, where it is stored and how
its loops run depend on each other so little that the search looks at one after the other.

The search first prices one way of each compute level, with the widest store level, for windows that
slide. For a sum it takes the last way without explicit bounds, which keeps the sums in registers.
Those levels of a sum that are cheapest then are compared by their first way, too. The cheapest
levels are priced with all their store levels, and of these levels and stores the cheapest with all
their loops. Root is always priced with all loops, for it begins a nest. What the loops of a nest
are worth shows only when the producers in it are decided. [S20] and [A21] 4.3 decide levels and
loops in two phases, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from spaces.enumerate.search.stagewise.state import OpenWay, PricedWay

T = TypeVar("T")

PriceWay: TypeAlias = Callable[[OpenWay], PricedWay | None]
"""Prices a way; None if it has no loop nest."""


def price_in_phases(
    ways: Iterable[OpenWay], kept: int, price: PriceWay, compared: float = 1.0
) -> list[PricedWay]:
    """The ways that look cheap, with their costs, in the order of the ways.

    Args:
        ways: all ways to decide a Func.
        kept: how many compute levels are priced with all store levels, and how many levels and
            stores with all loops; root is always one of them.
        price: prices a way.
        compared: the share of the compute levels that are compared by more than one way.
    """
    ways = list(ways)
    costs: dict[int, PricedWay | None] = {}

    def cost(index: int) -> float:
        if index not in costs:
            costs[index] = price(ways[index])
        found = costs[index]
        return float("inf") if found is None else found.cost

    def first_and_root(levels: list[list[list[int]]], count: int) -> list[list[list[int]]]:
        is_root = [ways[level[0][0]].entry.compute.is_root for level in levels]
        return [level for i, level in enumerate(levels) if i < count or is_root[i]]

    stores = _group_by(range(len(ways)), lambda index: _store_level(ways[index]))
    levels = _group_by(stores, lambda store: _compute_level(ways[store[0]]))
    levels.sort(key=lambda level: cost(_choose_typical(ways, level[-1])[0]))
    levels = first_and_root(levels, max(kept, math.ceil(len(levels) * compared)))
    levels.sort(key=lambda level: min(map(cost, _choose_typical(ways, level[-1]))))
    for level in first_and_root(levels, kept):
        for store in level:
            cost(store[0])
    looked_at = [[store] for store in stores if store[0] in costs]
    looked_at.sort(key=lambda store: cost(store[0][0]))
    for (store,) in first_and_root(looked_at, kept):
        for index in store:
            cost(index)
    return [found for _, found in sorted(costs.items()) if found is not None]


def _compute_level(way: OpenWay) -> Hashable:
    """The state before, and where the Func is computed."""
    return id(way.state.before), way.entry.compute


def _store_level(way: OpenWay) -> Hashable:
    """The state before, and where the Func is computed and stored."""
    return _compute_level(way), way.entry.store


def _choose_typical(ways: Sequence[OpenWay], store: Sequence[int]) -> tuple[int, ...]:
    """The ways of a compute and a store level that stand for all of them, the most telling one
    first.
    """
    if len(ways[store[0]].entry.stages) == 1:
        return (store[0],)
    unbounded = [index for index in store if not ways[index].entry.bounds]
    return tuple(dict.fromkeys((*unbounded[-1:], store[0])))


def _group_by(items: Iterable[T], trait: Callable[[T], Hashable]) -> list[list[T]]:
    """Items with the same trait together, in the order of the first ones."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(trait(item), []).append(item)
    return list(groups.values())
