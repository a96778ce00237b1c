"""Which coordinates have limits, here and in Halide, and the regions that they read."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu
from spaces.backend.halide.errors import LoweringError
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import Expr, cast, constant
from spaces.model.expressions.types import (
    Float32,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)  # fmt: skip
from tests.backend.halide.peer import bridge
from tests.draw_counts import some

X = Var("x")
P, Q = Param(Int32, "p", 2), Param(Int32, "q", 2).set_range(0, 3)
R = Param(Float32, "r", 2.5)
SIZE, LENGTH = 12, 262144
LEAST = -LENGTH // 2
PAGE = Path(__file__).parents[3] / "docs" / "language.md"

Making = Callable[[Expr], Expr]


def real(x: Expr) -> Expr:
    return cast(Float32, x)


def short(x: Expr) -> Expr:
    return cast(Int16, x)


ALIKE: dict[str, Making] = {
    "x & 6": lambda x: x & 6,
    "~x": lambda x: ~x,
    "x << 2": lambda x: x << 2,
    "x << -1": lambda x: x << -1,
    "x >> 1": lambda x: x >> 1,
    "1 << (x & 7)": lambda x: constant(1, Int32) << (x & 7),
    "-x": lambda x: -x,
    "9 - 3 * x": lambda x: 9 - 3 * x,
    "x * x": lambda x: x * x,
    "x * p": lambda x: x * P,
    "x + p": lambda x: x + P,
    "x / 2": lambda x: x / 2,
    "x / -2": lambda x: x / -2,
    "x / p": lambda x: x / P,
    "x % 7": lambda x: x % 7,
    "x % p": lambda x: x % P,
    "pow(x, 2)": lambda x: fn.pow(x, 2),
    "min(x, 7)": lambda x: fn.min(x, 7),
    "max(x, 7)": lambda x: fn.max(x, 7),
    "clamp(x, 2, 7)": lambda x: fn.clamp(x, 2, 7),
    "abs(x - 5)": lambda x: cast(Int32, fn.abs(x - 5)),
    "absd(x, 9)": lambda x: cast(Int32, fixed.absd(x, 9)),
    "select(x > 3, x, 9 - x)": lambda x: fn.select(x > 3, x, 9 - x),
    "mux(x % 3, [x, x + 1, x + 2])": lambda x: fn.mux(x % 3, [x, x + 1, x + 2]),
    "likely(x)": lambda x: fixed.likely(x),
    "int32(x > 3)": lambda x: cast(Int32, x > 3),
    "int32(uint8(x))": lambda x: cast(Int32, cast(UInt8, x)),
    "int32(int8(x))": lambda x: cast(Int32, cast(Int8, x)),
    "int32(uint16(x))": lambda x: cast(Int32, cast(UInt16, x)),
    "int32(int64(x) * 2)": lambda x: cast(Int32, cast(Int64, x) * 2),
    "int32(int64(x) + 3)": lambda x: cast(Int32, cast(Int64, x) + 3),
    "popcount(x)": fixed.popcount,
    "count_leading_zeros(x)": fixed.count_leading_zeros,
    "count_trailing_zeros(x)": fixed.count_trailing_zeros,
    "halving_add(x, x + 3)": lambda x: fixed.halving_add(x, x + 3),
    "halving_sub(x, 7)": lambda x: fixed.halving_sub(x, 7),
    "rounding_halving_add(x, x + 3)": lambda x: fixed.rounding_halving_add(x, x + 3),
    "saturating_add(x, 3)": lambda x: fixed.saturating_add(x, 3),
    "saturating_sub(x, 3)": lambda x: fixed.saturating_sub(x, 3),
    "saturating_cast(uint8, x)": lambda x: cast(Int32, fixed.saturating_cast(UInt8, x * 30)),
    "extract_bits(uint8, x, 4)": lambda x: cast(Int32, fixed.extract_bits(UInt8, x, 4)),
    "rounding_shift_left(x, 1)": lambda x: fixed.rounding_shift_left(x, 1),
    "rounding_shift_right(x, 1)": lambda x: fixed.rounding_shift_right(x, 1),
    "mul_shift_right(x, 3, 1)": lambda x: fixed.mul_shift_right(x, 3, 1),
    "widening_add(int16(x), 3)": lambda x: fixed.widening_add(short(x), constant(3, Int16)),
    "widening_mul(int16(x), 3)": lambda x: fixed.widening_mul(short(x), constant(3, Int16)),
    "widening_sub(int16(x), 3)": lambda x: fixed.widening_sub(short(x), constant(3, Int16)),
    "widening_shift_left(int16(x), 1)": lambda x: fixed.widening_shift_left(short(x), 1),
    "widening_shift_right(int16(x), 1)": lambda x: fixed.widening_shift_right(short(x), 1),
    "widen_right_add(x, int16(3))": lambda x: fixed.widen_right_add(x, constant(3, Int16)),
    "widen_right_sub(x, int16(3))": lambda x: fixed.widen_right_sub(x, constant(3, Int16)),
    "widen_right_mul(x, int16(3))": lambda x: fixed.widen_right_mul(x, constant(3, Int16)),
    "int32(float32(x) * 1.5)": lambda x: cast(Int32, real(x) * 1.5),
    "int32(floor(float32(x) / 2))": lambda x: cast(Int32, fn.floor(real(x) / 2.0)),
    "x + int32(r)": lambda x: x + cast(Int32, R),
    "int32(float32(x) / r)": lambda x: cast(Int32, real(x) / R),
    "int32(ceil(r * float32(p)))": lambda x: x + cast(Int32, fn.ceil(R * real(P))),
    "int32(lerp(float32(x), 9.0, 0.5))": lambda x: cast(Int32, fixed.lerp(real(x), 9.0, 0.5)),
    "lerp of uint8": lambda x: cast(
        Int32, fixed.lerp(cast(UInt8, x), constant(200, UInt8), constant(128, UInt8))
    ),
}
"""Coordinates with limits in both."""

HERE: dict[str, Making] = {
    "x | 1": lambda x: x | 1,
    "x ^ 1": lambda x: x ^ 1,
    "x & -2": lambda x: x & -2,
    "x & (x + 1)": lambda x: x & (x + 1),
    "x | p": lambda x: x | P,
    "x & p": lambda x: x & P,
    "x ^ p": lambda x: x ^ P,
    "x << q": lambda x: x << Q,
    "x >> q": lambda x: x >> Q,
    "x >> clamp(p, 0, 3)": lambda x: x >> fn.clamp(P, 0, 3),
    "rounding_shift_right(x, q)": lambda x: fixed.rounding_shift_right(x, Q),
    "int32(uint32(x) + 3)": lambda x: cast(Int32, cast(UInt32, x) + 3),
}
"""Coordinates with limits only here."""

HERE_OF_FUNCS: dict[str, Making] = {
    "int32(uint32(x))": lambda x: cast(Int32, cast(UInt32, x)),
    "int32(uint64(x))": lambda x: cast(Int32, cast(UInt64, x)),
    "int32(reinterpret(uint32, x))": lambda x: cast(Int32, fixed.reinterpret(UInt32, x)),
}
"""Coordinates with limits in both for reads of an image, and only here for reads of a Func."""

THERE: dict[str, Making] = {
    "int32(sqrt(float32(x)))": lambda x: cast(Int32, fn.sqrt(real(x))),
}
"""Coordinates with limits only in Halide."""

NOWHERE: dict[str, Making] = {
    "x << p": lambda x: x << P,
    "x >> p": lambda x: x >> P,
    "lerp of int32": lambda x: fixed.lerp(x, x + 8, constant(128, UInt8)),
    "int32(sin(float32(x)) * 5)": lambda x: cast(Int32, fn.sin(real(x)) * 5.0),
}
"""Coordinates without limits in either."""

EVERY = {**ALIKE, **HERE, **HERE_OF_FUNCS, **THERE, **NOWHERE}


def reading(making: Making, place: str) -> Pipeline:
    f, g, image = Func("f"), Func("g"), ImageParam(Int32, 1, "image")
    g[X] = X * 3 + image[0]
    at = making(X.as_expr())
    f[X] = (image if place == "image" else g)[at]
    return pipeline(f)


@pytest.mark.parametrize(("name", "place"), some(product(EVERY, ["image", "root", "inline"])))
def test_limits_of_coordinates(name: str, place: str) -> None:
    algorithm = reading(EVERY[name], place)
    chosen = schedule(algorithm).schedule
    if place == "root":
        chosen = schedule(algorithm).func("g").compute_root().schedule
    inputs = {"image": np.arange(LENGTH, dtype=np.int32) * 7}
    sizes = {"f": [SIZE], "image": [(LEAST, LENGTH)]}
    params = {scalar.name: 2 for scalar in algorithm.scalars}
    wanted = evaluate(algorithm, inputs, params, sizes)["f"]
    verdict = verify(algorithm, chosen, device("cpu"))
    if isinstance(verdict, CheckedSchedule):
        found = compile_cpu(verdict).run(inputs, params, sizes=sizes)["f"]
        np.testing.assert_array_equal(found, wanted)
    try:
        built = bridge.build(algorithm, chosen)
        theirs = built.realize(inputs, params, sizes, bridge.STRICT)["f"]
        is_theirs = True
        if "sin" not in name:
            np.testing.assert_array_equal(theirs, wanted)
    except LoweringError:
        is_theirs = False
    is_moved = place != "inline"
    limits = not (is_moved and name in THERE | NOWHERE)
    if place == "root":
        halide = name not in HERE | HERE_OF_FUNCS | NOWHERE
    else:
        halide = not (is_moved and name in HERE | NOWHERE)
    assert (isinstance(verdict, CheckedSchedule), is_theirs) == (limits, halide)


def test_the_page_lists_every_difference() -> None:
    _, _, section = PAGE.read_text().partition("### Limits of coordinates")
    section = section.partition("\n#")[0]
    rows = re.findall(r"^\| (.+?) \| `(.+?)` \|$", section, re.MULTILINE)
    told = {
        **dict.fromkeys(HERE, "this library"),
        **dict.fromkeys(HERE_OF_FUNCS, "both; in Halide for images only"),
        **dict.fromkeys(THERE, "Halide"),
    }
    assert {name.replace("\\|", "|"): where for where, name in rows} == told
