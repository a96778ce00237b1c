"""Advice on work that a schedule does again and on lanes that it leaves idle: real mistakes."""

from __future__ import annotations

import pytest

from spaces import Func, ImageParam, Int32, Pipeline, RDom, UInt8, Var, device, pipeline, verify
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.writing.text import parse_schedule

X, Y, C = Var("x"), Var("y"), Var("c")


def brightness(width: int, height: int) -> Pipeline:
    """The sum of a corrected image."""
    image, curve, total = ImageParam(Int32, 2, "image"), Func("curve"), Func("total")
    r = RDom([(0, width), (0, height)], "r")
    curve[X, Y] = image[X, Y] * image[X, Y]
    total[()] = 0
    total[()] += curve[r.x, r.y]
    return pipeline(total, estimates={image: [width, height]})


def doubled(width: int, height: int) -> Pipeline:
    image, g, f = ImageParam(Int32, 2, "image"), Func("g"), Func("f")
    g[X, Y] = image[X, Y] * 2
    f[X, Y] = g[X, Y] + 1
    return pipeline(f, estimates={image: [width, height], f: [width, height]})


def colors(channels: int) -> Pipeline:
    """An image whose innermost dimension is the color."""
    image, f = ImageParam(UInt8, 2, "image"), Func("f")
    f[C, X] = image[C, X] / 2
    return pipeline(f, estimates={image: [channels, 4096], f: [channels, 4096]})


def advice(made: Pipeline, text: str, on: str = "cpu") -> list[str]:
    checked = verify(made, parse_schedule(text, made), device(on))
    assert isinstance(checked, CheckedSchedule)
    return [str(one) for one in checked.advice]


def test_fused_loops_over_an_image_compute_whole_rows_for_a_few_values():
    def tiles(factor: int) -> str:
        split = f"total.update(0).fuse(r.x, r.y, t).split(t, to, ti, {factor});"
        return f"{split} curve.compute_at(total, to);"

    (found,) = advice(brightness(640, 480), tiles(64))
    assert found.startswith(
        "advice.whole-dimension: curve.compute_at(total, to) computes all 640 coordinates of curve "
        "along x in each iteration of total.to, for 64 iterations of total.update(0) each time. "
        "Compute curve at root, or at a loop whose iterations need a part of x."
    )
    assert advice(brightness(640, 480), tiles(640)) == []
    rows = "total.update(0).split(r.x, xo, xi, 64); curve.compute_at(total, xo);"
    assert advice(brightness(640, 480), rows) == []


def test_a_bound_computes_all_of_it_in_each_tile():
    tiles = "f.split(x, xo, xi, 32, TailStrategy::GuardWithIf);"
    (found,) = advice(doubled(640, 480), f"{tiles} g.bound(x, 0, 640).compute_at(f, xo);")
    assert found.startswith(
        "advice.computed-again: g.compute_at(f, xo) computes the same 640 values of g again in "
        "each of 20 iterations of f.xo, for 32 iterations of f each time. Compute g at f.y, or "
        "leave out g.bound(x, 0, 640), which asks for all of it each time."
    )
    assert advice(doubled(640, 480), f"{tiles} g.bound(x, 0, 640).compute_at(f, y);") == []
    assert advice(doubled(640, 480), f"{tiles} g.compute_at(f, xo);") == []


def test_all_inner_loops_that_do_not_move_a_region_repeat_it():
    f, g = Func("f"), Func("g")
    f[X] = X * X
    g[X, Y, C] = f[C] + f[C + 1]
    made = pipeline(g, estimates={g: [8, 6, 5]})
    (found,) = advice(made, "f.compute_at(g, x);")
    assert found.startswith(
        "advice.computed-again: f.compute_at(g, x) computes the same 2 values of f again in each "
        "of 48 iterations of g.y, for 1 iterations of g each time. Compute f at g.c."
    )


@pytest.mark.parametrize(("used", "wastes"), [(63, True), (64, False)])
def test_a_table_may_be_computed_where_it_is_used_as_often(used: int, wastes: bool):
    table, image, f = Func("table"), ImageParam(UInt8, 2, "image"), Func("f")
    table[X] = X * X
    f[X, Y] = table[image[X, Y] % 64]
    made = pipeline(f, estimates={image: [used, 480], f: [used, 480]})
    found = advice(made, "table.compute_at(f, y);")
    assert [one.split(":")[0] for one in found] == ["advice.computed-again"] * wastes


def test_a_vector_of_sixteen_along_three_colors():
    wide = "f.split(c, co, ci, 16, TailStrategy::GuardWithIf).vectorize(ci);"
    (found,) = advice(colors(3), wide)
    assert found.startswith(
        "advice.idle-lanes: f.split(c, co, ci, 16, TailStrategy::GuardWithIf) makes 16 lanes of c, "
        "which has 3 iterations: the other lanes do nothing. Split by 3 or less, or take a longer "
        "loop for them."
    )
    assert advice(colors(8), wide) == []
    assert len(advice(colors(7), wide)) == 1


def test_blocks_of_a_few_threads():
    (found,) = advice(doubled(640, 480), "f.gpu_tile(x, y, xi, yi, 5, 3, GuardWithIf);", "sm_80")
    assert found.startswith(
        "advice.partial-warp: A block of the kernel of f has 15 threads, and a warp of sm_80 32: "
        "in each of 20480 blocks the other lanes do nothing. Give blocks at least 32 threads, for "
        "instance by larger tiles."
    )
    assert advice(doubled(640, 480), "f.gpu_tile(x, y, xi, yi, 8, 2);", "sm_80") == []
    assert advice(doubled(5, 5), "f.gpu_tile(x, y, xi, yi, 5, 1);", "sm_80") == []
