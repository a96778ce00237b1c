"""Ways that look cheap are priced first, and only the cheapest levels with all their loops."""

from __future__ import annotations

from math import ceil, inf

import pytest
from attrs import evolve

import spaces
from spaces.cost.reuse import Reuse
from spaces.enumerate.board import Board, Limits, Strategy
from spaces.enumerate.half_decided import HalfDecided, OpenWay, PricedWay
from spaces.enumerate.promising import priced_in_phases
from spaces.enumerate.sampling import HierarchicalSampling
from spaces.enumerate.stage_decisions import StageDecisions
from spaces.enumerate.stagewise import Stagewise
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur
from tests.enumerate.test_wrapping import product
from tests.small_space import small_space


def _decisions(make) -> tuple[StageDecisions, list[HalfDecided], list[str]]:
    """A search in which all Funcs but the first are decided."""
    space = small_space(make(), FOUR_CORES).of_patterns
    board = Board(Limits())
    task = StageDecisions(space, Reuse.of(FOUR_CORES), board, 4096, board.deadline)
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


def test_sums_are_also_priced_with_their_terms_in_registers() -> None:
    """Of each level the last loops, too: at levels of blocks only these are good."""
    asked, levels = _asked_for_a_product(compared=1.0)
    assert {id(way) for way, _ in asked} == {
        id(way) for level in levels for way in (level[0], level[-1])
    }
    assert any(len(level) > 1 for level in levels)


def test_only_some_levels_of_sums_are_compared_by_their_first_loops() -> None:
    """Those that are cheapest by their last loops."""
    asked, levels = _asked_for_a_product(compared=0.8)
    lasts = [id(level[-1]) for level in levels]
    assert sorted(id(way) for way, _ in asked[: len(levels)]) == sorted(lasts)
    cost = {id(way): cost for way, cost in asked}
    levels.sort(key=lambda level: cost[id(level[-1])])
    count = ceil(len(levels) * 0.8)
    compared, others = levels[:count], levels[count:]
    assert {*cost} == {*lasts, *(id(level[0]) for level in compared)}
    for some in (compared, others):
        assert any(len(level) > 1 for level in some)


def _asked_for_a_product(
    compared: float,
) -> tuple[list[tuple[OpenWay, float]], list[list[OpenWay]]]:
    """The ways to decide a product that are priced first, with their costs, and those of each
    compute level with the widest store level.
    """
    task, states, names = _decisions(lambda: product(64))
    part = task.part(states, names)
    ways = [way for state in states for way in task.ways(state, names)]
    asked: list[tuple[OpenWay, float]] = []

    def price(way: OpenWay) -> PricedWay | None:
        found = task.scored(part, way)
        asked.append((way, inf if found is None else found.cost))
        return found

    priced_in_phases(ways, 0, price, compared)
    levels: dict[object, list[OpenWay]] = {}
    for way in ways:
        levels.setdefault((id(way.state.before), way.entry.compute), []).append(way)
    return asked, [
        [one for one in level if one.entry.store == level[-1].entry.store]
        for level in levels.values()
    ]


def test_the_outermost_level_is_priced_with_all_loops_though_it_looks_dear() -> None:
    """Only there tiles of its own shape can be chosen, for what is read in them."""
    task, states, names = _decisions(blur)
    part = task.part(states, names)
    ways = [way for state in states for way in task.ways(state, names)]
    outermost = [way for way in ways if way.entry.compute.is_root]
    assert len(outermost) > len(states)
    asked: list[OpenWay] = []

    def price(way: OpenWay) -> PricedWay | None:
        asked.append(way)
        found = task.scored(part, way)
        if found is None or not way.entry.compute.is_root:
            return found
        return evolve(found, costs=1e3 * found.costs)

    priced_in_phases(ways, 1, price)
    assert {id(way) for way in outermost} <= {id(way) for way in asked}
    assert len(asked) < len(ways)


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
        judged.append(isinstance(task.model, Reuse))
        cost = float("inf") if judged[-1] else state.cost
        return HalfDecided(state.partial, state.numbers, cost)

    monkeypatch.setattr(StageDecisions, "exact", refused)
    space = small_space(blur(), FOUR_CORES)
    (found,) = spaces.best(spaces.search(space, "reuse", strategy)).best
    assert judged == [True, False, False]  # the last time after its numbers were chosen again
    assert spaces.verify(space.pipeline, found.schedule, space.device)
