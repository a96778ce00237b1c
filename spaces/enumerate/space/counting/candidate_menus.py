"""Menus of Funcs, as counts of candidates need them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from attrs import field, frozen

from spaces.enumerate.space.counting.path_form import NestLoop, PathForm
from spaces.enumerate.space.frontier import ResidualPath, store_depths
from spaces.enumerate.space.patterns.builder import Orders
from spaces.enumerate.space.patterns.menus import FixedMenu, FuncMenu, fits
from spaces.model.schedules.domain_order import DomainOrder, Split
from spaces.model.schedules.parameters import entry_parameters
from spaces.model.schedules.schedule import ROOT, FuncSchedule, LoopLevel

NestLoops: TypeAlias = tuple[NestLoop, ...]
"""Loops of a stage, outermost first."""


@frozen
class NestWays:
    """Ways to nest the loops of a Func.

    Attributes:
        name: unique among those of a Func at a level.
        stages: for each stage, in how many ways its loops are of these kinds. The choices for
            stages are independent.
    """

    name: str
    stages: tuple[Mapping[NestLoops, int], ...] = field(eq=False)


@frozen
class CandidateBlock:
    """A candidate of a Func and of the Funcs that it guides: one of those with the same level and
    nest.

    Attributes:
        at: the level where the Func is computed; None if it is inlined.
        ways: how its loops nest; None if it is inlined.
        index: the index of the candidate among them.
    """

    at: PathForm | None
    ways: NestWays | None
    index: int


@frozen
class CandidateMenu:
    """The menu of a Func that is open.

    Attributes:
        menu: the menu.
        named: the levels that given entries of other Funcs name.
    """

    menu: FuncMenu
    named: frozenset[LoopLevel]

    def levels(self, path: PathForm) -> Iterator[PathForm | None]:
        """The levels where the Func may be computed, without those of the path of its uses; None
        stands for inlining.
        """
        if self.menu.places.inline:
            yield None
        if self.menu.places.root:
            yield path.root

    def ways(self, at: PathForm) -> Iterator[NestWays]:
        """The orders of the Func at a level, one a pattern."""
        if at.outer is None:
            yield from self._root_ways.values()
        else:
            for name, ways in self._inner_ways.items():
                if fits(self.menu.inner[name], at.kinds):
                    yield ways

    def stores(self, at: PathForm) -> int:
        """The number of levels where the Func may be stored if it is computed at a level."""
        return at.stores if self.menu.places.outside and at.outer is not None else 1

    def chosen(
        self, path: ResidualPath, block: CandidateBlock
    ) -> tuple[FuncSchedule, dict[str, int], int]:
        """The entry of a candidate, the numbers of its parameters, and the index that remains.

        Args:
            path: the loops around the uses of the Func.
            block: the block of the candidate.
        """
        menu = self.menu
        if block.at is None or block.ways is None:
            return menu.inlined, {}, block.index
        depth, index, numbers = block.at.depth, block.index, {}
        orders = (menu.inner if depth else menu.root)[block.ways.name]
        index, place = divmod(index, self.stores(block.at))
        store = store_depths(path, depth)[place]
        entry = menu.scheduled(orders, _level(path, depth), _level(path, store))
        for parameter in entry_parameters(entry):
            index, place = divmod(index, len(menu.factors[parameter]))
            numbers[parameter] = menu.factors[parameter][place]
        return entry, numbers, index

    def loops(self, order: DomainOrder) -> NestLoops:
        """The loops of a stage, as forms of paths have them."""
        levels = (LoopLevel(self.menu.function.name, loop.name) for loop in order.loops)
        return tuple(
            (loop.kind, level if level in self.named else None)
            for loop, level in zip(order.loops, levels, strict=True)
        )

    @cached_property
    def _root_ways(self) -> dict[str, NestWays]:
        return {name: self._ways(name, orders) for name, orders in self.menu.root.items()}

    @cached_property
    def _inner_ways(self) -> dict[str, NestWays]:
        return {name: self._ways(name, orders) for name, orders in self.menu.inner.items()}

    def _ways(self, name: str, orders: Orders) -> NestWays:
        return NestWays(name, tuple({self.loops(one): self._choices(one)} for one in orders))

    def _choices(self, order: DomainOrder) -> int:
        """The number of choices of the parameters of a stage."""
        factors = (split.factor for split in order.splits if isinstance(split, Split))
        return math.prod(len(self.menu.factors[one]) for one in factors if isinstance(one, str))


@frozen
class CandidateEntry(CandidateMenu):
    """The menu of a Func with a given entry."""

    entry: FuncSchedule

    def levels(self, path: PathForm) -> Iterator[PathForm | None]:
        """The given compute level, or root if no loop of the path is it; None if it is inlined."""
        compute = self.entry.compute
        if compute.is_inline:
            yield None
        else:
            yield next((at for at in path.levels if at.level == compute), path.root)

    def chosen(
        self, path: ResidualPath, block: CandidateBlock
    ) -> tuple[FuncSchedule, dict[str, int], int]:
        """The given entry."""
        return self.entry, {}, block.index

    def ways(self, at: PathForm) -> Iterator[NestWays]:
        """The given domain orders."""
        yield self._ways("given", self.entry.stages)


def candidate_menus(menus: dict[str, FuncMenu]) -> dict[str, CandidateMenu]:
    """The menus of all Funcs of a pipeline."""
    given = [menu for menu in menus.values() if isinstance(menu, FixedMenu)]
    named = frozenset(menu.entry.compute for menu in given)
    return {
        name: CandidateEntry(menu, named, menu.entry)
        if isinstance(menu, FixedMenu)
        else CandidateMenu(menu, named)
        for name, menu in menus.items()
    }


def _level(path: ResidualPath, depth: int) -> LoopLevel:
    return path[depth - 1].level if depth else ROOT
