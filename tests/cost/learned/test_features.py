"""Features of stages against numbers counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.cpu.term import PARTS
from spaces.cost.learned.algorithm_features import algorithm_features
from spaces.cost.learned.schedule_features import schedule_features
from spaces.cost.learned.terms import PRICES, terms
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import cast
from spaces.model.expressions.functions import exp
from spaces.model.expressions.types import Float32, Int32, UInt8, UInt16
from tests.cpus import FOUR_CORES


def _pair(width=64, height=32):
    """Two stages: ``out`` reads two rows of ``mid``, which reads an image."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    mid, out = Func("mid"), Func("out")
    mid[x, y] = image[x, y] * 2.0
    out[x, y] = mid[x, y] + mid[x, y + 1]
    return pipeline(out, estimates={out: [width, height], image: [width, height + 1]})


def _strips():
    """Strips of 8 rows in parallel, lanes of 16, and ``mid`` computed anew for each strip."""
    pipe = _pair()
    out = schedule(pipe).split("y", "y", "yi", "T").split("x", "x", "xv", 16)
    out = out.reorder("xv", "x", "yi", "y").vectorize("xv").parallel("y")
    mid = out.func("mid").compute_at("out", "y").store_at("out", "y")
    mid = mid.split("x", "x", "xv", 8).vectorize("xv")
    return pipe, mid.schedule


@pytest.fixture(scope="module")
def numbers():
    pipe, strips = _strips()
    batch = Batch.of(pipe, strips, {"T": np.array([8, 16])})
    found = schedule_features(batch.features, FOUR_CORES)
    return {view.stage.func: of for view, of in found}


@pytest.mark.parametrize(
    ("func", "feature", "expected"),
    [
        ("mid", "num_realizations", [4, 2]),
        ("mid", "num_productions", [4, 2]),
        ("mid", "num_scalars", [64 * 9 * 4, 64 * 17 * 2]),
        ("mid", "num_vectors", [8 * 9 * 4, 8 * 17 * 2]),
        ("mid", "num_bodies", [8 * 9 * 4, 8 * 17 * 2]),
        ("mid", "points_computed_minimum", [64 * 33] * 2),
        ("mid", "points_computed_per_realization", [64 * 9, 64 * 17]),
        ("mid", "redundancy", [64 * 9 * 4 / (64 * 33), 64 * 17 * 2 / (64 * 33)]),
        ("mid", "num_tasks", [4, 2]),
        ("mid", "inner_parallelism", [1, 1]),
        ("mid", "outer_parallelism", [4, 2]),
        ("mid", "task_launches", [0, 0]),
        ("mid", "working_set", [64 * 9 * 4, 64 * 17 * 4]),
        # The whole allocation, and one line more at its end.
        ("mid", "l1_bytes_at_task", [64 * 9 * 4 + 64, 64 * 17 * 4 + 64]),
        # 9 whole rows of four lines join and, on average, have one more at their end.
        ("mid", "unique_memory_bytes_read_per_realization", [37 * 64, 69 * 64]),
        ("mid", "unique_memory_lines_read_per_realization", [1, 1]),
        ("mid", "memory_loads_per_task", [37, 69]),
        ("mid", "memory_load_efficiency", [36 / 37, 68 / 69]),
        ("mid", "unique_bytes_read_per_point", [4, 4]),
        ("out", "l3_limit_factor", [1, 1]),
        ("out", "num_tasks", [4, 2]),
        ("out", "num_lanes", [16, 16]),
        ("out", "inner_parallelism", [4, 2]),
        ("out", "task_launches", [1, 1]),
        ("out", "idle_core_wastage", [1, 2]),  # two tasks keep two of four cores idle
        ("out", "lane_utilization", [1, 1]),
        ("out", "innermost_loop_extent", [4, 4]),
        ("out", "points_computed_per_thread", [4 * 8, 4 * 16]),
        ("out", "unique_l1_lines_read_per_thread", [2, 2]),
        ("out", "unique_memory_bytes_read_per_thread", [0, 0]),
        ("out", "l1_allocation_bytes_read_per_realization", [64 * 9 * 4, 64 * 17 * 4]),
        ("out", "vector_loads_per_vector", [4, 4]),  # two rows, two registers of 8 floats each
        ("out", "loads_per_task", [4 * 4 * 8, 4 * 4 * 16]),
        ("out", "stores_per_task", [2 * 4 * 8, 2 * 4 * 16]),
        ("out", "memory_innermost_bytes_at_task", [256, 256]),
    ],
)
def test_a_feature(numbers, func: str, feature: str, expected: list[float]) -> None:
    found = np.broadcast_to(numbers[func][feature], (2,))
    assert found == pytest.approx(expected)


def test_features_of_ints_are_those_of_arrays() -> None:
    """Each choice alone, read as ints, has the features that it has in the lattice."""
    pipe, strips = _strips()
    batch = Batch.of(pipe, strips, {"T": np.array([1, 3, 8, 32])})
    together = list(schedule_features(batch.features, FOUR_CORES))
    for index in range(4):
        alone = Batch.of(pipe, batch.schedule_at(index))
        for (_, many), (_, one) in zip(
            together, schedule_features(alone.features, FOUR_CORES), strict=True
        ):
            assert list(many) == list(one)
            for name, number in many.items():
                assert np.broadcast_to(number, (4,))[index] == pytest.approx(float(one[name])), name


def test_terms_of_appendix_b(numbers) -> None:
    """Work counts once for each core that waits, starting threads once."""
    found = terms(numbers["out"])
    assert list(found) == list(PRICES)
    assert np.broadcast_to(found["scalars"], (2,)) == pytest.approx([2048 / 4, 2048 / 2])
    assert np.broadcast_to(found["launches"], (2,)) == pytest.approx([1, 1])
    assert np.broadcast_to(found["tasks"], (2,)) == pytest.approx([3, 1])
    assert np.broadcast_to(found["false_sharing"], (2,)) == pytest.approx([8, 8])


def test_features_of_the_algorithm() -> None:
    x, y, i = Var("x"), Var("y"), Var("i")
    image, table = ImageParam(UInt8, 2, "image"), ImageParam(Float32, 1, "table")
    f, out = Func("f"), Func("out")
    f[x, y] = cast(Float32, image[y, x]) * 2.0
    out[x, y] = exp(f[x, y] + table[x]) - f[x, 3]
    pipe = pipeline(out, estimates={out: [8, 8], image: [8, 8], table: [8]})
    batch = Batch.of(pipe, schedule(pipe).func("f").compute_root().schedule)
    del i
    first, second = (algorithm_features(batch.features, s) for s in batch.features.stages)
    assert {name: n for name, n in first.items() if n} == {
        "conversion_real": 1, "product_real": 1, "transposed_image": 1, "expr_branching": 1,
    }  # fmt: skip
    assert {name: n for name, n in second.items() if n} == {
        "sum_real": 2, "function_real": 1, "pointwise_func": 1, "broadcast_image": 1,
        "slice_func": 1, "expr_branching": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("type", "width"), [(UInt8, "bits8"), (UInt16, "bits16"), (Int32, "wide"), (Float32, "real")]
)
def test_operations_count_by_the_width_of_their_values(type, width) -> None:
    x, image, f = Var("x"), ImageParam(type, 1, "image"), Func("f")
    f[x] = image[x] + image[x + 1]
    pipe = pipeline(f, estimates={f: [8]})
    batch = Batch.of(pipe, schedule(pipe).schedule)
    (stage,) = batch.features.stages
    found = algorithm_features(batch.features, stage)
    sums = {name: number for name, number in found.items() if name.startswith("sum_") and number}
    assert sums == {f"sum_{width}": 1}


def test_the_parts_of_reuse_are_its_price() -> None:
    pipe, strips = _strips()
    batch = Batch.of(pipe, strips, {"T": np.array([1, 3, 8, 32])})
    model = Reuse(FOUR_CORES)
    found = model.parts(batch.features)
    together = sum(number for of in found.values() for number in of.values())
    assert together == pytest.approx(model.cost(batch))
    assert set(found) == {("mid", 0), ("out", 0)}
    assert all(tuple(of) == PARTS for of in found.values())
    assert float(np.max(found["mid", 0]["overhead"])) == 0
    launch, task = model.prices.launch, model.prices.task
    assert found["out", 0]["overhead"] == pytest.approx(
        [launch + n * task / 4 for n in (32, 11, 4, 1)]
    )


def test_what_stages_share_counts_for_the_first() -> None:
    """``out`` reads rows of the image that ``mid`` has just moved to a cache."""
    x, y = Var("x"), Var("y")
    moved = {}
    for reads_again in (False, True):
        image, mid, out = ImageParam(Float32, 2, "image"), Func("mid"), Func("out")
        mid[x, y] = image[x, y] * 2.0
        out[x, y] = mid[x, y] + (image[x, y] if reads_again else 1.0)
        pipe = pipeline(out, estimates={out: [4096, 4096], image: [4096, 4096]})
        rows = schedule(pipe).func("mid").compute_at("out", "y").schedule
        found = Reuse(FOUR_CORES).parts(Batch.of(pipe, rows).features)
        moved[reads_again] = [float(found[func, 0]["from_memory"]) for func in ("mid", "out")]
    assert moved[True] == pytest.approx(moved[False])
    assert min(moved[True]) > 0


@pytest.mark.parametrize(
    ("width", "height", "place"), [(64, 32, "l1"), (256, 64, "l2"), (1024, 512, "memory")]
)
def test_a_func_is_read_from_where_both_funcs_find_room(width, height, place) -> None:
    """16, 128 and 4096 KiB, on a core with caches of 32 and 512 KiB."""
    pipe = _pair(width, height)
    rooted = schedule(pipe).func("mid").compute_root().schedule
    found = {
        view.stage.func: numbers
        for view, numbers in schedule_features(Batch.of(pipe, rooted).features, FOUR_CORES)
    }
    read = {
        one: float(found["out"][f"{one}_allocation_bytes_read_per_realization"])
        for one in ("l1", "l2", "memory")
    }
    assert read == dict.fromkeys(read, 0.0) | {place: width * (height + 1) * 4}


def test_lanes_past_the_end_are_idle() -> None:
    """The last of four vectors of 16 lanes has 12 values."""
    pipe = _pair(60, 32)
    vectors = schedule(pipe).split("x", "x", "xv", 16, "guard_with_if").vectorize("xv")
    features = Batch.of(pipe, vectors.schedule).features
    *_, (view, numbers) = schedule_features(features, FOUR_CORES)
    assert view.stage.func == "out"
    assert numbers["idle_lane_wastage"] == pytest.approx(1 - 60 / 64)
