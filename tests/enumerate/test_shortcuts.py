"""Shortcuts of the stage-by-stage search: it finds the same without them, or hardly cheaper."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, cycle, islice, product

import pytest

import spaces
from bench.cost_quality.random_pipelines import random_pipeline
from spaces.enumerate.search.stagewise import stagewise
from spaces.enumerate.search.stagewise.known_costs import KnownCosts
from spaces.enumerate.search.stagewise.state import OpenWay, PricedWay
from spaces.enumerate.search.stagewise.ways import Ways
from spaces.enumerate.search.structure_distance import is_nearer, strip_factors, structure_distance
from spaces.features.records import FuncFeatures
from spaces.model.memo import Memo
from tests.cpus import FOUR_CORES
from tests.draw_counts import is_thorough

GPU = spaces.device("sm_80")
SMALL = 5
"""How many Funcs a random pipeline has at most."""

QUICK: tuple[tuple[int, spaces.Device], ...] = ((4, FOUR_CORES), (12, FOUR_CORES), (2, GPU))
"""Two random pipelines for which 40 costs follow from others, and one for a GPU."""

PIPELINES = 6
"""How many random pipelines the thorough profile searches."""


def cases() -> Iterator[tuple[spaces.Pipeline, spaces.Device]]:
    """The random pipelines of this run; in the thorough profile the first small ones, for a CPU and
    for a GPU in turns.
    """
    if not is_thorough():
        return ((random_pipeline(number), target) for number, target in QUICK)
    small = (one for one in map(random_pipeline, count()) if len(one.functions) <= SMALL)
    return islice(zip(small, cycle((FOUR_CORES, GPU)), strict=False), PIPELINES)


def costs(first: int = 0) -> list[float]:
    """What a search finds for each pipeline from the first one on, counted from 0."""
    found = []
    for pipeline, target in islice(cases(), first, None):
        space = spaces.ScheduleSpace(pipeline, target)
        found.append(spaces.best(spaces.search(space, strategy="stagewise")).best[0].cost)
    return found


@pytest.fixture(scope="module")
def following() -> list[float]:
    """How many times its price each cost is that follows from others."""
    return []


@pytest.fixture(scope="module")
def with_shortcuts(following: list[float]) -> list[float]:
    follow = KnownCosts._of_other_state

    def compared(self: KnownCosts, way: OpenWay) -> PricedWay | None:
        found = follow(self, way)
        if found is not None:
            price = self.task.prices.price_usual_numbers(self.part, way)
            assert price is not None
            following.append(found.cost / price.cost)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KnownCosts, "_of_other_state", compared)
        return costs()


def test_costs_that_follow_from_others_are_their_prices(
    with_shortcuts: list[float], following: list[float]
) -> None:
    """Nearly: what a Func reads costs a little less or more beside others."""
    assert len(following) >= 30
    assert following == pytest.approx([1.0] * len(following), rel=5e-3)


@pytest.mark.thorough  # it searches all again; the test before compares each cost
def test_costs_that_follow_from_others_change_no_result(
    with_shortcuts: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def price(self: KnownCosts, way: OpenWay) -> PricedWay | None:
        return self.task.prices.price_usual_numbers(self.part, way)

    monkeypatch.setattr(KnownCosts, "__call__", price)
    assert costs() == pytest.approx(with_shortcuts, rel=1e-9)


def assert_hardly_dearer(found: list[float], without: list[float]) -> None:
    """What is found costs no more than without a shortcut, but for a few pipelines a little."""
    ratios = [a / b for a, b in zip(found, without, strict=True)]
    assert max(ratios) <= 1.05
    assert sorted(ratios)[len(ratios) // 2] <= 1.0 + 1e-9


def test_two_phases_miss_little(
    with_shortcuts: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def price_all(ways, kept, price, compared=1.0):
        return [found for way in ways if (found := price(way)) is not None]

    monkeypatch.setattr(stagewise, "price_in_phases", price_all)
    assert_hardly_dearer(with_shortcuts, costs())


def test_ways_without_a_price_miss_little(
    with_shortcuts: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dominated ways, and those of Funcs that are surely inlined."""
    monkeypatch.setattr(Ways, "filter_entries", lambda self, state, names: lambda entry: True)
    monkeypatch.setattr(stagewise, "decide_without_price", lambda *_: None)
    assert_hardly_dearer(with_shortcuts, costs())


def test_what_is_remembered_changes_no_result(
    with_shortcuts: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memo, "find", lambda self, key: None)
    monkeypatch.setattr(FuncFeatures, "known", property(lambda self: {}))
    assert costs(first=1) == with_shortcuts[1:]  # for a CPU and for a GPU


def test_near_structures_are_found_without_a_count() -> None:
    pipeline = random_pipeline(4)
    space = spaces.ScheduleSpace(pipeline, FOUR_CORES)
    found = [strip_factors(schedule) for schedule in islice(space, 6)]
    distances = {structure_distance(one, other) for one, other in product(found, found)}
    assert {0, 1, 2} <= distances
    for one, other, least in product(found, found, range(1, 5)):
        assert is_nearer(one, other, least) == (structure_distance(one, other) < least)
