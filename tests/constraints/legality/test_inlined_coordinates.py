"""A coordinate that reads an inlined Func has the limits of the value substituted for it."""

from collections.abc import Callable

import pytest

import spaces
from spaces import Expr, Func, ImageParam, UInt8, Var, i32

X = Var("x")
IMAGE = ImageParam(UInt8, 1, "image")
PIXEL = i32(IMAGE[X])


@pytest.mark.parametrize(
    "value",
    [
        lambda: i32(spaces.absd(PIXEL, 3)),
        lambda: spaces.halving_add(PIXEL, PIXEL + 1),
        lambda: spaces.rounding_shift_right(PIXEL, 2),
        lambda: spaces.likely(PIXEL),
        lambda: spaces.require(PIXEL < 250, PIXEL, "It is too bright."),
    ],
    ids=["absd", "halving_add", "rounding_shift_right", "likely", "require"],
)
def test_operators_that_are_substituted_keep_their_limits(value: Callable[[], Expr]) -> None:
    table, index, out = Func("table"), Func("index"), Func("out")
    index[X] = value()
    table[X] = X * 3
    out[X] = table[index[X]]
    pipeline = spaces.pipeline(out)
    schedule = spaces.parse_schedule("table.compute_root()", pipeline)
    assert spaces.verify(pipeline, schedule, spaces.device("cpu")).legal
