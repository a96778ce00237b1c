"""Which ways to decide a Func a search prices: where it is computed and stored, and how its loops
run, depend on each other little enough to be looked at one after another.

Of each compute level one way is priced first, with the widest store level, for windows that slide.
The cheapest levels are priced with all their store levels, and of these levels and stores the
cheapest with all their loops. [S20] and [A21] 4.3 decide levels and loops in two phases, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeAlias

from spaces.enumerate.half_decided import OpenWay, PricedWay

Price: TypeAlias = Callable[[OpenWay], PricedWay | None]
"""Prices a way; None if it has no loop nest."""


def priced_in_phases(ways: Iterable[OpenWay], kept: int, price: Price) -> list[PricedWay]:
    """The ways that look cheap, with their costs, in the order of the ways.

    Args:
        ways: all ways to decide a Func.
        kept: how many compute levels are priced with all store levels, and how many levels and
            stores with all loops.
        price: prices a way.
    """
    ways = list(ways)
    costs: dict[int, PricedWay | None] = {}

    def cost(index: int) -> float:
        if index not in costs:
            costs[index] = price(ways[index])
        found = costs[index]
        return float("inf") if found is None else found.cost

    firsts = _grouped(range(len(ways)), lambda index: _stored(ways[index]))
    levels = _grouped((group[0] for group in firsts), lambda index: _computed(ways[index]))
    levels.sort(key=lambda group: cost(group[-1]))
    for group in levels[:kept]:
        for index in group:
            cost(index)
    looked_at = [group for group in firsts if group[0] in costs]
    looked_at.sort(key=lambda group: cost(group[0]))
    for group in looked_at[:kept]:
        for index in group:
            cost(index)
    return [found for _, found in sorted(costs.items()) if found is not None]


def _computed(way: OpenWay) -> Hashable:
    """The state before, and where the Func is computed."""
    return id(way.state.before), way.entry.compute


def _stored(way: OpenWay) -> Hashable:
    """The state before, and where the Func is computed and stored."""
    return _computed(way), way.entry.store


def _grouped(indices: Iterable[int], trait: Callable[[int], Hashable]) -> list[list[int]]:
    """Indices with the same trait together, in the order of the first ones."""
    groups: dict[Hashable, list[int]] = {}
    for index in indices:
        groups.setdefault(trait(index), []).append(index)
    return list(groups.values())
