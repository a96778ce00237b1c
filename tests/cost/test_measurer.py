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
    assert found.interval == pytest.approx((1.4805, 2.3400), abs=1e-3)


def test_what_has_no_times_is_infinitely_slow() -> None:
    found = Measurement(Schedule(()), RunOutcome.HUNG, "It did not answer within 1 s.")
    assert not found.is_correct
    assert found.ratio == found.median_seconds == math.inf
    assert found.interval == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("count", "first", "last"),
    [(6, 1, 6), (9, 2, 8), (15, 4, 12), (20, 6, 15), (30, 10, 21)],
)
def test_intervals_by_the_sign_test(count: int, first: int, last: int) -> None:
    """The places that tables of the sign test give for 95 %."""
    values = [float(number) for number in range(count, 0, -1)]
    assert interval_of_median(values) == (first, last)


def test_few_values_say_little() -> None:
    """Two logarithms that lie 0.2 apart: 12.706 times 0.1 around their mean."""
    assert interval_of_median([0.5]) == (0.0, math.inf)
    low, high = interval_of_median([math.exp(0.2), 1.0])
    assert (math.log(low), math.log(high)) == pytest.approx((0.1 - 1.2706, 0.1 + 1.2706), abs=1e-4)
    assert interval_of_median([1e-3, 1e3])[1] < math.inf


def test_half_of_all_medians_lie_between_two_values() -> None:
    """Both values lie on the same side of it in one of two cases."""
    assert interval_of_median([3.0, 1.0], confidence=0.5) == (1.0, 3.0)


@pytest.mark.parametrize("count", [2, 3, 5, 6, 15])
@pytest.mark.parametrize("spikes", [0.0, 0.2])
def test_intervals_hold_as_often_as_they_say(count: int, spikes: float) -> None:
    """Ratios of times with noise of 10 %; some runs of both take half as long again and more."""
    chosen = random.Random(count)

    def run() -> float:
        longer = 1 + chosen.expovariate(2.0) if chosen.random() < spikes else 1.0
        return longer * chosen.lognormvariate(0, 0.1)

    held = 0
    for _ in range(1000):
        low, high = interval_of_median([run() / run() for _ in range(count)])
        held += low <= 1 <= high
    assert held >= 935  # two standard errors below 95 %


def test_further_runs_count_with_the_first() -> None:
    first = Measurement(Schedule(()), RunOutcome.CORRECT, "", (2.0,), (1.0,), 0.1, others=0.05)
    again = Measurement(Schedule(()), RunOutcome.CORRECT, "", (3.0,), (2.0,), 0.3, others=0.4)
    both = first.with_runs_of(again)
    assert (both.ratios, both.compile_seconds, both.others) == ((2.0, 1.5), 0.1, 0.4)


@pytest.mark.parametrize(
    ("others", "reference", "is_disturbed"),
    [
        (0.05, (1.0, 1.02, 1.0, 0.98), False),
        (0.3, (1.0, 1.0, 1.0, 1.0), True),
        (0.0, (1.0, 1.5, 1.0, 0.7), True),
        (0.0, (1.0, 9.0, 1.0, 1.0), False),  # one run says nothing
    ],
)
def test_results_of_a_busy_machine_are_marked(
    others: float, reference: tuple[float, ...], is_disturbed: bool
) -> None:
    found = Measurement(Schedule(()), RunOutcome.CORRECT, "", (1.0,) * 4, reference, others=others)
    assert found.is_disturbed is is_disturbed
    assert ("disturbed" in str(found)) is is_disturbed
