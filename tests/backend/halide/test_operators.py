"""Float functions whose last bits are not Halide's: how far the two are apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from backend.reference import evaluate
from spaces.model import approximations as quick
from spaces.model import functions as fn
from spaces.model import integer_functions as fixed
from spaces.model.expr import Expr
from spaces.model.freeze import pipeline
from spaces.model.func import Func, ImageParam, Var
from spaces.model.types import Float32, UInt8

bridge = pytest.importorskip(
    "backend.halide.bridge",
    reason="Halide's Python package, the extra `halide`, is not installed",
    exc_type=ImportError,
)

X = Var("x")
SIZE = 64

Case = tuple[Callable[..., Expr], float, float]
RELATIVE: dict[str, Case] = {
    "asin": (fn.asin, -1, 1), "acos": (fn.acos, -1, 1), "atan": (fn.atan, -9, 9),
    "sinh": (fn.sinh, -9, 9), "cosh": (fn.cosh, -9, 9), "tanh": (fn.tanh, -3, 3),
    "asinh": (fn.asinh, -9, 9), "acosh": (fn.acosh, 1, 9), "atanh": (fn.atanh, -0.9, 0.9),
}  # fmt: skip
QUICK: dict[str, tuple[Case, float]] = {
    "fast_exp": ((quick.fast_exp, -20, 20), 1e-5),
    "fast_log": ((quick.fast_log, 0.01, 99), 1e-5),
    "fast_sin": ((quick.fast_sin, -30, 30), 2e-5),
    "fast_cos": ((quick.fast_cos, -30, 30), 2e-5),
    "fast_inverse": ((quick.fast_inverse, 0.1, 9), 1e-3),
    "fast_inverse_sqrt": ((quick.fast_inverse_sqrt, 0.1, 9), 1e-3),
}
"""Ranges, and how far Halide's own may be off, absolutely where results are small."""


def sides(
    funcs: dict[str, Func], inputs: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    algorithm = pipeline(list(funcs.values()))
    sizes = dict.fromkeys(algorithm.outputs, (SIZE,))
    with np.errstate(all="ignore"):
        ours = evaluate(algorithm, inputs, sizes=sizes)
    theirs = bridge.build(algorithm).realize(inputs, sizes=sizes, target=bridge.STRICT)
    return (
        {name: ours[func.name] for name, func in funcs.items()},
        {name: theirs[func.name] for name, func in funcs.items()},
    )


def drawn(cases: dict[str, Case]) -> tuple[dict[str, Func], dict[str, np.ndarray]]:
    funcs, inputs = {}, {}
    for name, (function, low, high) in cases.items():
        image = ImageParam(Float32, 1, f"in_{name}")
        funcs[name] = Func(f"of_{name}")
        funcs[name][X] = function(image[X])
        inputs[image.name] = np.linspace(low, high, SIZE, dtype=np.float32)
    return funcs, inputs


def test_functions_are_within_four_units_in_the_last_place() -> None:
    ours, theirs = sides(*drawn(RELATIVE))
    for name in RELATIVE:
        np.testing.assert_array_max_ulp(ours[name], theirs[name], 4)


def test_quick_functions_are_as_close_as_halide_is() -> None:
    ours, theirs = sides(*drawn({name: case for name, (case, _) in QUICK.items()}))
    for name, (_, bound) in QUICK.items():
        np.testing.assert_allclose(ours[name], theirs[name], rtol=bound, atol=bound, err_msg=name)


def test_blends_of_floats_are_within_two_units_in_the_last_place() -> None:
    a, b, w = ImageParam(Float32, 1, "a"), ImageParam(Float32, 1, "b"), ImageParam(UInt8, 1, "w")
    by_share, by_number = Func("by_share"), Func("by_number")
    by_share[X] = fixed.lerp(a[X], b[X], fn.abs(a[X]) / 100.0)
    by_number[X] = fixed.lerp(a[X], b[X], w[X])
    generator = np.random.default_rng(3)
    inputs = {
        "a": generator.uniform(1, 100, SIZE).astype(np.float32),
        "b": generator.uniform(1, 100, SIZE).astype(np.float32),
        "w": generator.integers(0, 256, SIZE).astype(np.uint8),
    }
    ours, theirs = sides({"by_share": by_share, "by_number": by_number}, inputs)
    for name in ours:
        np.testing.assert_array_max_ulp(ours[name], theirs[name], 2)


def test_halide_gets_our_random_numbers() -> None:
    funcs = {"whole": Func("whole"), "part": Func("part")}
    funcs["whole"][X] = quick.random_uint(X)
    funcs["part"][X] = quick.random_float(9)
    ours, theirs = sides(funcs, {})
    for name in funcs:
        assert (ours[name] == theirs[name]).all()
