"""Whole pipelines by the reference, against plain NumPy, formulas and numbers computed by hand."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.arguments import ArgumentError
from spaces.backend.reference import ImageBoundsError, evaluate, updates
from spaces.backend.reference.boxes import LARGEST_BOX
from spaces.model.algorithm.boundary import (
    constant_exterior,
    mirror_image,
    mirror_interior,
    repeat_edge,
    repeat_image,
)
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.reductions import maximum, sum
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Float32, Int32, UInt8, UInt16, UInt32

X, Y, C = Var("x"), Var("y"), Var("c")


def run(func: Func, *size: int | tuple[int, int], **inputs: np.ndarray) -> np.ndarray:
    return evaluate(pipeline(func), inputs, sizes={func.name: size})[func.name]


def random_image(*shape: int, dtype: type = np.uint16, seed: int = 0) -> np.ndarray:
    high = np.iinfo(dtype).max
    return np.random.default_rng(seed).integers(0, high, shape, dtype, endpoint=True)


def test_dimension_0_is_the_last_axis() -> None:
    f = Func("f")
    f[X, Y, C] = X + 10 * Y + 100 * C
    result = run(f, 4, 3, 2)
    assert result.shape == (2, 3, 4)
    assert result[1, 2, 3] == 3 + 10 * 2 + 100 * 1


def test_outputs_begin_where_asked() -> None:
    f = Func("f")
    f[X, Y] = X + 10 * Y
    assert run(f, (-2, 3), (5, 2)).tolist() == [[48, 49, 50], [58, 59, 60]]


def test_blur_wraps_in_16_bits() -> None:
    image = ImageParam(UInt16, 2, "image")
    blur_x, blur_y = Func("blur_x"), Func("blur_y")
    blur_x[X, Y] = (image[X, Y] + image[X + 1, Y] + image[X + 2, Y]) / 3
    blur_y[X, Y] = (blur_x[X, Y] + blur_x[X, Y + 1] + blur_x[X, Y + 2]) / 3
    data = random_image(40, 50)
    rows = (data[:, :-2].astype(int) + data[:, 1:-1] + data[:, 2:]) % 65536 // 3
    expected = (rows[:-2] + rows[1:-1] + rows[2:]) % 65536 // 3
    assert np.array_equal(run(blur_y, 48, 38, image=data), expected)


def test_several_outputs_are_given() -> None:
    f, g = Func("f"), Func("g")
    f[X] = X * X
    g[X, Y] = f[X + Y] + 1
    both = pipeline([f, g], estimates={f: [30], g: [20, 20]})
    result = evaluate(both, {}, sizes={"f": [3], "g": [2, 2]})
    assert result["f"].tolist() == [0, 1, 4]
    assert result["g"].tolist() == [[1, 2], [2, 5]]
    sizes = {"f": [(2, 2)], "g": [1, 1]}
    assert evaluate(both, {}, sizes=sizes)["f"].tolist() == [4, 9]


def test_sizes_and_parameters_are_variables() -> None:
    image = ImageParam(UInt8, 1, "image")
    offset = Param(Int32, "offset", 5)
    f = Func("f")
    f[X] = image.width() * 100 + image.min(0) * 10 + offset + image[image.min(0)]
    built = pipeline(f)
    data = np.zeros(7, np.uint8)
    assert evaluate(built, {"image": data}, sizes={"f": [1]})["f"].tolist() == [705]
    shifted = evaluate(built, {"image": data}, {"offset": -1}, {"f": [1], "image": [(2, 7)]})
    assert shifted["f"].tolist() == [719]


def test_an_image_may_begin_elsewhere() -> None:
    image = ImageParam(UInt8, 1, "image")
    f = Func("f")
    f[X] = image[X + 1]
    data = np.arange(5, dtype=np.uint8)
    sizes = {"f": [(10, 3)], "image": [(10, 5)]}
    assert evaluate(pipeline(f), {"image": data}, sizes=sizes)["f"].tolist() == [1, 2, 3]


def test_any_strides_are_read() -> None:
    image = ImageParam(UInt16, 2, "image")
    f = Func("f")
    f[X, Y] = image[X, Y]
    data = random_image(20, 30)[::-2, ::3]
    assert np.array_equal(run(f, 10, 10, image=data), data)


@pytest.mark.parametrize(
    ("condition", "mode"),
    [
        (repeat_edge, {"mode": "edge"}),
        (repeat_image, {"mode": "wrap"}),
        (mirror_image, {"mode": "symmetric"}),
        (mirror_interior, {"mode": "reflect"}),
        (lambda i: constant_exterior(i, 7), {"mode": "constant", "constant_values": 7}),
    ],
)
def test_boundary_conditions_are_numpys_padding(
    condition: Callable[[ImageParam], Func], mode: dict[str, object]
) -> None:
    image = ImageParam(UInt8, 2, "image")
    outside = condition(image)
    f = Func("f")
    f[X, Y] = outside[X - 4, Y - 3]
    data = random_image(6, 7, dtype=np.uint8)
    expected = np.pad(data, ((3, 3), (4, 4)), **mode)  # type: ignore[call-overload]
    assert np.array_equal(run(f, 15, 12, image=data), expected)


def test_histogram_counts() -> None:
    image = ImageParam(UInt8, 2, "image")
    data = random_image(60, 70, dtype=np.uint8)
    r = RDom([(0, image.width()), (0, image.height())], "r")
    histogram = Func("histogram")
    histogram[X] = fn.cast(UInt32, 0)
    histogram[image[r.x, r.y]] += fn.cast(UInt32, 1)
    expected = np.bincount(data.reshape(-1), minlength=256)
    assert np.array_equal(run(histogram, 256, image=data), expected)


def test_reduction_order_is_innermost_first() -> None:
    r = RDom([(0, 3), (0, 2)], "r")
    last, trace = Func("last"), Func("trace")
    last[X] = -1
    last[r.x * 0] = r.x + 10 * r.y
    trace[X] = 0
    trace[X] = trace[X] * 7 + (r.x + 3 * r.y)
    assert run(last, 2).tolist() == [12, -1]
    digits = [0, 1, 2, 3, 4, 5]  # r.x fastest
    assert run(trace, 1).tolist() == [int("".join(map(str, digits)), 7)]


def test_scans_read_what_they_wrote() -> None:
    image = ImageParam(Int32, 2, "image")
    r = RDom([(1, 9)], "r")
    f = Func("f")
    f[X, Y] = image[X, Y]
    f[r, Y] += f[r - 1, Y]
    f[X, r] = f[X, r] + f[X, r - 1]
    data = np.random.default_rng(1).integers(-100, 100, (10, 10), np.int32)
    assert np.array_equal(run(f, 10, 10, image=data), data.cumsum(1).cumsum(0))


def test_a_func_is_computed_on_all_that_its_updates_touch() -> None:
    r = RDom([(1, 6)], "r")
    f, g = Func("f"), Func("g")
    f[X] = X
    f[r] = f[r - 1] + 1  # needs f from 0 on, although the call computes only f(5) and f(6)
    f[X] = f[X] * 2
    g[X] = f[X]
    assert run(g, (5, 2)).tolist() == [10, 12]


def test_matrix_product() -> None:
    a, b = ImageParam(Int32, 2, "a"), ImageParam(Int32, 2, "b")
    r = RDom([(0, 12)], "r")
    product = Func("product")
    product[X, Y] += a[r, Y] * b[X, r]
    generator = np.random.default_rng(2)
    left = generator.integers(-9, 9, (5, 12), np.int32)
    right = generator.integers(-9, 9, (12, 8), np.int32)
    assert np.array_equal(run(product, 8, 5, a=left, b=right), left @ right)


def test_inline_reductions() -> None:
    image = ImageParam(UInt8, 2, "image")
    r = RDom([(-1, 3), (-1, 3)], "r")
    f, g = Func("f"), Func("g")
    f[X, Y] = maximum(image[X + r.x, Y + r.y])
    g[X, Y] = sum(fn.cast(UInt16, image[X + r.x, Y + r.y]))
    data = random_image(8, 9, dtype=np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(data, (3, 3))
    assert np.array_equal(run(f, (1, 7), (1, 6), image=data), windows.max((2, 3)))
    total = windows.astype(np.uint16).sum((2, 3), dtype=np.uint16)
    assert np.array_equal(run(g, (1, 7), (1, 6), image=data), total)


@pytest.fixture(params=[1 << 22, 7], ids=["at once", "in pieces"])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the number of points that are evaluated at once."""
    monkeypatch.setattr(updates, "CHUNK", request.param)


@pytest.mark.usefixtures("pieces")
def test_floats_are_added_in_order() -> None:
    # Far more points than places: NumPy adds without a loop, and must round as a loop does.
    image = ImageParam(Float32, 1, "image")
    r = RDom([(0, 4001)], "r")
    f = Func("f")
    f[X] = fn.cast(Float32, 0)
    f[r % 2] += image[r]
    data = np.random.default_rng(3).random(4001, np.float32)
    expected = np.zeros(2, np.float32)
    for i, value in enumerate(data):
        expected[i % 2] = expected[i % 2] + value
    assert run(f, 2, image=data).tolist() == expected.tolist()


@pytest.mark.usefixtures("pieces")
def test_the_last_of_many_assignments_stays() -> None:
    image = ImageParam(UInt8, 2, "image")
    r = RDom([(0, 30), (0, 20)], "r")
    f = Func("f")
    f[X] = -1
    f[image[r.x, r.y]] = r.x + 100 * r.y
    data = random_image(20, 30, dtype=np.uint8) % 50
    expected = np.full(50, -1)
    for y in range(20):
        for x in range(30):
            expected[data[y, x]] = x + 100 * y
    assert np.array_equal(run(f, 50, image=data), expected)


@pytest.mark.usefixtures("pieces")
def test_histogram_in_two_dimensions() -> None:
    image = ImageParam(UInt8, 2, "image")
    r = RDom([(0, 30), (0, 20)], "r")
    f = Func("f")
    f[X, Y] = 0
    f[image[r.x, r.y] % 5, image[r.x, r.y] / 32] += r.x
    data = random_image(20, 30, dtype=np.uint8)
    expected = np.zeros((8, 5), np.int32)
    for y in range(20):
        for x in range(30):
            expected[data[y, x] // 32, data[y, x] % 5] += x
    assert np.array_equal(run(f, 5, 8, image=data), expected)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda f, i: i - f[i * 0], lambda old, i: i - old[0]),
        (lambda f, i: f[i * 0] - i, lambda old, i: old[0] - i),
        (lambda f, i: f[i * 0] + f[i * 0], lambda old, i: old[0] + old[0]),
        (lambda f, i: f[i * 0] * 3 + i, lambda old, i: old[0] * 3 + i),
        (lambda f, i: fn.max(f[i * 0], i % 17), lambda old, i: max(old[0], i % 17)),
    ],
)
def test_long_recurrences(
    step: Callable[[Func, Expr], Expr], expected: Callable[[list[int], int], int]
) -> None:
    f, r = Func("f"), RDom([(0, 50)], "r")
    f[X] = X + 1
    f[r * 0] = step(f, r.x)
    values = [1, 2]
    for i in range(50):
        values[0] = Int32.wrap(expected(values, i))
    assert run(f, 2).tolist() == values


def test_data_dependent_coordinates() -> None:
    image, table = ImageParam(UInt8, 2, "image"), ImageParam(Int32, 1, "table")
    squared, f = Func("squared"), Func("f")
    squared[X] = table[X] * table[X]
    f[X, Y] = squared[fn.clamp(fn.cast(Int32, image[X, Y]) * 2, 3, 90)] + squared[X]
    data = random_image(11, 12, dtype=np.uint8)
    values = np.arange(-50, 50, dtype=np.int32)
    expected = values[np.clip(data.astype(int) * 2, 3, 90)] ** 2 + values[:12] ** 2
    assert np.array_equal(run(f, 12, 11, image=data, table=values), expected)


def test_updates_at_places_that_the_func_itself_holds() -> None:
    r = RDom([(0, 5)], "r")
    f = Func("f")
    f[X] = fn.clamp(X + 3, 0, 9)
    f[fn.clamp(f[r], 0, 9)] = -r
    start = [min(x + 3, 9) for x in range(10)]
    for i in range(5):
        start[min(max(start[i], 0), 9)] = -i
    assert run(f, 10).tolist() == start
    # The places of its writes are known only during evaluation, and lie beyond the required region.
    assert run(f, (2, 3)).tolist() == start[2:5]


def test_a_func_without_dimensions() -> None:
    image = ImageParam(UInt8, 1, "image")
    r = RDom([(0, image.width())], "r")
    total, f = Func("total"), Func("f")
    total[()] = 0
    total[()] += fn.cast(Int32, image[r])
    f[X] = X + total[()]
    data = random_image(1000, dtype=np.uint8)
    assert run(f, 2, image=data).tolist() == [int(data.sum()), int(data.sum()) + 1]
    assert run(total, image=data).shape == ()


def test_empty_reductions_and_empty_outputs() -> None:
    image = ImageParam(UInt8, 1, "image")
    r = RDom([(0, image.width())], "r")
    f = Func("f")
    f[X] = 1
    f[X] += fn.cast(Int32, image[r])
    nothing = np.zeros(0, np.uint8)
    assert run(f, 3, image=nothing).tolist() == [1, 1, 1]
    assert run(f, 0, image=nothing).shape == (0,)


def test_deep_pipelines() -> None:
    stage = Func("f0")
    stage[X] = X
    for i in range(1, 1500):
        following = Func(f"f{i}")
        following[X] = stage[X] + 1
        stage = following
    assert run(stage, 2).tolist() == [1499, 1500]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.integers(-3, 3))
def test_scaled_coordinates(width: int, height: int, factor: int, shift: int) -> None:
    f, g = Func("f"), Func("g")
    f[X, Y] = X + 1000 * Y
    g[X, Y] = f[X * factor + shift, (Y + shift) / factor]
    expected = [
        [x * factor + shift + 1000 * ((y + shift) // factor) for x in range(width)]
        for y in range(height)
    ]
    assert run(g, width, height).tolist() == expected


def test_reading_outside_of_an_image_is_said_in_words() -> None:
    image = ImageParam(UInt8, 2, "image")
    f = Func("f")
    f[X, Y] = image[X - 2, Y] + image[X + 3, Y]
    with pytest.raises(
        ImageBoundsError, match=r"Func f reads image image at -2 \.\. 12 in dimension 0.*0 \.\. 9"
    ):
        run(f, 10, 10, image=np.zeros((10, 10), np.uint8))
    with pytest.raises(ImageBoundsError, match="no elements"):
        run(f, 1, 1, image=np.zeros((0, 0), np.uint8))


def test_wrong_arguments_are_said_in_words() -> None:
    image = ImageParam(UInt8, 2, "image")
    gain = Param(UInt8, "gain")
    f = Func("f")
    f[X, Y] = image[X, Y] * gain
    built = pipeline(f)
    good = {"image": np.zeros((4, 4), np.uint8)}
    sizes = {"f": (4, 4)}
    cases: list[tuple[str, dict, dict, dict]] = [
        ("Image image of pipeline f is missing", {}, {"gain": 1}, sizes),
        ("no image 'picture'", {**good, "picture": good["image"]}, {"gain": 1}, sizes),
        ("holds float64", {"image": np.zeros((4, 4))}, {"gain": 1}, sizes),
        (r"array given has 1 \(", {"image": np.zeros(4, np.uint8)}, {"gain": 1}, sizes),
        ("gain .uint8. has no default", good, {}, sizes),
        ("256, which uint8 cannot hold", good, {"gain": 256}, sizes),
        ("0.5, which uint8 cannot hold", good, {"gain": 0.5}, sizes),
        ("gain is 'much', which is not a number of type uint8", good, {"gain": "much"}, sizes),
        ("nan, which uint8 cannot hold", good, {"gain": float("nan")}, sizes),
        ("no parameter 'bias'", good, {"gain": 1, "bias": 1}, sizes),
        ("size of output f is not given", good, {"gain": 1}, {}),
        ("2 dimensions, but its size names 1", good, {"gain": 1}, {"f": (4,)}),
        ("extent of dimension 1 of f is -1", good, {"gain": 1}, {"f": (4, -1)}),
        ("size of f is 4; give a list", good, {"gain": 1}, {"f": 4}),
        (r"size of f is \(4.5, 4\); give a list", good, {"gain": 1}, {"f": (4.5, 4)}),
        ("size of f is .*; give a list", good, {"gain": 1}, {"f": ((0, 4, 1), 4)}),
        (
            "Dimension 1 of f begins at 2147483640 and has 9 elements",
            good,
            {"gain": 1},
            {"f": (4, (2**31 - 8, 9))},
        ),
        ("more than any memory holds", good, {"gain": 1}, {"f": (2**31 - 1, 2**31 - 1)}),
        ("image the extents \\[5, 4\\]", good, {"gain": 1}, {**sizes, "image": (5, 4)}),
        ("no output or image 'g'", good, {"gain": 1}, {**sizes, "g": (4, 4)}),
    ]
    for message, inputs, params, given_sizes in cases:
        with pytest.raises(ArgumentError, match=message):
            evaluate(built, inputs, params, given_sizes)


def test_unclamped_coordinates_are_refused_before_memory_is_gone() -> None:
    image = ImageParam(Int32, 1, "image")
    f, g = Func("f"), Func("g")
    f[X] = X
    g[X] = f[image[X]]
    data = np.array([-LARGEST_BOX, LARGEST_BOX - 1], np.int32)
    with pytest.raises(ArgumentError, match="clamp the coordinates"):
        run(g, 2, image=data)


def test_an_image_is_needed_if_only_its_size_is_used() -> None:
    image = ImageParam(Int32, 1, "image")
    f = Func("f")
    f[X] = image.width()
    with pytest.raises(ArgumentError, match="Image image of pipeline f is missing"):
        evaluate(pipeline(f), {}, sizes={"f": [1]})
    found = evaluate(pipeline(f), {"image": np.zeros(7, np.int32)}, sizes={"f": [1]})
    assert found["f"].tolist() == [7]
