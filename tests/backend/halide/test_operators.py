"""Float functions whose last bits differ from Halide: the distance between the two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.source import halide_source
from spaces.backend.reference import evaluate
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions import approximations as quick
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.types import (
    Bool,
    Float32,
    Float64,
    Int8,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt64,
)
from tests.backend.halide.peer import bridge

X, Y, C = Var("x"), Var("y"), Var("c")
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
"""Ranges of operands, and the error of Halide's own function, absolute where results are small."""


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


def interleaved() -> Pipeline:
    image, shift = ImageParam(UInt8, 3, "rgb"), Param(Int32, "shift").set_range(0, 4)
    image.dim(0).set_stride(3)
    image.dim(2).set_bounds(0, 3).set_stride(1)
    out = Func("out")
    out[X, Y, C] = image[X, Y, C] - image[X + shift, Y, (C + 1) % image.channels()]
    out.output_buffer().dim(0).set_stride(3)
    out.output_buffer().dim(2).set_bounds(0, 3).set_stride(1)
    return pipeline(out)


def test_halide_knows_the_same_sizes_strides_and_ranges() -> None:
    algorithm = interleaved()
    pixels = np.random.default_rng(5).integers(0, 256, (7, 20, 3)).astype(np.uint8)
    run = ({"rgb": np.moveaxis(pixels, 2, 0)}, {"shift": 3}, {"out": (17, 7, 3)})
    peer = bridge.build(algorithm)
    theirs = peer.realize(*run)["out"]
    assert (theirs == evaluate(algorithm, *run)["out"]).all()
    assert theirs.strides == (1, 17 * 3, 3)
    text = halide_source(algorithm)
    for line in (
        "rgb.dim(0).set_stride(3);",
        "out.output_buffer().dim(2).set_extent(Expr(3));",
        "shift.set_max_value(Expr(4));",
    ):
        assert line in text


def test_literals_of_64_bits() -> None:
    image, f, g = ImageParam(UInt64, 1, "in"), Func("f"), Func("g")
    f[X] = (image[X] ^ ((1 << 64) - 3)) + cast(UInt64, 1 << 63)
    g[X] = cast(Float64, image[X] + (1 << 63)) + cast(Float64, 1 << 63)
    values = np.resize(np.array([0, 1, 1 << 63, (1 << 64) - 1], np.uint64), SIZE)
    ours, theirs = sides({"f": f, "g": g}, {"in": values})
    for name in ours:
        assert (ours[name] == theirs[name]).all()
    assert int(ours["f"][0]) == (1 << 63) - 3


def test_scalars_of_every_type_are_handed_over_whole() -> None:
    values = {
        Bool: True,
        Int8: -7,
        UInt16: 65_500,
        Int64: -(2**62) - 12_345,
        UInt64: 2**64 - 5,
        Float32: -0.15625,
        Float64: 1 / 3,
    }
    scalars = {type: Param(type, f"of_{type}") for type in values}
    scalars[Float64].set_range(0.25, 0.5)
    funcs = {str(type): Func(f"f_{type}") for type in values}
    for type, scalar in scalars.items():
        funcs[str(type)][X] = fn.select(X > 3, scalar, cast(type, 0))
    algorithm = pipeline(list(funcs.values()))
    given = {scalar.name: values[type] for type, scalar in scalars.items()}
    sizes = dict.fromkeys(algorithm.outputs, (5,))
    theirs = bridge.build(algorithm).realize({}, given, sizes)
    ours = evaluate(algorithm, {}, given, sizes)
    for type, value in values.items():
        name = f"f_{type}"
        assert theirs[name].tolist() == ours[name].tolist() == [type.dtype.type(0)] * 4 + [value]


def test_a_function_that_halide_lacks_is_refused_where_it_is_used() -> None:
    function = pytest.importorskip("spaces.backend.halide.expressions").peer_function("cube_of")
    with pytest.raises(DirectiveError, match="Halide has no function cube_of"):
        function(1.0)
