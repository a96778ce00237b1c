"""What a stage touches of buffers: rows at few places of their pages, values as coordinates, and
places that a scan writes.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.features.features import Features
from spaces.features.footprints import Footprint, Regions, room_of_rows
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import free
from tests.cpus import ONE_CORE

X, Y, C = Var("x"), Var("y"), Var("c")
LINE = 64


def _features(pipe: Pipeline, text: str = "") -> Features:
    chosen = parse_schedule(text, pipe) if text else Schedule.default(pipe)
    return Batch.of(pipe, chosen).features


def _footprint(features: Features, func: str, stage: int, buffer: str, depth: int) -> Footprint:
    reader = features.func(func).stages[stage]
    return Regions(features, LINE).footprint(reader, buffer, depth)


@pytest.mark.parametrize(
    ("extents", "whole", "apart", "room"),
    [
        ((16, 100), (1536, 100), (32,), 32),
        ((1536, 100), (1536, 100), (32,), 0),  # one row
        ((16, 1, 8), (1536, 100, 8), (32, 64), 64),  # the rows are a plane apart
        ((16, 100, 8), (1536, 100, 8), (32, 64), 32),
        ((1536, 100, 3), (1536, 200, 8), (32, 64), 64),  # planes are as apart as these parts
        ((16, 100), (1536, 100), (), 0),  # nothing is known
        ((), (), (), 0),
    ],
)
def test_rows_take_as_many_lines_as_their_places_are_apart(
    extents: tuple[int, ...], whole: tuple[int, ...], apart: tuple[int, ...], room: int
) -> None:
    assert room_of_rows(extents, whole, apart) == room


def _copied(width: int) -> Pipeline:
    image, out = ImageParam(Float32, 2, "image"), Func("out")
    out[X, Y] = image[X, Y]
    return pipeline(out, estimates={image: [width, 64], out: [width, 64]})


@pytest.mark.parametrize(
    ("width", "each"),
    [
        (1536, 32),  # of 6 KiB: every second row is at the same place of its page
        (1024, 64),  # of 4 KiB: all rows are
        (1552, 2),  # of 97 lines: no other row is, and a row of 16 floats may lie on 2 lines
    ],
)
def test_rows_at_few_places_of_their_pages_take_more_room(width: int, each: int) -> None:
    features = _features(_copied(width), "out.split(x, x, xi, 16).reorder(xi, y, x)")
    found = _footprint(features, "out", 0, "image", 1)  # 16 columns
    assert (found.rows, found.lines) == (64, 64 * 2)
    assert found.room == 64 * each
    own = _footprint(features, "out", 0, "out", 1)
    assert own.room == 64 * each  # an output has the size of its estimate


def test_columns_of_an_image_fit_a_cache_only_if_their_rows_have_places() -> None:
    """Sums of a column of 16 floats: 1536 rows are 192 KiB on the lines that they take, and 3 MiB
    in a cache that has place for every 32nd line.
    """
    costs = {}
    for width in (1536, 1552):
        left, right = ImageParam(Float32, 2, "left"), ImageParam(Float32, 2, "right")
        total, r = Func("total"), RDom([(0, 1536)], "r")
        total[X, Y] = 0.0
        total[X, Y] += left[r.x, Y] * right[X, r.x]
        sizes = {left: [1536, 64], right: [width, 1536], total: [width, 64]}
        pipe = pipeline(total, estimates=sizes)
        columns = "total.update().split(x, xo, xi, 16).reorder(xi, r.x, y, xo)"
        model = Reuse(ONE_CORE, free(line_from_l3=1.0))
        cost = float(model.cost(Batch.of(pipe, parse_schedule(columns, pipe))))
        costs[width] = cost / (width * 64)
    assert ONE_CORE.l2_bytes < 3 << 20
    assert costs[1536] > 20 * costs[1552]


@pytest.mark.parametrize(("lanes", "misses"), [(4, False), (8, False), (16, True)])
def test_lanes_that_read_other_rows_share_a_cache_up_to_its_ways(lanes: int, misses: bool) -> None:
    """Rows of 16 KiB begin at one place of their pages: a cache of 32 KiB holds a line of eight,
    whatever else it holds. With sixteen, each value is a line of its own from the next cache.
    """
    matrix, vector = ImageParam(Float32, 2, "matrix"), ImageParam(Float32, 1, "vector")
    out, k = Func("out"), RDom([(0, 4096)], "k")
    out[X] = cast(Float32, 0)
    out[X] += matrix[k, X] * vector[k]
    sizes = {matrix: [4096, 4096], vector: [4096], out: [4096]}
    pipe = pipeline(out, estimates=sizes)
    text = f"out.update(0).split(x, x, xv, {lanes}).reorder(xv, k.x, x).vectorize(xv)"
    batch = Batch.of(pipe, parse_schedule(text, pipe))
    model = Reuse(evolve(ONE_CORE, l1_bytes=32768), free(lane_from_l2=1))
    values = 4096 * 4096
    assert float(model.cost(batch)) == pytest.approx(values if misses else 0, abs=values / 1000)


@pytest.mark.parametrize(("directive", "lanes"), [("", 1), (".vectorize(x, 8)", 8)])
def test_the_lanes_of_a_vector_move_its_lines_together(directive: str, lanes: int) -> None:
    """Twelve rows of 4 KiB begin at one place of their pages, so a cache of 32 KiB holds eight of
    their lines: each evaluation of a value, or of a vector, moves all of them again, and vectors of
    neighbors have no line of their own for each value.
    """
    image, out = ImageParam(Float32, 2, "image"), Func("out")
    total = image[X, Y]
    for row in range(1, 12):
        total = total + image[X, Y + row]
    out[X, Y] = total
    pipe = pipeline(out, estimates={image: [1024, 75], out: [1024, 64]})
    batch = Batch.of(pipe, parse_schedule(f"out{directive}" if directive else "", pipe))
    device = evolve(ONE_CORE, l1_bytes=32768)
    values = 1024 * 64
    lines = Reuse(device, free(line_from_l2=1)).cost(batch)
    own = 2  # the line that is written is fetched, and evicted later
    on_lines = 1 if lanes == 1 else 1.5  # half of the vectors of eight reach into a second line
    assert float(lines) == pytest.approx((12 + own) * values / lanes * on_lines, rel=0.1)
    apart = Reuse(device, free(lane_from_l2=1)).cost(batch)
    assert float(apart) == pytest.approx(12 * values if lanes == 1 else 0, rel=0.01)


@pytest.mark.parametrize(
    ("channels", "order", "times"),
    [
        (8, "ci, r.x, r.y", 1),
        (64, "ci, r.x, r.y", 1000 * 1000 / 16),
        (64, "r.x, ci, r.y", 1000),
    ],
)
def test_rows_that_loops_come_back_to_are_found_again_if_there_are_too_many(
    channels: int, order: str, times: float
) -> None:
    """Sums of the planes of 64 channels, a few planes side by side. A prefetcher follows 12 rows
    from memory; 64 it finds anew at each line of 16 values, or at each row if it is read whole.
    """
    planes, total = ImageParam(Float32, 3, "planes"), Func("total")
    r = RDom([(0, 1000), (0, 1000)], "r")
    total[C] = 0.0
    total[C] += planes[r.x, r.y, C]
    pipe = pipeline(total, estimates={planes: [1000, 1000, 64], total: [64]})
    text = f"total.update().split(c, co, ci, {channels}).reorder({order}, co)"
    model = Reuse(ONE_CORE, free(row_from_memory=1.0))
    found = float(model.cost(Batch.of(pipe, parse_schedule(text, pipe))))
    assert found == pytest.approx(64 * times, rel=0.01 if times > 1 else 2)


def test_values_as_coordinates_touch_as_much_as_there_is_at_most() -> None:
    image, table, out = ImageParam(UInt8, 2, "image"), ImageParam(Float32, 1, "table"), Func("out")
    out[X, Y] = table[cast(Int32, image[X, Y])]
    pipe = pipeline(out, estimates={image: [128, 64], table: [256], out: [128, 64]})
    features = _features(pipe)
    elements = [_footprint(features, "out", 0, "table", depth).elements for depth in (0, 1, 2)]
    assert elements == [256, 128, 1]


def test_coordinates_that_are_values_share_the_loops_that_change_them() -> None:
    """Each of the 53 terms reads a row of one of 7 slices, so no more than 53 rows for a line."""
    offsets, image = ImageParam(Int32, 2, "offsets"), ImageParam(Float32, 3, "image")
    out, r = Func("out"), RDom([(0, 53)], "r")
    out[X, Y] = 0.0
    out[X, Y] += image[X, Y + offsets[r.x, 0], offsets[r.x, 1]]
    sizes = {offsets: [53, 2], image: [128, 256, 7], out: [128, 64]}
    features = _features(
        pipeline(out, estimates=sizes), "out.update().split(x, x, xi, 32).reorder(xi, r.x, y, x)"
    )
    rows = [_footprint(features, "out", 1, "image", depth).rows for depth in (1, 2, 3)]
    assert rows == pytest.approx([256 * 7, 53, 1])  # there are no more rows than 256


def test_a_scan_touches_the_places_that_it_writes() -> None:
    f, out, r = Func("f"), Func("out"), RDom([(1, 63)], "r")
    f[X, Y] = 0.0
    f[X, r.x] += f[X, r.x - 1]
    out[X, Y] = f[X, Y]
    pipe = pipeline(out, estimates={out: [128, 64]})
    features = _features(pipe, "f.compute_root()\nf.update().reorder(x, r.x)")
    assert _footprint(features, "f", 1, "f", 0).parts == ((1, 128 * 63),)
    assert _footprint(features, "f", 1, "f", 1).parts == ((1, 128),)


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("", set()),
        ("out.split(x, x, xi, 8)", {("out", 0, "xi")}),
        ("out.split(x, x, xi, 8).split(xi, xi, xj, 2)", {("out", 0, "xi"), ("out", 0, "xj")}),
        # All loops of a Func that is computed for each vector are.
        ("out.split(x, x, xi, 8)\nf.compute_at(out, x)",
            {("out", 0, "xi"), ("f", 0, "x"), ("f", 0, "y")}),
        # All lines of one that is computed for each line are as long, but who knows how long?
        ("out.split(x, x, xi, 8)\nf.compute_at(out, y)", {("out", 0, "xi"), ("f", 0, "y")}),
        ("f.compute_root().split(x, x, xi, 8)", {("f", 0, "xi")}),
    ],
)  # fmt: skip
def test_loops_with_the_same_iterations_for_all_sizes(
    text: str, constant: set[tuple[str, int, str]]
) -> None:
    f, out = Func("f"), Func("out")
    f[X, Y] = cast(Float32, X + Y)
    out[X, Y] = f[X, Y] + f[X + 1, Y]
    pipe = pipeline(out, estimates={out: [128, 64]})
    features = _features(pipe, text)
    assert features.constant_loops == constant


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        # Terms are as many for all sizes, and so are channels with a bound.
        ("f.compute_root()", {("f", 1, "r.x")}),
        ("f.compute_root().bound(c, 0, 3)", {("f", 0, "c"), ("f", 1, "c"), ("f", 1, "r.x")}),
        # Only the loops of out inside the level move what f computes.
        ("out.split(x, x, xi, 8)\nf.compute_at(out, x)",
            {("out", 0, "xi"), ("f", 0, "x"), ("f", 1, "x"), ("f", 0, "y"), ("f", 1, "y"),
             ("f", 0, "c"), ("f", 1, "c"), ("f", 1, "r.x")}),
        # g moves what it reads of f with its own loops, and these with those of out.
        ("out.split(x, x, xi, 8)\ng.compute_at(out, x)\nf.compute_at(out, x)",
            {("out", 0, "xi"), ("g", 0, "x"), ("g", 0, "y"), ("g", 0, "c"), ("f", 0, "x"),
             ("f", 1, "x"), ("f", 0, "y"), ("f", 1, "y"), ("f", 0, "c"), ("f", 1, "c"),
             ("f", 1, "r.x")}),
        # Loops around nothing of f do not matter: those of out, which reads g elsewhere.
        ("g.compute_root().split(x, x, xi, 8)\nf.compute_at(g, x)",
            {("g", 0, "xi"), ("f", 0, "x"), ("f", 1, "x"), ("f", 0, "y"), ("f", 1, "y"),
             ("f", 0, "c"), ("f", 1, "c"), ("f", 1, "r.x")}),
        # A line of f is read while those of out and g move.
        ("out.split(x, x, xi, 8)\ng.compute_at(out, x)\nf.compute_at(out, y)",
            {("out", 0, "xi"), ("g", 0, "x"), ("g", 0, "y"), ("g", 0, "c"), ("f", 0, "y"),
             ("f", 1, "y"), ("f", 0, "c"), ("f", 1, "c"), ("f", 1, "r.x")}),
    ],
)  # fmt: skip
def test_loops_over_terms_and_channels_have_the_same_iterations_for_all_sizes(
    text: str, constant: set[tuple[str, int, str]]
) -> None:
    image, f, g, out = ImageParam(Float32, 3, "image"), Func("f"), Func("g"), Func("out")
    r = RDom([(0, 5)], "r")
    f[X, Y, C] = 0.0
    f[X, Y, C] += image[X + r.x, Y, C]
    g[X, Y, C] = f[X, Y, C] + f[X + 1, Y, C]
    out[X, Y, C] = g[X, Y, C]
    pipe = pipeline(out, estimates={out: [128, 64, 3]})
    assert _features(pipe, text).constant_loops == constant


def test_lanes_are_loaded_together_where_a_value_is_the_same_for_all() -> None:
    """A row that a value chooses is loaded whole; only a value that changes along the row makes a
    gather.
    """
    image, rows = ImageParam(Float32, 2, "image"), ImageParam(Int32, 1, "rows")
    loads = []
    for chosen in (Y, X):
        out = Func("out")
        out[X, Y] = image[X, rows[chosen]]
        pipe = pipeline(out, estimates={image: [64, 64], rows: [64], out: [64, 64]})
        vectors = parse_schedule("out.vectorize(x, 16)", pipe)
        model = Reuse(ONE_CORE, free(gather=1.0))
        loads.append(float(model.cost(Batch.of(pipe, vectors))))
    assert loads == [0, 64 * 64]


def test_a_remainder_touches_its_rows_once() -> None:
    """Filters by phase, as in resampling from 48 to 44.1 kHz: there are 147 rows of 16."""
    filters, sound, out = (
        ImageParam(Float32, 2, "filters"),
        ImageParam(Float32, 1, "s"),
        Func("out"),
    )
    r = RDom([(0, 16)], "r")
    out[X] = 0.0
    out[X] += filters[r, X * 160 % 147] * sound[X * 160 / 147 + r]
    samples = 1 << 20
    estimates = {filters: [16, 147], sound: [samples * 2], out: [samples]}
    features = _features(pipeline(out, estimates=estimates))
    assert _footprint(features, "out", 1, "filters", 0).elements == 16 * 147
    read = (samples - 1) * 160 // 147 + 16
    assert _footprint(features, "out", 1, "s", 0).elements == read


@pytest.mark.parametrize(("lines", "moves"), [(256, False), (4096, True)])
def test_what_fits_the_last_cache_is_there_from_before(lines: int, moves: bool) -> None:
    """1 MiB is in a cache of 4 MiB, whoever made it; 16 MiB come from memory, and go there."""
    image, out = ImageParam(Float32, 2, "image"), Func("out")
    out[X, Y] = image[X, Y]
    pipe = pipeline(out, estimates={image: [512, lines], out: [512, lines]})
    model = Reuse(ONE_CORE, free(line_from_memory=1.0))
    found = float(model.cost(Batch.of(pipe, parse_schedule("", pipe))))
    each = 512 * lines * 4 / 64
    assert found == pytest.approx(3 * each if moves else 0, rel=0.01)
