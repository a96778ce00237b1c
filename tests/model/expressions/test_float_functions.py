"""Fast functions and random numbers: errors against float64, uniformity, coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import approximations as quick
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Float32, Float64

X, Y = Var("x"), Var("y")


def both(func: Func, inputs: dict[str, np.ndarray], size: tuple[int, ...]) -> np.ndarray:
    """The reference's values; asserts that vectorized code gives the same bits."""
    algorithm = pipeline(func)
    sizes = {func.name: size}
    expected = evaluate(algorithm, inputs, sizes=sizes)[func.name]
    chosen = schedule(algorithm).func(func.name).vectorize("x", 8).schedule
    checked = verify(algorithm, chosen, device("cpu"))
    found = compile_cpu(checked).run(inputs, sizes=sizes)[func.name]
    assert found.tobytes() == expected.tobytes()
    return expected


def applied(function: Callable[..., Expr], *arrays: np.ndarray) -> np.ndarray:
    images = [ImageParam(Float32, 1, f"a{i}") for i in range(len(arrays))]
    func = Func("f")
    func[X] = function(*(image[X] for image in images))
    inputs = {f"a{i}": a.astype(np.float32) for i, a in enumerate(arrays)}
    return both(func, inputs, (len(arrays[0]),)).astype(np.float64)


def test_fast_exponentials() -> None:
    x = np.linspace(-87, 88, 100_000).astype(np.float32)
    found, exact = applied(quick.fast_exp, x), np.exp(x.astype(np.float64))
    assert np.max(np.abs(found / exact - 1)) < 3e-7
    ends = np.array([-200.0, 200.0, 0.0] * 3)
    assert applied(quick.fast_exp, ends)[:3].tolist() == [0.0, np.inf, 1.0]


def test_fast_logarithms() -> None:
    x = np.exp(np.linspace(-87, 88, 100_000)).astype(np.float32)
    found, exact = applied(quick.fast_log, x), np.log(x.astype(np.float64))
    assert np.max(np.abs(found - exact) / np.maximum(1, np.abs(exact))) < 4e-7
    assert applied(quick.fast_log, np.ones(8))[0] == 0


def test_fast_powers() -> None:
    generator = np.random.default_rng(1)
    x, y = generator.uniform(0.01, 10, 10_000), generator.uniform(-4, 4, 10_000)
    x, y = x.astype(np.float32).astype(np.float64), y.astype(np.float32).astype(np.float64)
    found = applied(quick.fast_pow, x, y)
    assert np.max(np.abs(found / x**y - 1)) < 5e-6
    assert applied(quick.fast_pow, np.zeros(8), np.full(8, 2.5)).tolist() == [0.0] * 8


@pytest.mark.parametrize(
    ("function", "exact"), [(quick.fast_sin, np.sin), (quick.fast_cos, np.cos)]
)
def test_fast_angles(
    function: Callable[[Expr], Expr], exact: Callable[[np.ndarray], np.ndarray]
) -> None:
    x = np.linspace(-1000, 1000, 100_000).astype(np.float32)
    assert np.max(np.abs(applied(function, x) - exact(x.astype(np.float64)))) < 3e-7


def test_fast_inverses_are_exact() -> None:
    x = np.linspace(0.1, 50, 1000).astype(np.float32)
    assert (applied(quick.fast_inverse, x) == np.float32(1) / x).all()
    assert (applied(quick.fast_inverse_sqrt, x) == np.float32(1) / np.sqrt(x)).all()


@pytest.mark.parametrize("element", [Float32, Float64])
def test_missing_functions_are_close_to_double_precision(element: type) -> None:
    names = ["asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"]
    image = ImageParam(element, 1, "a")
    x = np.linspace(-0.99, 0.99, 101).astype(element.dtype)
    funcs = [Func(name) for name in names]
    for func, name in zip(funcs, names, strict=True):
        func[X] = getattr(fn, name)(image[X] + 1.999 if name == "acosh" else image[X])
    atan2 = Func("atan2")
    atan2[X] = fn.atan2(image[X], image[100 - X])
    algorithm = pipeline([*funcs, atan2])
    sizes = dict.fromkeys(algorithm.outputs, (101,))
    directives = schedule(algorithm)
    for name in algorithm.outputs:
        directives = directives.func(name).vectorize("x", 4)
    compiled = compile_cpu(verify(algorithm, directives.schedule, device("cpu")))
    found = compiled.run({"a": x}, sizes=sizes)
    exact = {
        "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
        "tanh": np.tanh, "asinh": np.arcsinh, "atanh": np.arctanh,
    }  # fmt: skip
    wide = x.astype(np.float64)
    steps = 2 * np.finfo(element.dtype).eps
    for name, function in exact.items():
        np.testing.assert_allclose(found[name], function(wide), rtol=steps, atol=steps / 100)
    np.testing.assert_allclose(found["atan2"], np.arctan2(wide, wide[::-1]), rtol=steps)
    shifted = (x + element.dtype.type(1.999)).astype(np.float64)
    np.testing.assert_allclose(found["acosh"], np.arccosh(shifted), rtol=steps)


def test_rounding_takes_the_even_neighbour() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.4, -2.6, 1e30])
    assert applied(fn.round, x).tolist()[:7] == [0, 2, 2, 0, -2, 2, -3]
    assert applied(fn.trunc, x).tolist()[:7] == [0, 1, 2, 0, -1, 2, -2]
    assert applied(fn.fract, x).tolist()[:5] == [0.5, 0.5, 0.5, -0.5, -0.5]


def test_random_numbers_are_uniform_and_made_of_coordinates() -> None:
    noise = Func("noise")
    noise[X, Y] = quick.random_float(7)
    numbers = both(noise, {}, (256, 256))
    assert numbers.min() >= 0
    assert numbers.max() < 1
    counts, _ = np.histogram(numbers, 16, (0, 1))
    # 4096 in each bin with a standard deviation of 62
    assert np.abs(counts - 4096).max() < 5 * 62
    for shifted in (numbers[1:], numbers[:, 1:]):
        other = numbers[: shifted.shape[0], : shifted.shape[1]]
        assert abs(np.corrcoef(other.ravel(), shifted.ravel())[0, 1]) < 0.02
    assert len(np.unique(numbers)) > 65_000


def test_random_numbers_stay_with_their_coordinates() -> None:
    noise, moved, other, seeded = Func("noise"), Func("moved"), Func("other"), Func("seeded")
    noise[X] = quick.random_int(3)
    moved[X] = noise[X + 5]
    other[Y] = quick.random_int(3)
    seeded[X] = quick.random_int(4)
    here = evaluate(pipeline(noise), {}, sizes={"noise": (20,)})["noise"]
    there = evaluate(pipeline(moved), {}, sizes={"moved": (15,)})["moved"]
    assert (there == here[5:]).all()
    assert (evaluate(pipeline(other), {}, sizes={"other": (20,)})["other"] == here).all()
    assert (evaluate(pipeline(seeded), {}, sizes={"seeded": (20,)})["seeded"] != here).any()


def test_random_numbers_differ_from_one_reduction_point_to_the_next() -> None:
    r = RDom([(0, 64)], "r")
    heads = Func("heads")
    heads[X] = 0
    heads[X] += quick.random_int(r.x * 0) & 1
    found = evaluate(pipeline(heads), {}, sizes={"heads": (50,)})["heads"]
    assert 20 < found.mean() < 44
    assert len(set(found.tolist())) > 5
