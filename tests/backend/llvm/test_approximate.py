"""Exponential, logarithm and power of fast code, compared with NumPy's float64 functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.llvm.operators import FloatMode
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.functions import exp, log, pow
from spaces.model.expressions.types import Float32

Floats = NDArray[np.float32]

X = Var("x")
COUNT = 100_000


def fast(function: Callable[..., Expr], *operands: Floats, lanes: int = 16) -> Floats:
    images = [ImageParam(Float32, 1, f"in{n}") for n in range(len(operands))]
    out = Func("out")
    out[X] = function(*(image[X] for image in images))
    algorithm = pipeline(out)
    directives = schedule(algorithm).vectorize("x", lanes, "guard_with_if")
    code = compile_cpu_unchecked(
        algorithm, directives.schedule, threads=1, float_mode=FloatMode.FAST
    )
    inputs = {f"in{n}": values for n, values in enumerate(operands)}
    return code.run(inputs, sizes={"out": [len(operands[0])]})["out"]


def units(found: Floats, exact: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances from exact values in units of the last place of float32."""
    return np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float32))


def uniform(low: float, high: float, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).uniform(low, high, COUNT).astype(np.float32)


@pytest.mark.parametrize("width", [87.3, 1.0])
def test_exponential(width: float) -> None:
    x = uniform(-width, width)
    assert units(fast(exp, x), np.exp(x.astype(np.float64))).max() < 1


@pytest.mark.parametrize("width", [87.3, 0.5])
def test_logarithm(width: float) -> None:
    x = np.exp(uniform(-width, width))
    assert units(fast(log, x), np.log(x.astype(np.float64))).max() < 1


def test_power() -> None:
    x, y = uniform(0.01, 10), uniform(-20, 20, seed=1)
    exact = np.power(x.astype(np.float64), y)
    is_normal = (exact > 1.2e-38) & (exact < 3.4e38)
    allowed = 2 + 2 * np.abs(y * np.log2(x.astype(np.float64)))
    distances = units(fast(pow, x, y)[is_normal], exact[is_normal])
    assert np.all(distances < allowed[is_normal])


def test_particular_values() -> None:
    x = np.float32([-2, -2, -2, 0, 0, -3, 2, 1, 0])
    y = np.float32([3, 2, 0.5, 0, 1.5, -1, 0, 7, 3])
    expected = np.float32([-8, 4, np.nan, 1, 0, -1 / 3, 1, 1, 0])
    for lanes in (1, 8):
        assert np.array_equal(fast(pow, x, y, lanes=lanes), expected, equal_nan=True)
    assert fast(exp, np.float32([-1000, -88, 0])).tolist() == [0, 0, 1]
    expected = np.float32([-np.inf, np.nan, 0])
    assert np.array_equal(fast(log, np.float32([0, -1, 1])), expected, equal_nan=True)
