"""Costs of storage whose dimensions lie in another order, and of arrays with other strides."""

from __future__ import annotations

import pytest

from spaces.constraints.devices.device import device
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.cost.learned.model import Learned
from spaces.cost.model import CostModel
from spaces.cost.simple.roofline import Roofline
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Float32
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import free
from tests.cpus import FOUR_CORES, ROUND_PEAKS

X, Y = Var("x"), Var("y")
REUSE, LEARNED = Reuse(FOUR_CORES), Learned.of(FOUR_CORES)
ROOFLINE, OCCUPANCY = Roofline(FOUR_CORES, ROUND_PEAKS), OccupancyModel.of(device("sm_80"))
BY_COLUMNS = [
    "f.compute_root().reorder(y, x).vectorize(y, 8)",
    "f.compute_root().reorder(y, x).parallel(x)\nout.reorder(y, x).vectorize(y, 8)",
    "out.reorder(y, x).parallel(x)\nf.compute_at(out, x).reorder(y, x).vectorize(y, 8)",
    "out.reorder(y, x)\nf.store_root().compute_at(out, x).reorder(y, x)",
    "out.reorder(y, x)\nf.store_root().compute_at(out, y).reorder(y, x)",
    "out.tile(x, y, xi, yi, 64, 64)\nf.compute_at(out, x).reorder(y, x).vectorize(y, 8)",
]
ON_GPU = """
out.gpu_tile(x, y, xi, yi, 32, 8)
f.compute_root().reorder(y, x).gpu_tile(y, x, yi, xi, 32, 8)
"""


def _pipe(by_columns: bool) -> Pipeline:
    """What reads columns of a Func, which has x or y as its first Var."""
    image, f, out = ImageParam(Float32, 2, "input"), Func("f"), Func("out")
    if by_columns:
        f[Y, X] = image[X, Y] * 2.0
        out[X, Y] = f[Y, X] + f[Y + 1, X] + f[Y, X + 1]
    else:
        f[X, Y] = image[X, Y] * 2.0
        out[X, Y] = f[X, Y] + f[X, Y + 1] + f[X + 1, Y]
    return pipeline(out, estimates={out: [256, 1 << 16]})


def _cost(model: CostModel, pipe: Pipeline, text: str) -> float:
    return float(model.cost(Batch.of(pipe, parse_schedule(text, pipe))))


CASES = [(model, text) for model in (REUSE, ROOFLINE) for text in BY_COLUMNS]


@pytest.mark.parametrize(("model", "text"), [*CASES, (OCCUPANCY, ON_GPU)])
def test_a_func_that_lies_by_columns_costs_what_it_costs_with_its_vars_swapped(
    model: CostModel, text: str
) -> None:
    reordered = _cost(model, _pipe(by_columns=False), f"{text}\nf.reorder_storage(y, x)")
    assert reordered == pytest.approx(_cost(model, _pipe(by_columns=True), text), rel=1e-9)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (REUSE, BY_COLUMNS[0]),
        (ROOFLINE, "out.reorder(y, x)\nf.compute_root()"),
        (LEARNED, BY_COLUMNS[0]),
        (OCCUPANCY, ON_GPU),
    ],
)
def test_the_order_in_memory_counts(model: CostModel, text: str) -> None:
    pipe = _pipe(by_columns=False)
    by_columns = _cost(model, pipe, f"{text}\nf.reorder_storage(y, x)")
    assert by_columns != pytest.approx(_cost(model, pipe, text), rel=0.001)


def test_lanes_along_the_dimension_of_stride_one_of_an_image_are_one_load() -> None:
    costs = []
    for by_pixels in (False, True):
        image, out = ImageParam(Float32, 2, "input"), Func("out")
        if by_pixels:
            image.dim(0).set_stride(4)
            image.dim(1).set_stride(1)
        out[X, Y] = image[Y, X] * 2.0
        pipe = pipeline(out, estimates={out: [4, 1024], image: [1024, 4]})
        model = Reuse(FOUR_CORES, free(lane=1.0, load=1.0))
        costs.append(_cost(model, pipe, "out.vectorize(x, 4)"))
    by_colors, by_pixels = costs
    # 256 vectors of a quarter of a line each for each color
    assert (by_colors, by_pixels) == (4 * 1024, 4 * 256 * 1.25)


def test_an_output_whose_strides_swap_its_vars_costs_what_it_costs_with_them_swapped() -> None:
    image = ImageParam(Float32, 2, "input")
    costs = []
    for swapped, strides in ((False, (1, 256)), (False, (1024, 1)), (True, (1, 1024))):
        out = Func("out")
        out[(Y, X) if swapped else (X, Y)] = image[X, Y] * 2.0
        for dimension, stride in enumerate(strides):
            out.output_buffer().dim(dimension).set_stride(stride)
        pipe = pipeline(out, estimates={out: [1024, 256] if swapped else [256, 1024]})
        costs.append(_cost(REUSE, pipe, "out.reorder(x, y).vectorize(x, 8)"))
    by_lines, by_columns, again = costs
    assert by_columns == again != by_lines
