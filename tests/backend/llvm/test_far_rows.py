"""Arrays of more than 2^31 elements: the indices of lanes differ by more than int32 holds.

The tests only reserve the memory: they touch a few pages of its 8 GiB.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from spaces.backend.compile import compile_cpu_unchecked
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.functions import clamp
from spaces.model.expressions.types import Int32, UInt8

X, Y = Var("x"), Var("y")
ROWS, ROW, COLUMNS = 8, 1 << 30, 4
MAP_NORESERVE = 0x4000


def far_rows() -> NDArray[np.uint8]:
    """Zeros, in rows of a gibibyte."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    try:
        memory = mmap.mmap(-1, ROWS * ROW, flags=flags)
    except OSError:
        pytest.skip("The system does not reserve 8 GiB of addresses.")
    return np.frombuffer(memory, np.uint8).reshape(ROWS, ROW)


ROWS_READ: dict[str, Callable[[Expr, Func], Expr]] = {
    "clamped": lambda y, table: clamp(y * 2 - 3, 0, ROWS - 1),
    "in order": lambda y, table: y,
    "backwards": lambda y, table: ROWS - 1 - y,
    "looked up": lambda y, table: clamp(cast(Int32, table[y]), 0, ROWS - 1),
}
"""For each row of the output, the row of an image that it reads."""


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("read", ROWS_READ)
def test_lanes_read_rows_that_are_far_apart(read: str, lanes: int) -> None:
    image, table, out = ImageParam(UInt8, 2, "image"), Func("table"), Func("out")
    table[Y] = cast(UInt8, Y * 5 % 8)
    out[X, Y] = image[X, ROWS_READ[read](Y, table)]
    algorithm = pipeline(out)
    chosen = schedule(algorithm).vectorize("y", lanes)
    if read == "looked up":
        chosen = chosen.func("table").compute_root()
    values = far_rows()
    values[:, :COLUMNS] = 10 * np.arange(ROWS)[:, None] + np.arange(COLUMNS)
    compiled = compile_cpu_unchecked(algorithm, chosen.schedule)
    found = compiled.run({"image": values}, sizes={"out": [COLUMNS, ROWS]})["out"]
    rows = {
        "clamped": [0, 0, 1, 3, 5, 7, 7, 7],
        "in order": list(range(8)),
        "backwards": list(range(8))[::-1],
        "looked up": [0, 5, 2, 7, 4, 1, 6, 3],
    }[read]
    assert found.tolist() == [[10 * row + x for x in range(COLUMNS)] for row in rows]


def test_lanes_are_stored_in_rows_that_are_far_apart() -> None:
    out = Func("out")
    out[X, Y] = cast(UInt8, X + 10 * Y)
    algorithm = pipeline(out)
    compiled = compile_cpu_unchecked(algorithm, schedule(algorithm).vectorize("y", 8).schedule)
    values = far_rows()
    part = values[:, :COLUMNS]
    compiled.run({}, sizes={"out": [COLUMNS, ROWS]}, out={"out": part})
    assert part.tolist() == [[10 * y + x for x in range(COLUMNS)] for y in range(ROWS)]
