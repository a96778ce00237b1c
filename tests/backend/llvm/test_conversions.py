"""Casts of floats to integers: truncated, limited to the type, 0 for NaN."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.llvm.operators import FloatMode
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import cast
from spaces.model.expressions.functions import clamp
from spaces.model.expressions.types import (
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Type,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)

X = Var("x")
TARGETS = (Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64)


def expected(value: float, target: Type) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return target.max_value if value > 0 else target.min_value
    return min(max(math.trunc(Fraction(value)), target.min_value), target.max_value)


def values(source: Type) -> list[float]:
    kind = source.dtype.type
    ends = [kind(n) for t in TARGETS for n in (t.min_value, t.max_value, t.max_value + 1)]
    near = [np.nextafter(e, kind(to)) for e in ends for to in (-math.inf, math.inf)]
    plain = [0.0, -0.0, 0.5, -0.5, -0.99, 1.5, -1.5, 100.7, -100.7, 1e30, -1e30]
    special = [math.nan, math.inf, -math.inf]
    return [float(kind(v)) for v in (*ends, *near, *plain, *special)]


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("source", [Float32, Float64])
@pytest.mark.parametrize("target", TARGETS)
def test_limits(source: Type, target: Type, lanes: int) -> None:
    image, out = ImageParam(source, 1, "image"), Func("out")
    out[X] = cast(target, image[X])
    algorithm = pipeline(out)
    directives = schedule(algorithm)
    if lanes > 1:
        directives = directives.vectorize("x", lanes, "guard_with_if")
    array = np.array(values(source), source.dtype)
    wanted = [expected(v, target) for v in array.tolist()]
    for mode in (FloatMode.STRICT, FloatMode.CONTRACT):
        code = compile_cpu_unchecked(algorithm, directives.schedule, threads=1, float_mode=mode)
        found = code.run({"image": array}, sizes={"out": [len(array)]})["out"]
        assert found.tolist() == wanted


@pytest.mark.parametrize("target", [UInt8, Int16, Int32, UInt32])
def test_clamped_values_are_limited_no_further(target: Type) -> None:
    image, out = ImageParam(Float32, 1, "image"), Func("out")
    out[X] = cast(target, clamp(image[X], 0.0, 200.0) + 0.5)
    algorithm = pipeline(out)
    code = compile_cpu_unchecked(
        algorithm, schedule(algorithm).vectorize("x", 8, "round_up").schedule, threads=1
    )
    array = np.array([*values(Float32), 0, 0, 0, 0, 0, 0, 0], np.float32)[:72]
    found = code.run({"image": array}, sizes={"out": [72]})["out"]
    inside = np.where(array < 200, array, np.float32(200))  # NaN is limited from above first
    wanted = np.trunc(np.where(inside > 0, inside, np.float32(0)) + np.float32(0.5))
    assert np.array_equal(found, wanted.astype(target.dtype))
    assert code.llvm_ir().count("fcmp") == 2  # those of the clamp


@pytest.mark.parametrize("target", [UInt8, UInt16, Int8, Int16])
def test_values_clamped_one_too_high_are_limited_again(target: Type) -> None:
    image, out = ImageParam(Float32, 1, "image"), Func("out")
    out[X] = cast(target, clamp(image[X], float(target.min_value), float(target.max_value + 1)))
    algorithm = pipeline(out)
    code = compile_cpu_unchecked(
        algorithm, schedule(algorithm).vectorize("x", 8, "round_up").schedule, threads=1
    )
    array = np.array([target.max_value + n for n in range(-3, 5)], np.float32)
    found = code.run({"image": array}, sizes={"out": [8]})["out"]
    assert found.tolist() == [target.max_value + n for n in (-3, -2, -1, 0, 0, 0, 0, 0)]
