"""Random schedules and their weights, against lists of all schedules."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

import spaces
from spaces import Options, ScheduleSpace
from spaces.enumerate.space.counting import random_ways
from spaces.enumerate.space.counting.estimate import WeightedEstimate
from spaces.model.schedules.domain_order import LoopKind
from tests.cpus import FOUR_CORES
from tests.draw_counts import some
from tests.enumerate.pipelines import blur
from tests.enumerate.process.test_universes import UNIVERSES, options


@pytest.mark.parametrize(
    ("universe", "draws"),
    some(
        [
            ("tails", 250),
            ("fuses", 250),
            ("blocks and threads", 300),
            ("whole patterns and storage", 400),
        ]
    ),
)
def test_the_mean_weight_is_the_number_of_schedules(universe: str, draws: int) -> None:
    assert_unbiased(ScheduleSpace(*UNIVERSES[universe]), draws)


def test_ways_that_the_plainest_rest_forbids_keep_their_weight(monkeypatch) -> None:
    """``table`` has limits only if ``index`` is inlined: at root, any number may be read of it."""
    monkeypatch.setattr(random_ways, "RELUCTANCE", 3)
    x = spaces.Var("x")
    index, table, out = spaces.Func("index"), spaces.Func("table"), spaces.Func("out")
    index[x] = 2 * x
    table[x] = x * x
    out[x] = table[index[x]] + 1
    algorithm = spaces.pipeline(out, estimates={out: [(0, 16)]})
    assert_unbiased(ScheduleSpace(algorithm, FOUR_CORES, options("nests", "parallel")), 100)


def assert_unbiased(space: ScheduleSpace, draws: int) -> None:
    """The mean weight of some draws is near the number of schedules."""
    weights = [float(draw.weight) for draw in itertools.islice(space.draws(seed=1), draws)]
    mean = sum(weights) / draws
    deviation = math.sqrt(sum((w - mean) ** 2 for w in weights) / (draws - 1) / draws)
    assert deviation < mean / 5  # else the next line says little
    assert abs(mean - space.count()) < 4 * deviation


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
def test_expert_spaces_are_sampled(target: str) -> None:
    device = spaces.device(target)
    space = ScheduleSpace(blur(), device, Options.expert(device))
    drawn = space.sample(4, seed=2)
    assert all(schedule in space for schedule in drawn)
    assert len(set(drawn)) > 2
    assert drawn == space.sample(4, seed=2)


def test_draws_have_no_weight_unless_they_are_legal(monkeypatch) -> None:
    monkeypatch.setattr(random_ways, "RELUCTANCE", 3)
    space = ScheduleSpace(*UNIVERSES["an index that reads a Func"])
    draws = list(itertools.islice(space.draws(), 30))
    assert {draw.weight > 0 for draw in draws} == {True, False}
    assert all((draw.weight > 0) == (draw.schedule is not None) for draw in draws)


def test_an_estimate_by_weights() -> None:
    space = ScheduleSpace(*UNIVERSES["bounds"])
    found = space.estimate(50)
    assert isinstance(found, WeightedEstimate)
    assert (found.samples, found.legal) == (50, 50)
    assert found.low <= space.count()
    shown = str(WeightedEstimate(4, 3, Fraction(10**320, 3)))
    assert shown == (
        "at least 1.67e+318 with 95 % confidence; the mean weight of 4 samples, 3 of them legal, "
        "is 3.33e+319"
    )


def test_nested_parallel_loops_are_drawn_seldom() -> None:
    space = ScheduleSpace(blur(), FOUR_CORES)
    stages = [
        [loop.kind for loop in order.loops].count(LoopKind.PARALLEL)
        for schedule in space.sample(30, seed=1)
        for entry in schedule.funcs
        if not entry.compute.is_inline
        for order in entry.stages
    ]
    nested = [count for count in stages if count > 1]
    assert len(nested) < 0.1 * len(stages)
    assert stages.count(1) > 0.3 * len(stages)
    twice = spaces.parse_schedule("blur_y.parallel(x).parallel(y);", space.pipeline)
    assert twice in space
