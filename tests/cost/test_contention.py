"""What updates in one step cost where threads want the same element."""

from __future__ import annotations

from itertools import pairwise

import pytest
from attrs import evolve

from spaces.constraints.devices.device import CpuDevice, device
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt16
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import free
from tests.cpus import FOUR_CORES

X = Var("x")
SIZE = 512
PARALLEL = "h.update(0).atomic().parallel(r.y);"
ON_GPU = (
    "h.gpu_tile(x, xi, 32);"
    "h.update(0).atomic().split(r.x, rxo, rxi, 128).gpu_blocks(r.y).gpu_threads(rxi);"
)


def histogram(bins: int) -> Pipeline:
    image, h = ImageParam(UInt16, 2, "im"), Func("h")
    r = RDom([(0, SIZE), (0, SIZE)], "r")
    h[X] = 0
    h[cast(Int32, image[r.x, r.y] % bins)] += 1
    return pipeline(h, estimates={h: [bins], image: [SIZE, SIZE]})


def cost(bins: int, text: str, cpu: CpuDevice = FOUR_CORES) -> float:
    algorithm = histogram(bins)
    return cost_of_text(algorithm, text, Reuse(cpu))


def priced(algorithm: Pipeline, text: str, **prices: float) -> float:
    """The cost on four cores with these prices; all others are 0."""
    return cost_of_text(algorithm, text, Reuse(FOUR_CORES, free(**prices)))


def cost_of_text(algorithm: Pipeline, text: str, model: Reuse | OccupancyModel) -> float:
    return float(model.cost(Batch.of(algorithm, parse_schedule(text, algorithm))))


def test_each_update_takes_a_step_of_its_own() -> None:
    updates = SIZE * SIZE / FOUR_CORES.cores
    assert priced(histogram(256), PARALLEL, atomic=4.0) == 4 * updates


def test_other_threads_are_expected_at_the_same_line() -> None:
    """16 lines and 3 other threads; each thread has 32 updates in flight."""
    expected = SIZE * SIZE * 3 * (32 / 48) / FOUR_CORES.cores
    assert priced(histogram(256), PARALLEL, contended=1.0) == pytest.approx(expected)


def test_updates_that_never_meet_are_free() -> None:
    y, r = Var("y"), RDom([(0, SIZE)], "r")
    image, f = ImageParam(Int32, 2, "im"), Func("f")
    f[y] = 0
    f[y] += image[r, y]
    rows = pipeline(f, estimates={f: [SIZE], image: [SIZE, SIZE]})
    assert priced(rows, "f.update(0).atomic().parallel(y)", atomic=4.0, contended=1.0) == 0
    assert priced(rows, "f.update(0).parallel(y)", atomic=4.0, contended=1.0) == 0
    # All threads have the same row at a time, or each any of 512 rows in 32 lines.
    of_one = priced(rows, "f.update(0).atomic().parallel(r)", contended=1.0)
    of_all = priced(rows, "f.update(0).atomic().reorder(y, r).parallel(r)", contended=1.0)
    updates = SIZE * SIZE / FOUR_CORES.cores
    assert of_one == pytest.approx(updates * 3 * 32 / 33)
    assert of_all == pytest.approx(updates * 3 * 32 / 64)


@pytest.mark.parametrize("text", [PARALLEL, ON_GPU])
def test_the_price_rises_as_bins_get_fewer(text: str) -> None:
    model = Reuse(FOUR_CORES) if text is PARALLEL else OccupancyModel(device("sm_80"))
    menu = (16, 64, 256, 1024, 4096) if text is PARALLEL else (32, 64, 128, 256)
    costs = [cost_of_text(histogram(bins), text, model) for bins in menu]
    init = [cost_of_text(histogram(bins), text.split("h.update")[0], model) for bins in menu]
    plain = costs if text is PARALLEL else [a - b for a, b in zip(costs, init, strict=True)]
    assert all(few > many for few, many in pairwise(plain))


def test_the_price_of_an_update_rises_with_the_threads() -> None:
    def each(cores: int) -> float:
        """What all cores together spend."""
        cpu = evolve(FOUR_CORES, cores=cores)
        model = Reuse(cpu, evolve(Reuse(cpu).prices, launch=0.0, task=0.0))
        return cores * cost_of_text(histogram(256), PARALLEL, model)

    assert all(few < many for few, many in pairwise(map(each, (1, 2, 4, 8, 16))))


def test_one_thread_is_cheaper_than_two_that_fight_for_few_bins() -> None:
    """Measured: 17 ns for each of 2048 x 2048 updates of 256 bins by two threads, and less than 1
    ns by one without atomic.
    """
    two = evolve(FOUR_CORES, cores=2)
    assert cost(256, "", two) * 4 < cost(256, PARALLEL, two)


def test_threads_of_a_gpu_beat_the_host_all_the_same() -> None:
    model = OccupancyModel(device("sm_80"))
    on_host = cost_of_text(histogram(256), "h.gpu_tile(x, xi, 32)", model)
    assert cost_of_text(histogram(256), ON_GPU, model) * 100 < on_host
