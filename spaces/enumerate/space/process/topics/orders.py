"""Decisions about the domain orders of a Func: one of some patterns, or loop by loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from types import EllipsisType

from attrs import frozen

from spaces.constraints.devices.device import Device
from spaces.enumerate.space.atomic_stages import atomic_stages
from spaces.enumerate.space.frontier import ResidualPath, depth_of
from spaces.enumerate.space.further_sizes import FurtherSize
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.patterns.builder import Orders
from spaces.enumerate.space.patterns.menus import FuncMenu, fits, func_menus
from spaces.enumerate.space.process.decision import Claims, DecisionOption
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topic import Change, Topic
from spaces.enumerate.space.process.topics.nests import NestsTopic
from spaces.enumerate.space.process.topics.ordering import (
    AtomicTopic,
    LoopsMaker,
    LoopsTopic,
    SplitsTopic,
)
from spaces.enumerate.space.process.topics.specializing import CaseTopic
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.nest.canonical import Origins, order_parts
from spaces.model.schedules.domain_order import Split
from spaces.model.schedules.order_of import OrderOf
from spaces.model.schedules.parameters import entry_parameters
from spaces.model.schedules.schedule import FuncSchedule, Schedule, StageOf

_TOPICS: Mapping[str, LoopsMaker] = {"nests": NestsTopic, "loops": LoopsTopic}


@frozen
class OrderTopic:
    """The domain orders of the stages of a Func whose placement is decided."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} order"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        entry = state.entry
        names = state.choices.root if entry.compute.is_root else state.choices.inner
        for name in names:
            if name in _TOPICS:
                stages = (StageOf(self.func, index) for index in range(len(entry.stages)))
                topics = (_loop_by_loop(stage, _TOPICS[name]) for stage in stages)
                yield DecisionOption("loop by loop", {}, state.then(*chain(*topics)))
                return
        path = state.frontier.path(self.func)
        around = path[: depth_of(path, entry.compute)]
        for name, orders in fitting(state, self.func, around, entry.compute.is_root).items():
            yield self._pattern(state, name, orders)

    def decisions(self, start: ProcessState) -> Mapping[str, Mapping[str, Change]]:
        """The patterns at root, and those at a loop."""
        menu = menu_of(start, self.func)

        def changes(known: Mapping[str, Orders], *, at_root: bool) -> dict[str, Change]:
            return {name: _Ordered(menu, orders, at_root) for name, orders in known.items()}

        return {
            f"{self.func}.root": changes(menu.root, at_root=True),
            f"{self.func}.inner": changes(menu.inner, at_root=False),
        }

    def _pattern(self, state: ProcessState, name: str, orders: Orders) -> DecisionOption:
        menu = menu_of(state, self.func)

        def ordered(state: ProcessState) -> ProcessState:
            entry = menu.scheduled(orders, state.entry.compute, state.entry.store)
            factors = {one: menu.factors[one] for one in entry_parameters(entry)}
            return state.replace(draft=entry, menus={**state.menus, **factors})

        label, claims = f"{self.func} in {name}", _claims(menu.function, orders)
        return DecisionOption(label, claims, state, change=ordered)


@frozen
class _Ordered:
    """Gives an entry the orders of a pattern if it is computed at root, or at a loop."""

    menu: FuncMenu
    orders: Orders
    at_root: bool

    def __call__(self, entry: FuncSchedule) -> FuncSchedule:
        if entry.compute.is_root != self.at_root:
            return entry
        return self.menu.scheduled(self.orders, entry.compute, entry.store)


def every_orders(start: ProcessState, func: str) -> Iterator[Orders]:
    """All domain orders of the stages that a Func may have, given or by patterns."""
    given = next((entry for entry in start.given if entry.name == func), None)
    if given is not None:
        yield given.stages
        return
    menu = menu_of(start, func)
    yield from (*menu.root.values(), *menu.inner.values())


def _loop_by_loop(stage: StageOf, order: LoopsMaker) -> Iterator[Topic]:
    """What is decided about the loops of one stage."""
    yield AtomicTopic(stage)
    yield SplitsTopic(OrderOf(stage), order)
    yield CaseTopic(stage, order)


def fitting(
    state: ProcessState, func: str, around: ResidualPath, at_root: bool
) -> dict[str, Orders]:
    """The domain orders of a Func by pattern, at root or inside the loops ``around``."""
    menu = menu_of(state, func)
    if at_root:
        return dict(menu.root)
    kinds = {step.kind for step in around}
    return {name: orders for name, orders in menu.inner.items() if fits(orders, kinds)}


def menu_of(state: ProcessState, func: str) -> FuncMenu:
    """The patterns of a Func."""
    return _menus(state.pipeline, state.device, state.choices, state.further)[func]


@lru_cache(maxsize=16)
def _menus(
    pipeline: Pipeline, device: Device, options: Options, sizes: tuple[FurtherSize, ...]
) -> dict[str, FuncMenu]:
    return func_menus(pipeline, device, options, Schedule(()), sizes)


@lru_cache(maxsize=4096)
def _claims(function: Function, orders: Orders) -> Claims:
    """The parts of a form that whole domain orders decide; factors come later. They are the same
    wherever the Func is computed and stored.
    """
    claims: dict[str, str | int | EllipsisType | None] = {}
    atomic = atomic_stages(function, orders)
    for index, order in enumerate(orders):
        stage = OrderOf(StageOf(function.name, index))
        claims[AtomicTopic(stage.stage).name] = 1 if index in atomic else None
        origins = Origins.of(order, function.stages[index].dimensions)
        claims |= {f"{stage} tail {origin}": None for origin in origins.taken}
        claims |= dict(order_parts(stage, function, order))
        made = zip(order.splits, origins.taken, strict=True)
        splits = [origin for record, origin in made if isinstance(record, Split)]
        claims |= {f"{stage} factor {origin}": ... for origin in splits}
        names = [origins[loop] for loop in order.names]
        claims |= {f"{stage} loop {number}": loop for number, loop in enumerate(names)}
        claims[f"{stage} loop {len(names)}"] = None
    return claims
