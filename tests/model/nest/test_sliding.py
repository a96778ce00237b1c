"""Sliding windows and folding on the two-stage blur of [RK13 3.1], by counting."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product
from math import prod

import pytest

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import Allocate, loop_nest, walk_nest
from spaces.model.nest.nest_text import format_nest
from spaces.model.writing.text import parse_schedule
from tests.model.nest.nest_interpreter import ideal, run_nest

X, Y = Var("x"), Var("y")
WIDTH, HEIGHT = 16, 24
SIZES = {"out.min.0": 0, "out.min.1": 0, "out.extent.0": WIDTH, "out.extent.1": HEIGHT}


def blur(output: str = "out") -> Pipeline:
    image = ImageParam(Int32, 2, "input")
    blurx, out = Func("blurx" if output == "out" else "f"), Func(output)
    blurx[X, Y] = image[X - 1, Y] + image[X, Y] + image[X + 1, Y]
    out[X, Y] = blurx[X, Y - 1] + blurx[X, Y] + blurx[X, Y + 1]
    return pipeline(out)


def measure(directives: Directives) -> tuple[int, int]:
    """(values of blurx computed, elements of blurx allocated at a time)."""
    nest = loop_nest(blur(), directives.schedule)
    _, computed = run_nest(nest, SIZES, lambda name, at: at[0] + at[1])
    (allocation,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    return computed - WIDTH * HEIGHT, evaluate(allocation.elements, SIZES)


def start() -> Directives:
    return schedule(blur())


@pytest.mark.parametrize(
    ("directives", "computed", "allocated"),
    [
        pytest.param(
            start().func("blurx").compute_root(),
            WIDTH * (HEIGHT + 2),
            WIDTH * (HEIGHT + 2),
            id="breadth first",
        ),
        pytest.param(
            start().func("blurx").compute_at("out", "x"), 3 * WIDTH * HEIGHT, 3, id="full fusion"
        ),
        pytest.param(
            start().func("blurx").store_root().compute_at("out", "x"),
            WIDTH * (HEIGHT + 2),
            3 * WIDTH,
            id="sliding window",
        ),
        pytest.param(
            start().tile("x", "y", "xi", "yi", 8, 8).func("blurx").compute_at("out", "x"),
            (HEIGHT // 8) * WIDTH * 10,
            8 * 10,
            id="tiled",
        ),
        pytest.param(
            start()
            .split("y", "y", "yi", 8)
            .func("blurx")
            .store_at("out", "y")
            .compute_at("out", "yi"),
            (HEIGHT // 8) * WIDTH * 10,
            3 * WIDTH,
            id="sliding in tiles",
        ),
    ],
)
def test_work_and_storage_of_the_five_strategies(
    directives: Directives, computed: int, allocated: int
) -> None:
    assert measure(directives) == (computed, allocated)


def test_a_window_that_slides_along_two_loops_keeps_rows_until_they_are_read_again() -> None:
    """Along x inside y, folding the inner dimension would lose the columns of earlier rows."""
    image = ImageParam(Int32, 2, "input")
    f, out = Func("f"), Func("out")
    f[X, Y] = image[X, Y]
    out[X, Y] = f[X - 1, Y - 1] + f[X + 1, Y + 1]
    chosen = schedule(pipeline(out)).func("f").store_root().compute_at("out", "x").schedule
    nest = loop_nest(pipeline(out), chosen)
    (allocation,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    assert allocation.folds[0] is None
    assert str(allocation.folds[1]) == "3"
    _, computed = run_nest(nest, SIZES, lambda name, at: at[0] * at[1])
    assert computed == WIDTH * HEIGHT + (WIDTH + 2) * (HEIGHT + 2)


def test_a_window_at_half_the_resolution_keeps_two_rows() -> None:
    image = ImageParam(Int32, 2, "input")
    half, out = Func("half"), Func("out")
    half[X, Y] = image[X, Y * 2] + image[X, Y * 2 + 1]
    out[X, Y] = half[X, Y / 2] + half[X, (Y + 1) / 2]
    chosen = schedule(pipeline(out)).func("half").store_root().compute_at("out", "y").schedule
    nest = loop_nest(pipeline(out), chosen)
    (allocation,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    assert str(allocation.folds[1]) == "2"
    _, computed = run_nest(nest, SIZES, lambda name, at: at[0] * at[1])
    assert computed == WIDTH * HEIGHT + WIDTH * (HEIGHT // 2 + 1)


NEIGHBORS = {
    "rounded up and down": lambda y: ((y - 1) / 2, (y + 1) / 2),
    "chosen by the parity": lambda y: (y / 2, y / 2 - 1 + y % 2 * 2),
}
"""The two rows of a picture of half the height between or at which a row of the whole one lies."""


@pytest.mark.parametrize(
    ("form", "rows"),
    [("rounded up and down", ["3", "3", "2"]), ("chosen by the parity", ["5", "4", "2"])],
)
@pytest.mark.parametrize("strips", ["", "out.split(y, yo, y, 8)"])
def test_windows_slide_down_a_pyramid(form: str, rows: list[str], strips: str) -> None:
    """Each level is enlarged from the one before it: their windows turn with the same loop."""
    levels = [Func("f"), Func("g"), Func("h"), Func("out")]
    levels[0][X, Y] = ImageParam(Int32, 2, "input")[X, Y]
    for small, large in pairwise(levels):
        above, below = NEIGHBORS[form](Y)
        large[X, Y] = small[X, above] + 3 * small[X, below]
    algorithm = pipeline(levels[-1])
    stored = "store_at(out, yo)" if strips else "store_root()"
    text = f"{strips}\n" + "\n".join(f"{f}.{stored}.compute_at(out, y)" for f in "fgh")
    nest = loop_nest(algorithm, parse_schedule(text, algorithm))
    folds = {n.func: str(n.folds[1]) for n in walk_nest(nest.body) if isinstance(n, Allocate)}
    assert folds == dict(zip("fgh", rows, strict=True))
    sizes = {"out.min.0": 0, "out.extent.0": 2, "out.min.1": 3, "out.extent.1": 21}
    outputs, computed = run_nest(nest, sizes, pixel)
    places = product(range(2), range(3, 24))
    assert outputs["out"] == {at: ideal(algorithm, "out", at, pixel) for at in places}
    # Strips compute what they share twice; without them no value is computed twice.
    if not strips:
        assert computed <= 2 * (21 + (11 + 2) + (6 + 4) + (3 + 5))


def test_pairs_of_rows_slide() -> None:
    """What is aligned to pairs of rows is made of pairs in the first iteration, too: they can be
    unrolled, and what they read slides.
    """
    f, g, out = Func("f"), Func("g"), Func("out")
    f[X, Y] = ImageParam(Int32, 2, "input")[X, Y]
    g[X, Y] = f[X, Y / 2 - 1] + f[X, Y / 2] + f[X, Y / 2 + 1]
    out[X, Y] = g[X, Y - 1] + g[X, Y + 1]
    algorithm = pipeline(out)
    text = (
        "out.split(y, y, yi, 2).split(y, yo, y, 4).reorder(x, yi, y, yo)\n"
        "g.store_at(out, yo).compute_at(out, y).align_bounds(y, 2)"
        ".split(y, y, yi, 2).reorder(yi, x, y).unroll(yi)\n"
        "f.store_at(out, yo).compute_at(out, y)"
    )
    nest = loop_nest(algorithm, parse_schedule(text, algorithm))
    slides = {name: [s.dimension for s in nest.placements[name].storage.slides] for name in "fg"}
    assert slides == {"f": ["y"], "g": ["y"]}
    coordinate = nest.placements["g"].stages[0].coordinates["y"]
    assert "min(g." not in str(coordinate)  # no tile of two rows needs to be shifted
    for first, rows in ((3, 17), (4, 16)):
        sizes = {"out.min.0": 0, "out.extent.0": 2, "out.min.1": first, "out.extent.1": rows}
        outputs, _ = run_nest(nest, sizes, pixel)
        places = product(range(2), range(first, first + rows))
        assert outputs["out"] == {at: ideal(algorithm, "out", at, pixel) for at in places}


def test_nest_prints_like_halide_with_regions_and_sizes() -> None:
    chosen = (
        schedule(blur()).split("y", "y", "yi", 8).parallel("y").vectorize("x", 8)
        .func("blurx").store_at("out", "y").compute_at("out", "yi")
    )  # fmt: skip
    lines = format_nest(loop_nest(blur(), chosen.schedule)).splitlines()
    rows = "out.min.1 + out.s0.yi + {}min(out.s0.y * 8, out.extent.1 - 8) {}"
    first, last = rows.format("select(out.s0.yi == 0, 0, 1) * 2 + ", "- 1"), rows.format("", "+ 1")
    columns = "out.min.0 .. out.extent.0 + out.min.0 - 1"
    assert lines == [
        f"produce out[{columns}][out.min.1 .. out.extent.1 + out.min.1 - 1]:",
        "  parallel out.y in 0 .. (out.extent.1 + 7) / 8 - 1:",
        "    store blurx: int32[out.extent.0, 3 folded]",
        "    for out.yi in 0 .. 7:",
        f"      produce blurx[{columns}][{first} .. {last}]:",
        f"        for blurx.y in {first} .. {last}:",
        f"          for blurx.x in {columns}:",
        "            blurx(blurx.s0.x, blurx.s0.y) = ...",
        "      for out.x in 0 .. (out.extent.0 + 7) / 8 - 1:",
        "        vectorized out.x_v in 0 .. 7:",
        "          out(out.min.0 + out.s0.x_v + min(out.extent.0 - 8, out.s0.x * 8), "
        "out.min.1 + out.s0.yi + min(out.s0.y * 8, out.extent.1 - 8)) = ...",
    ]


def pixel(name: str, at: tuple[int, ...]) -> int:
    return sum((d + 3) * x * x for d, x in enumerate(at)) % 101


def check(out: Func, shape: Callable[[Directives], Directives], extents: tuple[int, ...]) -> int:
    """How often f is computed, under the schedule ``shape`` gives it, stored at root; and that the
    values of the output are those of its definition.
    """
    algorithm = pipeline(out)
    nest = loop_nest(algorithm, shape(schedule(algorithm)).schedule)
    mins = tuple(range(3, 3 + len(extents)))
    sizes = {f"out.min.{d}": low for d, low in enumerate(mins)}
    sizes |= {f"out.extent.{d}": extent for d, extent in enumerate(extents)}
    outputs, computed = run_nest(nest, sizes, pixel)
    points = product(*(range(m, m + e) for m, e in zip(mins, extents, strict=True)))
    assert outputs["out"] == {at: ideal(algorithm, "out", at, pixel) for at in points}
    return computed - prod(extents)


def image_of(dimensions: int) -> ImageParam:
    return ImageParam(Int32, dimensions, "input")


def test_what_a_window_jumps_over_is_not_computed() -> None:
    f, out = Func("f"), Func("out")
    f[X] = image_of(1)[X]
    out[X] = f[X * 3] + f[X * 3 + 1]
    assert check(out, lambda d: d.func("f").store_root().compute_at("out", "x"), (9,)) == 2 * 9


def test_a_window_slides_downwards() -> None:
    f, out = Func("f"), Func("out")
    f[X] = image_of(1)[X]
    out[X] = f[-X] + f[2 - X]
    assert check(out, lambda d: d.func("f").store_root().compute_at("out", "x"), (9,)) == 9 + 2


def test_a_window_that_moves_to_and_fro_does_not_slide() -> None:
    f, out = Func("f"), Func("out")
    f[X] = image_of(1)[X]
    out[X] = f[X % 4] + f[X % 4 + 1]
    assert check(out, lambda d: d.func("f").store_root().compute_at("out", "x"), (9,)) == 2 * 9


TWO_ROWS = "g.split(y, yo, yi, 2)\n"
ROW_TILES = "split(y, y, yi, 2).reorder(yi, x, y)"


@pytest.mark.parametrize(
    ("text", "computed", "rows"),
    [
        # Strips of 8 rows, two at a time: each strip has its own window of 8 + 2 rows.
        (
            "g.split(y, y, yi, 8).parallel(y).split(yi, yi, yii, 2).reorder(yii, x, yi, y)\n"
            f"f.store_at(g, y).compute_at(g, yi).{ROW_TILES}",
            3 * 10,
            4,
        ),
        (f"{TWO_ROWS}f.store_root().compute_at(g, yo).{ROW_TILES}", 24 + 2, 4),
        # Three new rows of an iteration are tiled by two, and the last tile is one too high.
        (f"g.split(y, yo, yi, 3)\nf.store_root().compute_at(g, yo).{ROW_TILES}", None, 5),
        ("f.store_root().compute_at(g, y).split(y, y, yi, 4, RoundUp)", None, 6),
    ],
)
def test_a_window_is_computed_in_tiles(text: str, computed: int | None, rows: int) -> None:
    built = blur("g")
    nest = loop_nest(built, parse_schedule(text, built))
    sizes = {name.replace("out", "g"): size for name, size in SIZES.items()}
    outputs, count = run_nest(nest, sizes, pixel)
    places = product(range(WIDTH), range(HEIGHT))
    assert outputs["g"] == {at: ideal(built, "g", at, pixel) for at in places}
    (allocation,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    assert evaluate(allocation.extents[1], sizes) == rows
    if computed is not None:
        assert count == WIDTH * (HEIGHT + computed)


def test_what_a_fused_loop_computes_does_not_slide() -> None:
    directives = start().func("blurx").store_root().compute_at("out", "y").fuse("x", "y", "t")
    computed, _ = measure(directives)
    assert computed == 3 * WIDTH * HEIGHT


def test_sums_slide_row_by_row() -> None:
    f, out, r = Func("f"), Func("out"), RDom([(0, 4)], "r")
    f[X, Y] = X + Y
    f[X, Y] += image_of(2)[X + r.x, Y]
    out[X, Y] = f[X, Y - 1] + f[X, Y + 1]
    algorithm = pipeline(out)
    chosen = schedule(algorithm).func("f").store_root().compute_at("out", "y").schedule
    sizes = {"out.min.0": 0, "out.extent.0": 2, "out.min.1": 0, "out.extent.1": 6}
    outputs, computed = run_nest(loop_nest(algorithm, chosen), sizes, pixel)
    assert computed == 2 * 6 + 2 * (6 + 2) * (1 + 4)

    def value(x: int, y: int) -> int:
        return x + y + sum(pixel("input", (x + i, y)) for i in range(4))

    assert outputs["out"] == {
        (x, y): value(x, y - 1) + value(x, y + 1) for x in range(2) for y in range(6)
    }


@pytest.mark.parametrize("split", ["f.split(y, y, yi, 2)", "f.update().split(y, y, yi, 2)"])
def test_sums_in_tiles_of_rows_do_not_slide(split: str) -> None:
    f, out, r = Func("f"), Func("out"), RDom([(0, 4)], "r")
    f[X, Y] = X + Y
    f[X, Y] += r.x
    out[X, Y] = f[X, Y - 1] + f[X, Y + 1]
    algorithm = pipeline(out)
    text = f"f.store_root().compute_at(out, y)\n{split}"
    placement = loop_nest(algorithm, parse_schedule(text, algorithm)).placements["f"]
    assert placement.storage.slides == ()


def test_a_window_that_moves_along_both_dimensions_does_not_slide() -> None:
    f, out = Func("f"), Func("out")
    f[X, Y] = image_of(2)[X, Y]
    out[X] = f[X - 1, X + 1] + f[X + 1, X - 1]
    assert check(out, lambda d: d.func("f").store_root().compute_at("out", "x"), (6,)) == 9 * 6


@pytest.mark.parametrize("forward", [True, False])
def test_a_window_does_not_slide_where_the_loops_inside_had_other_rows(forward: bool) -> None:
    """Row ``y + 1`` of ``m`` is the first one at ``y``, so what it reads there is needed anew."""
    s, m, out = Func("s"), Func("m"), Func("out")
    s[X, Y] = image_of(2)[X, Y]
    m[X, Y] = s[X, Y] + s[X + 1, Y]
    x = X if forward else -X
    out[X] = m[x, X] + m[x, X + 1]

    def shape(d: Directives) -> Directives:
        return d.func("m").compute_at("out", "x").func("s").compute_at("m", "y").store_root()

    check(out, shape, (7,))
    algorithm = pipeline(out)
    slides = loop_nest(algorithm, shape(schedule(algorithm)).schedule).placements["s"].storage
    assert [(one.dimension, one.loop.var.name) for one in slides.slides] == [("y", "m.s0.y")]


def test_a_window_does_not_slide_where_only_its_tiles_move_one_way() -> None:
    """Tiles of 8 rows reach from ``y - 7`` to ``y``, but every other row is read only at the next
    one: the first row that is required moves to and fro.
    """
    f, out = Func("f"), Func("out")
    f[X, Y] = image_of(2)[X, Y]
    out[X, Y] = f[X, Y] + f[X, Y - Y % 2 * 2]
    text = "f.store_root().compute_at(out, y).split(y, y, yi, 8, TailStrategy::ShiftInwards);"
    algorithm = pipeline(out)
    placement = loop_nest(algorithm, parse_schedule(text, algorithm)).placements["f"]
    assert str(placement.storage.computed[1].min) == "out.s0.y - 7"
    assert placement.storage.slides == ()


def test_a_window_slides_along_an_outer_loop_where_the_loops_inside_stay_the_same() -> None:
    s, m, out = Func("s"), Func("m"), Func("out")
    s[X, Y] = image_of(2)[X, Y]
    m[X, Y] = s[X, Y - 1] + s[X, Y + 1]
    out[X, Y] = m[X, Y - 1] + m[X, Y + 1]
    text = "m.compute_at(out, y).reorder(y, x); s.compute_at(m, x).store_root();"
    algorithm = pipeline(out)
    storage = loop_nest(algorithm, parse_schedule(text, algorithm)).placements["s"].storage
    assert [(one.dimension, one.loop.var.name) for one in storage.slides] == [
        ("x", "m.s0.x"),
        ("y", "out.s0.y"),
    ]


def test_a_window_slides_along_the_innermost_loop_that_moves_it() -> None:
    directives = start().split("y", "y", "yi", 8).func("blurx").store_root().compute_at("out", "yi")
    computed, _ = measure(directives)
    assert computed == (HEIGHT // 8) * WIDTH * 10


@pytest.mark.parametrize("factor", [2, 4, 5])
@pytest.mark.parametrize("tail", ["round_up", "shift_inwards", "guard_with_if"])
def test_tiles_of_what_is_new_overwrite_nothing_that_is_still_read(factor: int, tail: str) -> None:
    f, out = Func("f"), Func("out")
    f[X, Y] = image_of(2)[X, Y]
    out[X, Y] = f[X, Y - 1] + f[X, Y + 1]

    def shape(d: Directives) -> Directives:
        d = d.func("f").store_root().compute_at("out", "y")
        return d.split("y", "yo", "yi", factor, tail)

    check(out, shape, (2, 9))


def test_what_is_updated_in_fixed_rows_is_not_updated_again() -> None:
    f, out, r = Func("f"), Func("out"), RDom([(0, 4)], "r")
    f[X, Y] = X + Y
    f[X, r.x] += 100
    out[X, Y] = f[X, Y - 1] + f[X, Y + 1]
    algorithm = pipeline(out)
    chosen = schedule(algorithm).func("f").store_root().compute_at("out", "y").schedule
    sizes = {"out.min.0": 0, "out.extent.0": 2, "out.min.1": 0, "out.extent.1": 6}
    outputs, _ = run_nest(loop_nest(algorithm, chosen), sizes, pixel)

    def value(x: int, y: int) -> int:
        return x + y + (100 if 0 <= y < 4 else 0)

    assert outputs["out"] == {
        (x, y): value(x, y - 1) + value(x, y + 1) for x in range(2) for y in range(6)
    }


def test_rows_beyond_a_window_read_no_further_than_the_last_of_them() -> None:
    """The last visit computes row 25 of the window alone, and with the tail of its split the rows
    to 28; of these each reads the next row.
    """
    image, window, out = ImageParam(Int32, 2, "input"), Func("window"), Func("out")
    window[X, Y] = image[X, Y] + image[X, Y + 1]
    out[X, Y] = window[X, Y] + window[X, Y + 1] + window[X, Y + 2]
    made = pipeline(out)
    text = "window.store_root().compute_at(out, y).split(y, y, yi, 4, TailStrategy::RoundUp)"
    _, rows = loop_nest(made, parse_schedule(text, made)).inputs["input"]
    assert rows.max is not None
    assert evaluate(rows.max, SIZES) == 29
