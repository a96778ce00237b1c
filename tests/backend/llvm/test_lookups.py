"""Look-ups whose lanes differ in several coordinates: places are sums of products of all lanes."""

import numpy as np
import pytest

from spaces import (
    Func,
    ImageParam,
    UInt8,
    UInt16,
    Var,
    compile_cpu,
    device,
    i32,
    parse_schedule,
    pipeline,
    verify,
)


@pytest.mark.parametrize("directive", ["vectorize(x, 8)", "split(x, x, xi, 8).vectorize(xi)"])
@pytest.mark.parametrize("flips", [(1, 1, 1), (-1, 1, -1), (1, -1, 1)])
def test_tables_of_three_dimensions_in_any_layout(directive, flips):
    """Coordinates that rise and fall with values of an image; a table may lie backwards. The index
    of the first table is a sum of products, from which ``value % 3 * 2`` is subtracted.
    """
    x, y = Var("x"), Var("y")
    image, table = ImageParam(UInt8, 2, "image"), ImageParam(UInt16, 3, "table")
    out = Func("out")
    value = i32(image[x, y])
    out[x, y] = (
        table[4 - value % 3 * 2, 6 - value % 7, (value + x) % 4] + table[4 - value % 5, 2, y % 4]
    )
    made = pipeline(out, estimates={out: [32, 6], image: [32, 6], table: [5, 7, 4]})
    checked = verify(made, parse_schedule(f"out.{directive}", made), device("cpu"))
    dice = np.random.default_rng(1)
    values = dice.integers(0, 256, (6, 32)).astype(np.uint8)
    entries = dice.integers(0, 9999, (4, 7, 5)).astype(np.uint16)
    steps = tuple(slice(None, None, flip) for flip in flips)
    laid = entries[steps].copy()[steps]  # the same values, with other strides
    found = compile_cpu(checked).run({"image": values, "table": laid}, sizes={"out": (32, 6)})
    v, columns, rows = values.astype(int), np.arange(32)[None], np.arange(6)[:, None]
    first = entries[(v + columns) % 4, 6 - v % 7, 4 - v % 3 * 2]
    second = entries[rows % 4, 2, 4 - v % 5]
    assert (found["out"] == first + second).all()
