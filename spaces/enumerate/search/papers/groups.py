"""Groups of stages: what a search by merging decides about them, and their prices.

A group is a Func at root, its output, and the Funcs that are computed at the tiles of the output.
Its price is that of a pipeline of its own, which reads all other Funcs as images. So the price of a
group depends on no other group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from attrs import field, frozen

from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.decided_part import may_stand_alone, part_alone
from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.frontier import Frontier, ResidualPath, open_depths
from spaces.enumerate.space.patterns.builder import Orders
from spaces.enumerate.space.patterns.menus import FuncMenu, fits
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import ask_clock
from spaces.model.formulas.symbolic import as_array
from spaces.model.schedules.domain_order import LoopKind, Split
from spaces.model.schedules.parameters import bind, entry_parameters
from spaces.model.schedules.schedule import ROOT, FuncSchedule, LoopLevel, Schedule

LATTICE = 4096
"""The most choices of tile sizes that are scored at once."""

LONG = 64
"""[S20 4.2]: the smallest extent whose tiles have at least 8 values along it."""

VERY_LONG = 1024
"""[S20 4.2]: the smallest extent that is divided into at least 32 tiles, or 128 if alone."""


@frozen
class StageGroup:
    """Funcs that share the tiles of one of them.

    Attributes:
        output: the Func at root, the only one that other groups read.
        members: the others, computed at its tiles.
        inlined: the Funcs that are inlined into the group.
        nested: the members that are computed in the threads of their only reader [S20 4.3].
    """

    output: str
    members: frozenset[str] = frozenset()
    inlined: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()

    @property
    def computed(self) -> frozenset[str]:
        """The output and the members."""
        return self.members | {self.output}


@frozen
class PricedGroup:
    """A group with its cheapest legal schedule.

    Attributes:
        cost: the cost, infinite if no choice is legal.
        entries: the entries of the output and the members, without parameters.
    """

    cost: float
    entries: tuple[FuncSchedule, ...] = ()


@frozen
class GroupPrices:
    """The prices of groups in a space of whole patterns; each group is priced once."""

    pricer: Pricer
    _known: dict[StageGroup, PricedGroup] = field(init=False, factory=dict)

    @property
    def space(self) -> ScheduleSpace:
        """The space of the search."""
        return self.pricer.space

    def of(self, group: StageGroup) -> PricedGroup:
        """The group with its cheapest legal schedule.

        Raises:
            OutOfTime: the time limit, or the limit of structures, is reached.
        """
        if group not in self._known:
            self._known[group] = self._price(group)
        return self._known[group]

    def known(self, group: StageGroup) -> PricedGroup | None:
        """The group with its cheapest legal schedule, if it is priced already."""
        return self._known.get(group)

    def evaluations(self, group: StageGroup, func: str) -> float:
        """How often the group evaluates the stages of a Func, values computed twice included; the
        group has a legal schedule.
        """
        entries = {entry.name: entry for entry in self.of(group).entries}
        entries |= {name: self.space.menus[name].inlined for name in group.inlined}
        part = _part_of(self.space.pipeline, group)
        schedule = Schedule(tuple(entries[function.name] for function in part.functions))
        features = self.pricer.read_features(Structure(schedule, {}), part)
        assert features is not None
        return sum(float(as_array(stage.points)) for stage in features.stages if stage.func == func)

    def cost(self, group: StageGroup) -> float:
        """The cost of the group."""
        return self.of(group).cost

    def _price(self, group: StageGroup) -> PricedGroup:
        best = PricedGroup(math.inf)
        if not may_stand_alone(self.space.pipeline, group.output):
            return best  # a Param without a value decides about its size
        part = _part_of(self.space.pipeline, group)
        for entries in self._list_structures(group):
            ask_clock()
            self.pricer.board.considered += 1
            found = self._choose_tiles(part, group, entries)
            if found.cost < best.cost:
                best = found
        return best

    def _list_structures(self, group: StageGroup) -> Iterator[tuple[FuncSchedule, ...]]:
        """The entries of the group's Funcs, producers first, one for each pattern of the output."""
        menu = self.space.menus[group.output]
        is_given = group.output in {entry.name for entry in self.space.kept.funcs}
        if not (menu.places.root or is_given):
            return
        for orders in menu.root.values():
            given = getattr(menu, "entry", None)
            output = given or menu.scheduled(orders, ROOT, ROOT)
            entries = self._place_members(group, output)
            if entries is not None:
                yield entries

    def _place_members(
        self, group: StageGroup, output: FuncSchedule
    ) -> tuple[FuncSchedule, ...] | None:
        """The entries of the group's Funcs; None if a member cannot be at the tiles."""
        pipeline, menus = self.space.pipeline, self.space.menus
        frontier = Frontier({})
        entries: list[FuncSchedule] = []
        for function in reversed(pipeline.functions):
            name = function.name
            if name == group.output:
                entry: FuncSchedule | None = output
            elif name in group.inlined:
                entry = menus[name].inlined
            elif name in group.members:
                path = frontier.path(name)
                depth = thread_depth(path) if name in group.nested else tile_depth(path, output)
                entry = _member(menus[name], path[:depth]) if depth in open_depths(path) else None
            else:
                continue
            if entry is None:
                return None
            frontier = frontier.after(function, entry)
            entries.insert(0, entry)
        return tuple(entries)

    def _choose_tiles(
        self, part: Pipeline, group: StageGroup, entries: tuple[FuncSchedule, ...]
    ) -> PricedGroup:
        """The group with the cheapest legal tile sizes of its output. Members have the first number
        of each of their menus.
        """
        menus = self._menus(entries)
        output = next(entry for entry in entries if entry.name == group.output)
        numbers = {name: menu[0] for name, menu in menus.items()}
        searched = {name: menus[name] for name in entry_parameters(output)}
        searched = {name: self._limit_tiles(output, name, menu) for name, menu in searched.items()}
        numbers |= {name: menu[len(menu) // 2] for name, menu in searched.items()}
        cost = math.inf
        for chunk in _chunks(searched):
            fixed = {name: number for name, number in numbers.items() if name not in chunk}
            structure = Structure(bind(Schedule(entries), fixed), chunk)
            costs = self.pricer.price_structure(structure, part)
            costs = self.pricer.keep_legal(structure, costs, part)
            index = int(np.argmin(costs))
            cost = float(costs.flat[index])
            numbers |= structure.numbers(index)
        if not math.isfinite(cost):
            return PricedGroup(math.inf)
        chosen = bind(Schedule(entries), numbers).funcs
        return PricedGroup(cost, tuple(one for one in chosen if one.name in group.computed))

    def _menus(self, entries: tuple[FuncSchedule, ...]) -> dict[str, tuple[int, ...]]:
        """The menu of each parameter."""
        return {
            name: self.space.menus[entry.name].factors[name]
            for entry in entries
            for name in entry_parameters(entry)
        }

    def _limit_tiles(
        self, output: FuncSchedule, parameter: str, menu: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The tile sizes of a menu between T_min and T_max on a GPU; all if none is [S20 4.2]."""
        if not self.pricer.is_gpu:
            return menu
        for order in output.stages:
            tiled = [one for one in order.splits if isinstance(one, Split)]
            for split in tiled:
                extent = sizes_of(self.space.pipeline).extent(output.name, split.old)
                if split.factor == parameter and extent is not None:
                    least, most = tile_limits(extent, len(tiled))
                    return tuple(size for size in menu if least <= size <= most) or menu
        return menu


def tile_limits(extent: int, tiled: int) -> tuple[int, int]:
    """T_min and T_max of [S20 4.2].

    Args:
        extent: the extent of the dimension.
        tiled: the number of dimensions that have tiles.
    """
    least = 8 if extent >= LONG else 2
    if extent < VERY_LONG:
        return least, extent // 2
    return least, extent // (128 if tiled == 1 else 32)


def tile_depth(path: ResidualPath, output: FuncSchedule) -> int:
    """How many loops come before the first one inside a tile, on the path of a member of a group
    with this output. 0 if the path ends before that.
    """
    inner = {one.inner for order in output.stages for one in order.splits if isinstance(one, Split)}
    loops = [step for step in path if step.func == output.name]
    if not loops:
        return 0
    order = output.stages[loops[0].stage]
    depth = next((i for i, loop in enumerate(order.loops) if loop.name in inner), 0)
    return depth if depth <= len(loops) else 0


def thread_depth(path: ResidualPath) -> int:
    """The depth inside the innermost loop over threads; 0 without threads."""
    return max((i for i, p in enumerate(path, 1) if p.kind is LoopKind.GPU_THREAD), default=0)


def _member(menu: FuncMenu, around: ResidualPath) -> FuncSchedule | None:
    """The entry of a member inside some loops, in the first pattern that fits."""
    given: FuncSchedule | None = getattr(menu, "entry", None)
    if given is not None:
        return given
    kinds = {step.kind for step in around}
    orders: Orders | None = next((one for one in menu.inner.values() if fits(one, kinds)), None)
    if orders is None or not menu.places.at:
        return None
    level: LoopLevel = around[-1].level
    return FuncSchedule(menu.function.name, orders, level, level)


def _part_of(pipeline: Pipeline, group: StageGroup) -> Pipeline:
    """The pipeline of a group alone."""
    return part_alone(pipeline, group.computed | group.inlined, frozenset({group.output}))


def _chunks(menus: Mapping[str, tuple[int, ...]]) -> Iterator[dict[str, tuple[int, ...]]]:
    """The menus in parts of at most :data:`LATTICE` choices each; at least one part."""
    chunk: dict[str, tuple[int, ...]] = {}
    for name, menu in menus.items():
        if chunk and math.prod(map(len, chunk.values())) * len(menu) > LATTICE:
            yield chunk
            chunk = {}
        chunk[name] = menu
    yield chunk
