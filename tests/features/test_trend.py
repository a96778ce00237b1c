"""Which way formulas go, against their values."""

from __future__ import annotations

import itertools

import pytest

from spaces.enumerate.space.restrictions.text import parse_restriction
from spaces.features.trend import Trend, trend
from spaces.model.formulas.algebra import evaluate

TRENDS = {"parallel_tasks": Trend.FALLS, "total_bytes": Trend.RISES}
KNOWN = {
    "parallel_tasks >= 3": Trend.FALLS,
    "total_bytes <= 3": Trend.FALLS,
    "not total_bytes > 3": Trend.FALLS,
    "2 * parallel_tasks - total_bytes / 2 > 1": Trend.FALLS,
    "parallel_tasks >= 2 and total_bytes < 3": Trend.FALLS,
    "min(parallel_tasks, 2) >= max(total_bytes, cores)": Trend.FALLS,
    "total_bytes * -1 >= cores - parallel_tasks": Trend.ANY,
    "parallel_tasks <= cores": Trend.RISES,
    "parallel_tasks + total_bytes >= 3": Trend.ANY,
    "parallel_tasks % 2 == 0": Trend.ANY,
    "parallel_tasks != 2": Trend.ANY,
    "cores >= 2": Trend.STEADY,
}


@pytest.mark.parametrize("text", KNOWN)
def test_a_condition_goes_no_other_way_than_its_trend(text: str) -> None:
    """Later values have at most as many tasks, and at least as many bytes."""
    condition = parse_restriction(text)
    found = trend(condition, lambda name: TRENDS.get(name, Trend.STEADY))
    ways = Trend.STEADY
    for tasks, bytes_, cores in itertools.product(range(5), repeat=3):
        before = evaluate(
            condition, {"parallel_tasks": tasks, "total_bytes": bytes_, "cores": cores}
        )
        for fewer, more in itertools.product(range(tasks + 1), range(bytes_, 5)):
            numbers = {"parallel_tasks": fewer, "total_bytes": more, "cores": cores}
            after = evaluate(condition, numbers)
            if after != before:
                ways |= Trend.RISES if after else Trend.FALLS
    assert found == KNOWN[text]
    assert ways in found
