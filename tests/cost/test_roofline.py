"""The roofline: times calculated by hand, and the table of peak rates."""

from __future__ import annotations

import math

import pytest

import spaces
from spaces.constraints.devices.peaks import peaks_of
from spaces.cost.batch import Batch
from spaces.cost.simple.roofline import Roofline
from tests.cpus import FOUR_CORES, ROUND_PEAKS


def twice_plus_one() -> spaces.Pipeline:
    """4096 values of 4 bytes, two operations each."""
    x, f = spaces.Var("x"), spaces.Func("f")
    f[x] = x * 2 + 1
    return spaces.pipeline(f, estimates={f: [4096]})


def seconds(model: Roofline, schedule: spaces.Schedule) -> float:
    return float(model.cost(Batch.of(twice_plus_one(), schedule)))


def test_one_lane_of_one_core_is_bound_by_arithmetic() -> None:
    """A core of 8 lanes has 64 G operations/s; one lane has 8."""
    model = Roofline(FOUR_CORES, ROUND_PEAKS)
    serial = spaces.schedule(twice_plus_one())
    assert seconds(model, serial.schedule) == pytest.approx(2 * 4096 / 8e9)


def test_lanes_and_cores_reach_the_bandwidth() -> None:
    """256 lines of 64 bytes, and one that the values may begin in, at 32 GB/s."""
    model = Roofline(FOUR_CORES, ROUND_PEAKS)
    fast = spaces.schedule(twice_plus_one()).split("x", "x", "xi", 1024)
    fast = fast.parallel("x").vectorize("xi", 8)
    assert seconds(model, fast.schedule) == pytest.approx(257 * 64 / 32e9)


def test_blocks_of_threads() -> None:
    """32 blocks of 128 threads: each moves 16 sectors of 32 bytes and one more, at 1555 GB/s."""
    blocks = spaces.schedule(twice_plus_one()).gpu_tile("x", "xi", 128)
    model = Roofline.of(spaces.device("sm_80"))
    assert seconds(model, blocks.schedule) == pytest.approx(32 * 17 * 32 / 1555e9)


def test_a_single_thread_of_a_gpu_is_slow() -> None:
    """A multiprocessor starts four warps a cycle: one of 108 x 4 x 32 threads runs."""
    model = Roofline.of(spaces.device("sm_80"))
    serial = spaces.schedule(twice_plus_one()).schedule
    assert seconds(model, serial) == pytest.approx(2 * 4096 * 108 * 4 * 32 / 19.5e12)


@pytest.mark.parametrize(("threads", "fits"), [(1024, True), (2048, False)])
def test_a_block_that_does_not_fit_costs_infinitely_much(threads: int, fits: bool) -> None:
    """A search that adds up nests asks for a verdict last: costs alone keep it from such blocks."""
    blocks = spaces.schedule(twice_plus_one()).gpu_tile("x", "xi", threads)
    model = Roofline.of(spaces.device("sm_90"))
    assert math.isfinite(seconds(model, blocks.schedule)) == fits


@pytest.mark.parametrize("name", [name for name in spaces.device_names() if name != "cpu"])
def test_the_tables_name_the_same_products(name: str) -> None:
    gpu = spaces.device(name)
    assert peaks_of(gpu).product == gpu.product


def test_a_cpu_without_known_rates() -> None:
    with pytest.raises(ValueError, match=r"No peak rates are known of generic, only of znver2,"):
        spaces.cost_model("roofline", FOUR_CORES)


def test_times_of_nests_add_up() -> None:
    """So searches price nests one by one. The second is bound by the lines that it writes."""
    x, f, g = spaces.Var("x"), spaces.Func("f"), spaces.Func("g")
    f[x] = x * 2 + 1
    g[x] = f[x] * 3
    both = spaces.pipeline(g, estimates={g: [4096]})
    schedule = spaces.parse_schedule("f.compute_root();", both)
    model = Roofline(FOUR_CORES, ROUND_PEAKS)
    assert model.adds_nests
    alone = (2 * 4096 / 8e9, 257 * 64 / 32e9)
    assert float(model.cost(Batch.of(both, schedule))) == pytest.approx(sum(alone))
