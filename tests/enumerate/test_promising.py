"""Ways that look cheap are priced first, and only the cheapest levels with all their loops."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve, frozen

import spaces
from spaces.cost.cpu.reuse import Reuse
from spaces.enumerate.search.board import Limits, Strategy
from spaces.enumerate.search.papers.sampling import HierarchicalSampling
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.promising import priced_in_phases
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay, PricedWay
from spaces.enumerate.search.stagewise.ways import StageDecisions
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import ROOT, LoopLevel
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur
from tests.enumerate.test_wrapping import product
from tests.small_space import small_space


def _decisions(make) -> tuple[StageDecisions, list[HalfDecided], list[str]]:
    """A search in which all Funcs but the first are decided."""
    space = small_space(make(), FOUR_CORES).of_patterns
    pricer = Pricer.of(space, Reuse.of(FOUR_CORES), Limits())
    task = StageDecisions(pricer, 4096, pricer.board.deadline)
    names = [one.name for one in reversed(space.pipeline.functions)]
    states = [task.start()]
    for step in range(1, len(names)):
        part = task.part(states, names[:step])
        ways = [way for state in states for way in task.ways(state, names[:step])]
        priced = [task.legal(part, one) for one in priced_in_phases(ways, 9, _price(task, part))]
        states = [one.chosen for one in sorted(priced, key=lambda one: one.cost)[:3]]
    return task, states, names


def _price(task: StageDecisions, part):
    return lambda way: task.scored(part, way)


def test_only_the_cheapest_levels_are_priced_with_all_loops() -> None:
    task, states, names = _decisions(blur)
    part = task.part(states, names)
    ways = [way for state in states for way in task.ways(state, names)]

    def prices(kept: int) -> tuple[list[PricedWay], list[OpenWay]]:
        asked: list[OpenWay] = []

        def price(way: OpenWay) -> PricedWay | None:
            asked.append(way)
            return task.scored(part, way)

        return priced_in_phases(ways, kept, price), asked

    everything, asked = prices(len(ways))
    assert [one.way for one in everything] == ways
    assert len(asked) == len(ways), "No way is priced twice."
    cheapest = min(one.cost for one in everything)
    levels = {(id(way.state.before), way.entry.compute) for way in ways}
    few = len(prices(1)[0])
    assert len(levels) <= few < len(ways)
    some, asked = prices(2)
    assert few < len(asked) == len(some)
    assert {(id(one.way.state.before), one.way.entry.compute) for one in some} == levels
    assert min(one.cost for one in some) <= 1.1 * cheapest


@frozen
class Entry:
    """A sum at a level, by one of its loop orders; the last one keeps terms in registers."""

    compute: LoopLevel
    order: int
    stages: tuple[int, int] = (0, 1)
    bounds: tuple[str, ...] = ()

    @property
    def store(self) -> LoopLevel:
        return self.compute


def _asked(costs: dict[str, tuple[float, ...]], compared: float) -> list[tuple[str, int]]:
    """The levels and orders of a sum that are priced, first to last, if no level is to be priced
    with all loops. ``costs``: those of each order, by level.
    """
    before = object()
    entries = [
        Entry(ROOT if name == "root" else LoopLevel("out", name), order)
        for name, found in costs.items()
        for order in range(len(found))
    ]
    ways: list[Any] = [
        SimpleNamespace(state=SimpleNamespace(before=before), entry=one) for one in entries
    ]
    asked: list[tuple[str, int]] = []

    def price(way: Any) -> Any:
        name = "root" if way.entry.compute.is_root else way.entry.compute.loop
        asked.append((name, way.entry.order))
        return SimpleNamespace(cost=costs[name][way.entry.order])

    priced_in_phases(ways, 0, price, compared)
    return asked


def test_sums_are_also_priced_with_their_terms_in_registers() -> None:
    """Of each level the last loops, too: at levels of blocks only these are good."""
    asked = _asked({"x": (3.0, 4.0, 5.0), "y": (9.0, 9.0, 1.0)}, compared=1.0)
    assert asked == [("x", 2), ("y", 2), ("y", 0), ("x", 0)]


def test_only_some_levels_of_sums_are_compared_by_their_first_loops() -> None:
    """Those that are cheapest by their last loops."""
    costs = {"x": (1.0, 1.0, 6.0), "y": (9.0, 9.0, 5.0), "z": (9.0, 9.0, 4.0)}
    lasts = [("x", 2), ("y", 2), ("z", 2)]
    assert _asked(costs, compared=1 / 3) == [*lasts, ("z", 0)]
    assert _asked(costs, compared=2 / 3) == [*lasts, ("z", 0), ("y", 0)]


def test_root_is_compared_though_it_looks_dear() -> None:
    asked = _asked({"x": (2.0, 1.0), "root": (7.0, 8.0, 9.0)}, compared=1 / 3)
    assert asked == [("x", 1), ("root", 2), ("x", 0), ("root", 0), ("root", 1)]


@pytest.mark.parametrize("make", [blur, lambda: product(64)], ids=["blur", "product"])
def test_root_is_priced_with_all_loops_though_it_looks_dear(make: Callable[[], Pipeline]) -> None:
    """It begins a nest: what its tiles are worth shows when the Funcs in them are decided."""
    task, states, names = _decisions(make)
    part = task.part(states, names)
    ways = [way for state in states for way in task.ways(state, names)]
    at_root = [way for way in ways if way.entry.compute.is_root]
    assert len(at_root) > len(states)
    asked: list[OpenWay] = []

    def price(way: OpenWay) -> PricedWay | None:
        asked.append(way)
        found = task.scored(part, way)
        if found is None or not way.entry.compute.is_root:
            return found
        return evolve(found, costs=1e3 * found.costs)

    priced_in_phases(ways, 0, price, compared=0.3)
    assert {id(way) for way in at_root} <= {id(way) for way in asked}


def test_ways_without_a_loop_nest_are_left_out() -> None:
    task, states, names = _decisions(blur)
    part = task.part(states, names)
    ways = [way for state in states for way in task.ways(state, names)]
    inside = priced_in_phases(
        ways, 4, lambda way: None if way.entry.compute.is_root else task.scored(part, way)
    )
    assert inside
    assert not any(one.way.entry.compute.is_root for one in inside)
    assert priced_in_phases(ways, 4, lambda way: None) == []
    assert priced_in_phases([], 4, _price(task, part)) == []


@pytest.mark.parametrize(
    "strategy",
    [Stagewise(width=1), HierarchicalSampling(width=1, passes=1)],
    ids=["beam", "samples"],
)
def test_schedules_that_are_illegal_as_a_whole_are_searched_for_again(
    strategy: Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nests are priced one by one first; if the whole is illegal, whole schedules are judged."""
    judged: list[bool] = []

    def refused(task: StageDecisions, state: HalfDecided) -> HalfDecided:
        judged.append(task.pricer.adds_nests)
        cost = float("inf") if judged[-1] else state.cost
        return HalfDecided(state.partial, state.numbers, cost)

    monkeypatch.setattr(StageDecisions, "exact", refused)
    space = small_space(blur(), FOUR_CORES)
    (found,) = spaces.best(spaces.search(space, "reuse", strategy)).best
    assert judged == [True, False, False]  # the last time after its numbers were chosen again
    assert spaces.verify(space.pipeline, found.schedule, space.device)
