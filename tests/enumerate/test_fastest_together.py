"""Which schedules are worth timing together."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.errors import PriceErrors, PriceParts
from spaces.cost.model import CostModel
from spaces.enumerate.search.board import REMEMBERED, Board
from spaces.enumerate.search.companions import WORTH, choose_companions
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.fastest_together import choose_faster, choose_together, draw_times
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.features.features import Features
from spaces.model.formulas.symbolic import SymbolicNumber
from spaces.model.writing.text import parse_schedule
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import long_chain

ERRORS = PriceErrors(spread=0.4, reach=0.4, own=0.05)
A, B, C = ("a", 0, "compute"), ("b", 0, "compute"), ("c", 0, "compute")


def test_a_twin_gives_way_to_a_dearer_schedule_that_is_unlike() -> None:
    first, twin, unlike = {A: 10.0}, {A: 10.1}, {B: 11.0}
    assert choose_together(ERRORS, [first, twin, unlike], 2) == [0, 2]
    assert choose_together(ERRORS, [first, twin, unlike], 5) == [0, 2, 1]


def test_a_far_dearer_schedule_gets_no_place() -> None:
    assert choose_together(ERRORS, [{A: 10.0}, {A: 10.1}, {B: 90.0}], 2) == [0, 1]


def test_two_that_must_not_both_be_chosen() -> None:
    prices = [{A: 10.0}, {B: 11.0}, {C: 12.0}]
    alike = np.array([[True, True, False], [True, True, False], [False, False, True]])
    assert choose_together(ERRORS, prices, 3, alike) == [0, 2]


def _expected_least(prices: Sequence[PriceParts], second: int) -> float:
    """The expected logarithm of the lesser of two times (Clark 1961)."""
    covariance = ERRORS.covariance([prices[0], prices[second]])
    one, other = (math.log(sum(prices[place].values())) for place in (0, second))
    width = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    apart, normal = (one - other) / width, NormalDist()
    return one * normal.cdf(-apart) + other * normal.cdf(apart) - width * normal.pdf(apart)


shares = st.dictionaries(st.sampled_from([A, B, C]), st.floats(1, 9), min_size=1)


def test_beside_a_known_time_those_are_chosen_that_may_be_faster() -> None:
    """Of two twins one is worth a run; what is surely slower comes last."""
    logs = np.log([0.89, 0.9, 1.0, 3.0])
    alike = np.array([[1.0, 0.999, 0, 0], [0.999, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1e-6]])
    times = draw_times(logs, 0.01 * alike)
    assert choose_faster(times, 0.0, 2) == [0, 2]
    assert choose_faster(times, 0.0, 9) == [0, 2, 1, 3]
    assert choose_faster(times, math.log(0.5), 0) == []


@given(st.lists(shares, min_size=2, max_size=6), st.lists(st.floats(1, 2), min_size=6, max_size=6))
def test_the_second_has_the_least_expected_time_with_the_first(
    drawn: list[dict[tuple[str, int, str], float]], dearer: list[float]
) -> None:
    scales = [1.0, *dearer]
    prices = [
        {name: scale * part / sum(parts.values()) for name, part in parts.items()}
        for parts, scale in zip(drawn, scales, strict=False)
    ]
    _, second = choose_together(ERRORS, prices, 2)
    least = min(_expected_least(prices, place) for place in range(1, len(prices)))
    assert _expected_least(prices, second) < least + 0.02  # what a thousand draws can tell


@frozen
class Silent:
    """The model ``reuse``, without its errors."""

    model: Reuse
    adds_nests: bool = True

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        return self.model.cost(batch)

    def parts(self, features: Features) -> Mapping[tuple[str, int], Mapping[str, SymbolicNumber]]:
        return self.model.parts(features)


MODEL = Reuse.of(FOUR_CORES)


def _space(stages: int = 4) -> ScheduleSpace:
    return ScheduleSpace(long_chain(stages), FOUR_CORES, Options.medium(FOUR_CORES))


def _pricer(model: CostModel, top: int) -> Pricer:
    return Pricer.of(_space(), model, Limits(top=top))


def test_a_search_hands_over_what_is_expected_to_be_faster_together() -> None:
    space, limits = _space(stages=6), Limits(top=5)
    told = best(search(space, MODEL, "stagewise", limits)).best
    silent = best(search(space, Silent(MODEL), "stagewise", limits)).best
    assert len(told) == len(silent) == 5
    assert told[0] == silent[0] == best(search(space, MODEL, "stagewise")).best[0]
    assert all(one.cost <= other.cost for one, other in pairwise(told))
    assert told[-1].cost <= WORTH * told[0].cost
    pricer = Pricer.of(space, MODEL, Limits(top=1))
    prices = [pricer.read_parts(MODEL, one.schedule) for one in (*told, *silent)]
    covariance = MODEL.errors.covariance(prices)
    means = np.log([one.cost for one in (*told, *silent)])
    times = np.random.default_rng(7).multivariate_normal(means, covariance, 4000)
    assert times[:, :5].min(axis=1).mean() < times[:, 5:].min(axis=1).mean() - 0.005


@cache
def _sample() -> tuple[Found, ...]:
    pricer = _pricer(MODEL, 1)
    drawn = _space().sample(12, seed=1)
    return tuple(Found(pricer.price_schedule(one), one) for one in drawn)


def test_a_board_keeps_what_may_be_fastest() -> None:
    pricer = _pricer(MODEL, 3)
    for found in _sample():
        list(pricer.board.offer(found))
    cheapest = pricer.board.best
    offered = pricer.board.offered_below(WORTH * cheapest[0].cost)
    assert len(offered) > 3
    choose_companions(pricer)
    prices = [pricer.read_parts(MODEL, one.schedule) for one in offered]
    places = sorted(choose_together(MODEL.errors, prices, 3))
    assert pricer.board.best == [offered[place] for place in places]
    assert pricer.board.best[0] == cheapest[0]


def test_of_one_structure_the_cheapest_is_offered() -> None:
    board = Board(Limits(top=2))
    rows = [
        parse_schedule(f"f5.split(x, x, xi, {factor}).vectorize(xi)", long_chain(6))
        for factor in (8, 16, 32)
    ]
    other = parse_schedule("f5.split(y, y, yi, 8).parallel(y)", long_chain(6))
    offered = [
        Found(cost, one) for cost, one in zip((3.0, 2.0, 4.0, 3.5), (*rows, other), strict=True)
    ]
    for found in offered:
        list(board.offer(found))
    assert board.offered_below(5.0) == [offered[1], offered[3]]
    assert board.offered_below(3.0) == [offered[1]]


def test_a_board_remembers_the_cheapest_of_many() -> None:
    board, pipe = Board(Limits(top=2)), long_chain(6)
    costs = list(range(1, 401))
    random.Random(0).shuffle(costs)
    offered = [
        Found(float(cost), parse_schedule(f"f5.split(x, x, xi{cost}, 8)", pipe)) for cost in costs
    ]
    for found in offered:
        list(board.offer(found))
        assert len(board._offered) <= 2 * REMEMBERED
    assert [found.cost for found in board.offered_below(1000)] == list(range(1, REMEMBERED + 1))


def test_a_model_without_errors_keeps_the_cheapest() -> None:
    pricer = _pricer(Silent(MODEL), 3)
    for found in _sample():
        list(pricer.board.offer(found))
    cheapest = pricer.board.best
    choose_companions(pricer)
    assert pricer.board.best == cheapest == sorted(_sample(), key=lambda one: one.cost)[:3]
