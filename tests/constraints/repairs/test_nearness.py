"""The nearest schedule is near what was written, and found soon."""

import math

import pytest

import spaces
from spaces.apps.catalog import APPS
from spaces.constraints.repairs.repair import STARTING_OVER
from tests.clocks import Clock

# App, its schedule, levels that break it, the device, and the most decisions to change.
MISPLACED = [
    ("unsharp", "gpu", "ratio.compute_at(gray, x); blur_y.compute_at(gray, x);", "sm_90", 2),
    (
        "hist",
        "gpu",
        "histogram.compute_at(cumulated, x); lines.compute_at(histogram, xi);",
        "sm_90",
        2,
    ),
    ("harris", "gpu", "gray.compute_at(iy, x); ix.compute_at(corners, xi);", "sm_90", 2),
    (
        "max_filter",
        "gpu",
        "slice_of.compute_at(half_height, x); columns.compute_at(slice_of, t);",
        "sm_90",
        2,
    ),
]


@pytest.mark.parametrize(("app", "name", "levels", "device", "most"), MISPLACED)
def test_misplaced_funcs_move_and_all_else_stays(app, name, levels, device, most):
    pipeline, target = APPS[app].pipeline(), spaces.device(device)
    text = APPS[app].schedules[name].read_text()
    broken = spaces.parse_schedule(f"{text}\n{levels}", pipeline, 256)
    assert not spaces.verify(pipeline, broken, target)
    found = spaces.repair(pipeline, broken, target, seconds=math.inf, most=1)
    assert found.schedule is not None
    assert spaces.verify(pipeline, found.schedule, target)
    assert found.changes <= most
    for entry, before in zip(found.schedule.funcs, broken.funcs, strict=True):
        assert entry.stages == before.stages


@pytest.mark.parametrize(("written", "nearest"), [(-4, 4), (-16, 16), (3_000_000_000, 2**31 - 1)])
def test_a_factor_out_of_range_becomes_the_nearest_one(written, nearest):
    pipeline = APPS["toy_sum"].pipeline()
    broken = spaces.parse_schedule(
        f"f.split(y, yo, yi, {written}, TailStrategy::GuardWithIf)", pipeline
    )
    found = spaces.repair(pipeline, broken, spaces.device("cpu"))
    assert found.changes == 1
    factor = found.schedule.of("f").stages[0].splits[0].factor
    assert 0.5 <= factor / nearest <= 2
    if written < 0:
        assert factor == nearest


def test_a_repair_takes_two_seconds_if_nobody_says_otherwise(clock: Clock):
    pipeline, target = APPS["bgu"].pipeline(), spaces.device("sm_90")
    text = APPS["bgu"].schedules["gpu"].read_text()
    levels = "blur_y.compute_at(histogram, y); eliminated_0.compute_at(line_y, yi);"
    broken = spaces.parse_schedule(f"{text}\n{levels}", pipeline, 256)
    clock.step = 0.002
    spaces.repair(pipeline, broken, target)
    assert 2 < clock.now < 2 + STARTING_OVER + 0.1
