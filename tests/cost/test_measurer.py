"""Measurements: ratios to the reference, and how sure they are."""

from __future__ import annotations

import math
import random

import pytest

from spaces.cost.measurer import Measurement, RunOutcome, interval_of_median
from spaces.model.schedules.schedule import Schedule


def test_ratios_are_taken_round_by_round() -> None:
    """The machine is ten times slower in the last two rounds."""
    found = Measurement(
        Schedule(()), RunOutcome.CORRECT, "", (2.0, 4.0, 40.0, 30.0), (1.0, 2.0, 20.0, 20.0), 0.1
    )
    assert found.ratios == (2.0, 2.0, 2.0, 1.5)
    assert found.ratio == 2.0
    assert found.median_seconds == 17.0
    assert found.interval == (1.5, 2.0)


def test_what_has_no_times_is_infinitely_slow() -> None:
    found = Measurement(Schedule(()), RunOutcome.HUNG, "It did not answer within 1 s.")
    assert not found.is_correct
    assert found.ratio == found.median_seconds == math.inf
    assert found.interval == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("count", "first", "last"),
    [(1, 1, 1), (5, 1, 5), (6, 1, 6), (9, 2, 8), (15, 4, 12), (20, 6, 15), (30, 10, 21)],
)
def test_intervals_by_the_sign_test(count: int, first: int, last: int) -> None:
    """The places that tables of the sign test give for 95 %."""
    values = [float(number) for number in range(count, 0, -1)]
    assert interval_of_median(values) == (first, last)


def test_intervals_hold_as_often_as_they_say() -> None:
    chosen = random.Random(1)
    held = 0
    for _ in range(1000):
        low, high = interval_of_median([chosen.lognormvariate(0, 1) for _ in range(15)])
        held += low <= 1 <= high
    assert 940 <= held <= 990  # 96.5 % of all draws
