"""Numbers that assignments pick for variables."""

from __future__ import annotations

import pytest

from spaces.model.formulas.samples import PICKS, lowest

LIMITS = [(None, None), (3, None), (-7, None), (None, 4), (None, -5), (2, 2), (-3, 9)]


@pytest.mark.parametrize("pick", [*PICKS, lowest], ids=lambda pick: str(pick.__name__))
@pytest.mark.parametrize(("low", "high"), LIMITS)
def test_stays_within_the_limits(pick, low, high):
    for seed in (-12345, -1, 0, 1, 98765):
        number = pick(low, high, seed)
        assert low is None or number >= low
        assert high is None or number <= high


def test_lowest_is_far_below_zero_and_below_the_upper_limit():
    assert lowest(None, None, 0) < -1000
    assert lowest(None, -5, 0) < -1000
    assert lowest(None, 4000, 0) < -1000
    assert lowest(6, 4000, 0) == 6
