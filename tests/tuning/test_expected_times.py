"""What results tell about the times of other schedules, where the model knows its errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spaces.cost.errors import PriceErrors
from spaces.tuning.expected_times import EFFECT, ExpectedTimes, PricedParts

ERRORS = PriceErrors(spread=0.3, reach=0.2, own=0.1)

TOLD = 0.09 / (0.09 + 0.01)
"""The part of the error of a price that its parts make: a result tells another one with them."""


def priced(*parts: str, **price: float) -> PricedParts:
    """A schedule whose Funcs cost so much."""
    return PricedParts(
        {(func, 0, "compute"): cost for func, cost in price.items()},
        tuple((part, "is so") for part in parts),
    )


def test_without_results_a_time_is_a_price() -> None:
    others = [priced(a=10.0), priced(a=5.0, b=15.0)]
    logs, covariance = ExpectedTimes.fit(ERRORS, [], []).expect(others)
    assert logs == pytest.approx([math.log(10), math.log(20)])
    assert covariance == pytest.approx(ERRORS.covariance([one.price for one in others]))


def test_a_result_tells_the_error_of_the_parts_that_its_price_has() -> None:
    """Two prices are equal, and one takes twice as long: one of them errs by less than all prices
    do, the other one by more.
    """
    times = ExpectedTimes.fit(ERRORS, [priced(a=10.0), priced(b=10.0)], [1.0, 2.0])
    logs, covariance = times.expect(
        [priced(a=10.0), priced(b=10.0), priced(c=10.0), priced(a=40.0)]
    )
    middle, away = math.log(2) / 2, math.log(2) / 2 * TOLD
    near = math.exp(-math.log(4) / 0.2)  # how alike the errors of a part at four times as much are
    assert logs == pytest.approx(
        [middle - away, middle + away, middle, math.log(4) + middle - away * near]
    )
    assert np.diag(covariance)[:3] == pytest.approx([0.1 - 0.09 * TOLD] * 2 + [0.1])
    assert covariance[0, 1] == pytest.approx(0.0)


def test_a_result_tells_the_effect_of_the_parts_of_a_schedule() -> None:
    """All prices are of other Funcs. Of four schedules those with a part are slower."""
    known = [priced("vector", a=9.0), priced(b=9.0), priced("vector", c=9.0), priced(d=9.0)]
    times = ExpectedTimes.fit(ERRORS, known, [2.0, 1.0, 2.0, 1.0])
    logs, _ = times.expect([priced("vector", e=9.0), priced(f=9.0), priced("other", g=9.0)])
    # Each half has the effect +-1/2; the error of a known time has the variance 0.1.
    effect = math.log(2) / 2 * EFFECT**2 / (EFFECT**2 + 0.1)
    middle = math.log(2) / 2
    assert logs == pytest.approx([middle + effect, middle - effect, middle - effect])


def test_what_all_results_share_is_no_error_of_one() -> None:
    """All take as long as priced, in another unit."""
    times = ExpectedTimes.fit(ERRORS, [priced(a=3.0), priced(a=2.0, b=4.0)], [6.0, 12.0])
    logs, _ = times.expect([priced(a=5.0), priced(c=7.0)])
    assert logs == pytest.approx([math.log(10), math.log(14)])
