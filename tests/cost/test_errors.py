"""How alike the errors of two prices are, and the chance that the dearer schedule is faster."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.cost.cpu.fitted_errors import ERRORS
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.errors import PriceErrors, PriceParts
from spaces.cost.model import UncertainModel
from spaces.cost.simple.weighted import Weighted
from tests.cpus import FOUR_CORES

EXACT = PriceErrors(spread=0.5, reach=2.0, own=0.1)
A, B, C = ("a", 0, "compute"), ("b", 0, "compute"), ("a", 0, "from_memory")

prices = st.dictionaries(st.sampled_from([A, B, C]), st.floats(1e-3, 1e9), min_size=1, max_size=3)


def test_a_price_has_the_spread_and_its_own_error() -> None:
    covariance = EXACT.covariance([{A: 3.0, B: 1.0}, {C: 7.0}])
    assert covariance == pytest.approx(np.array([[0.26, 0.0], [0.0, 0.26]]))


@pytest.mark.parametrize("name", ["spread", "reach", "own"])
@pytest.mark.parametrize("wrong", [0.0, -1.0, math.inf, math.nan, "much"])
def test_errors_are_positive_numbers(name: str, wrong: object) -> None:
    given: dict[str, Any] = {"spread": 0.5, "reach": 2.0, "own": 0.1, name: wrong}
    with pytest.raises(ValueError, match=rf"PriceErrors\.{name} is .*; it must be a positive"):
        PriceErrors(**given)


def test_equal_parts_have_one_error() -> None:
    covariance = EXACT.covariance([{A: 3.0, B: 1.0}, {B: 1.0, A: 3.0}])
    assert covariance[0, 1] == pytest.approx(0.25)


def test_the_error_of_a_part_changes_with_its_cost_and_weighs_as_its_share() -> None:
    first, second = {A: 9.0, B: 1.0}, {A: 9.0, B: 9.0, C: 18.0}
    by_hand = 0.25 * (
        math.sqrt(0.9 * 0.25) * 1.0 + math.sqrt(0.1 * 0.25) * math.exp(-math.log(9) / 2.0)
    )
    assert EXACT.covariance([first, second])[0, 1] == pytest.approx(by_hand)


@given(st.lists(prices, min_size=1, max_size=6), st.floats(0.01, 100))
def test_some_error_has_each_covariance_whatever_the_unit(
    found: list[PriceParts], unit: float
) -> None:
    covariance = EXACT.covariance(found)
    assert np.linalg.eigvalsh(covariance).min() > 0.009  # own² less rounding
    scaled = [{name: unit * cost for name, cost in parts.items()} for parts in found]
    assert EXACT.covariance(scaled) == pytest.approx(covariance)


def test_the_chance_depends_on_price_and_likeness() -> None:
    first = {A: 100.0}
    assert EXACT.chance_of_second(first, first) == 0.5
    dearer, unlike = {A: 130.0}, {B: 130.0}
    # The errors of parts that share nothing: 0.2624 / √(2 · 0.26) = 0.3638 deviations.
    assert EXACT.chance_of_second(first, unlike) == pytest.approx(0.3580, abs=1e-4)
    assert EXACT.chance_of_second(first, dearer) < 0.3
    assert EXACT.chance_of_second(unlike, first) == pytest.approx(1 - 0.3580, abs=1e-4)


def test_which_models_know_their_errors() -> None:
    assert isinstance(Reuse.of(FOUR_CORES), UncertainModel)
    assert Reuse.of(FOUR_CORES).errors == ERRORS
    assert not isinstance(Weighted(), UncertainModel)
