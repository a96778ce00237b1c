"""Loops begin and end where their tests begin and end to hold; the values stay."""

from __future__ import annotations

import numpy as np
import pytest

from spaces import Func, ImageParam, Param, Pipeline, RDom, Var, cast, compile_cpu, device, verify
from spaces import pipeline as freeze
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import For, If
from spaces.backend.lowering.cpu.passes import lower
from spaces.model.expressions.types import Int32, UInt8, UInt16
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.schedule import Schedule
from tests.differential.quick_code import quick_code

X = Var("x")
LIMITS = (-3, 0, 1, 5, 9, 40)


def triangle(strict: bool) -> Pipeline:
    """Sums over points below a diagonal of a box of 6 x 6."""
    image, out, r = ImageParam(UInt8, 2, "image"), Func("out"), RDom([(0, 6), (0, 6)], "r")
    r.where(r.x < r.y if strict else (r.x <= r.y) & (r.x + r.y != 4))
    out[X] = cast(UInt16, 0)
    out[X] += cast(UInt16, image[X + r.x, r.y])
    return freeze(out)


def loops(pipeline: Pipeline) -> tuple[dict[str, For], list[If]]:
    nest = loop_nest(pipeline, Schedule.default(pipeline))
    parts = list(walk_nodes(lower(nest)["trim"].body))
    found = {s.var.name.split(".", 2)[2]: s for s in parts if isinstance(s, For)}
    return found, [s for s in parts if isinstance(s, If)]


def test_a_triangle_is_visited_without_a_test() -> None:
    found, tests = loops(triangle(strict=True))
    inner, outer = found["r.x"], found["r.y"]
    assert not tests
    rows = range(evaluate(outer.min, {}), evaluate(outer.min + outer.extent, {}))
    assert rows == range(1, 6)
    for row in rows:
        at = {outer.var.name: row}
        assert (evaluate(inner.min, at), evaluate(inner.extent, at)) == (0, row)


def test_a_test_that_fails_in_the_middle_stays() -> None:
    found, tests = loops(triangle(strict=False))
    assert [evaluate(found["r.x"].extent, {found["r.y"].var.name: y}) for y in (0, 5)] == [1, 6]
    assert len(tests) == 1


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_of_the_caller_gives_the_same_sums(limit: int) -> None:
    image, out, r = ImageParam(UInt8, 2, "image"), Func("out"), RDom([(0, 6), (0, 4)], "r")
    least = Param(Int32, "least")
    r.where((2 * r.x + r.y < least) & (r.y - r.x >= 0 - least))
    out[X] = cast(UInt16, 7)
    out[X] += cast(UInt16, image[X + r.x, r.y])
    made = freeze(out)
    (sum_of_row,) = (s for s in loops(made)[0].values() if s.var.name.endswith("r.x"))
    assert "least" in sum_of_row.extent.names
    pixels = np.random.default_rng(limit + 9).integers(0, 255, (4, 9), dtype=np.uint8)
    wanted = [
        7 + sum(
            int(pixels[y, x + dx])
            for dx in range(6)
            for y in range(4)
            if 2 * dx + y < limit and y - dx >= -limit
        )
        for x in range(4)
    ]  # fmt: skip
    checked = verify(made, Schedule.default(made), device("cpu"))
    with quick_code():
        found = compile_cpu(checked)({"image": pixels}, {"least": limit}, {"out": (4,)})["out"]
    assert found.tolist() == wanted
