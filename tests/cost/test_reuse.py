"""The parts of the reuse model, one price at a time: all other prices are 0."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from attrs import evolve

from spaces.cost.batch import Batch
from spaces.cost.reuse import Reuse
from spaces.cost.traffic import rows_of
from spaces.model.algorithm import boundary
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.undefined import undef
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Float32, UInt16
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import free
from tests.cpus import FOUR_CORES, ONE_CORE

X, Y = Var("x"), Var("y")
LINE = 64


def _cost(pipe: Pipeline, chosen: Directives | Schedule, **prices: float) -> float:
    found = chosen.schedule if isinstance(chosen, Directives) else chosen
    model = Reuse(ONE_CORE, free(**prices))
    return float(model.cost(Batch.of(pipe, found)))


def _column_sums(width: int, height: int) -> Pipeline:
    image = ImageParam(UInt16, 2, "input")
    f = Func("f")
    f[X, Y] = image[X, Y] + image[X, Y + 1] + image[X, Y + 2]
    return pipeline(f, estimates={f: [width, height]})


def test_a_line_of_memory_moves_once_while_its_neighbors_are_used() -> None:
    """Three rows fit, so each row of the image comes once; written lines come and go. Whole rows
    join, so a line more at the end comes only for all together.
    """
    pipe = _column_sums(4096, 4096)
    row = 4096 * 2 // LINE
    moved = _cost(pipe, schedule(pipe), line_from_memory=1.0)
    assert moved == (4096 + 2) * row + 1 + 2 * (4096 * row + 1)


def test_column_after_column_moves_as_much_only_where_a_column_fits() -> None:
    """A column of lines is 3 x 256 KiB: the last cache holds it, the one before does not."""
    pipe = _column_sums(4096, 4096)
    by_columns = schedule(pipe).reorder("y", "x")
    lines = (4096 + 2 + 2 * 4096) * 4096 * 2 // LINE + 3
    assert _cost(pipe, by_columns, line_from_memory=1.0) == lines
    from_l3 = _cost(pipe, by_columns, line_from_l3=1.0)
    column = (4096 + 2) * (2 / LINE + 1) + 2 * 4096 * (2 / LINE + 1)
    assert from_l3 == pytest.approx(4096 * column)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", 3),  # the image, and the output twice
        ("out.tile(x, y, xi, yi, 64, 64)", 3 * 64 * 64 * 64),
        ("out.tile(x, y, xi, yi, 4096, 64)", 3 * 64),
    ],
)
def test_rows_that_are_touched_whole_join(text: str, rows: int) -> None:
    """A cache of 64 KiB holds a tile of 64 x 64 floats, and some rows of 4096."""
    image, out = ImageParam(Float32, 2, "input"), Func("out")
    out[X, Y] = image[X, Y] * 2.0
    pipe = pipeline(out, estimates={out: [4096, 4096]})
    assert _cost(pipe, parse_schedule(text, pipe), row_from_l3=1.0) == rows


@pytest.mark.parametrize(
    ("extents", "whole", "expected"),
    [
        ((), (), (1, 1)),
        ((8, 5, 3), (8, 5, 9), (1, 120)),
        ((8, 4, 3), (8, 5, 9), (3, 32)),
        ((5, 5, 3), (8, 5, 9), (15, 5)),  # more than half of a row
    ],
)
def test_rows_of_a_part(
    extents: tuple[int, ...], whole: tuple[int, ...], expected: tuple[int, int]
) -> None:
    assert tuple(map(float, rows_of(extents, whole))) == expected


def _chain(reads_image_again: bool) -> Pipeline:
    image = ImageParam(Float32, 2, "input")
    a, out = Func("a"), Func("out")
    a[X, Y] = image[X, Y] * 2.0
    out[X, Y] = a[X, Y] + a[X, Y + 1] + (image[X, Y] if reads_image_again else 1.0)
    return pipeline(out, estimates={out: [2048, 2048]})


def test_stages_in_one_loop_share_what_they_read() -> None:
    costs = []
    for again in (False, True):
        pipe = _chain(again)
        lines = schedule(pipe).func("a").store_root().compute_at("out", "y")
        costs.append(_cost(pipe, lines, line_from_memory=1.0))
    assert costs[0] == costs[1]


def test_stages_apart_do_not() -> None:
    costs = []
    for again in (False, True):
        pipe = _chain(again)
        costs.append(_cost(pipe, schedule(pipe).func("a").compute_root(), line_from_memory=1.0))
    assert costs[0] < costs[1]


def test_a_folded_buffer_stays_in_the_cache() -> None:
    """Stored for a tile, two rows of it are reused in a circle; stored for all tiles of a strip,
    rows are new memory each time.
    """
    pipe = _chain(False)
    tiled = schedule(pipe).tile("x", "y", "xi", "yi", 256, 64).func("a").compute_at("out", "yi")
    folded, unfolded = tiled.store_at("out", "x"), tiled.store_at("out", "y")
    assert _cost(pipe, folded, line_from_l2=1.0) < _cost(pipe, unfolded, line_from_l2=1.0)


def _shifted(condition) -> Pipeline:
    image = ImageParam(Float32, 2, "input")
    source = image if condition is None else condition(image)
    f = Func("f")
    f[X, Y] = source[X + 1, Y]
    return pipeline(f, estimates={f: [1024, 1024], image: [1024, 1024]})


def test_vectors_are_loaded_whole_but_where_coordinates_bend() -> None:
    """A clamp costs only at the edges, a mirror in every lane."""
    found = {}
    for condition in (None, boundary.repeat_edge, boundary.mirror_image):
        pipe = _shifted(condition)
        found[condition] = _cost(pipe, schedule(pipe).vectorize("x", 8), load=1.0, lane=1.0)
    plain = 1024 * 1024 / 8
    assert found[None] == plain
    assert found[boundary.repeat_edge] == plain
    assert found[boundary.mirror_image] == 8 * plain


@pytest.mark.parametrize(
    ("divisor", "lanes", "loads", "shuffles"),
    [
        (2, 8, 1, 1),  # at most 5 values of 8 in a register
        (2, 16, 2, 2),  # at most 9 values
        (4, 16, 1, 2),  # at most 5 values
        (-2, 8, 1, 1),  # backwards
    ],
)
def test_vectors_of_quotients_are_loaded_whole_and_shuffled(
    divisor: int, lanes: int, loads: int, shuffles: int
) -> None:
    """Neighboring lanes of ``image[x / 2]`` read the same value or neighbors."""
    image, f = ImageParam(Float32, 2, "input"), Func("f")
    f[X, Y] = image[X / divisor, Y]
    pipe = pipeline(f, estimates={f: [1024, 1024]})
    vectors = 1024 * 1024 / lanes
    chosen = schedule(pipe).vectorize("x", lanes)
    assert _cost(pipe, chosen, load=1.0, lane=100.0) == loads * vectors
    assert _cost(pipe, chosen, shuffle=1.0) == shuffles * vectors


def test_quotients_of_other_coordinates_change_no_vector() -> None:
    image, f = ImageParam(Float32, 2, "input"), Func("f")
    f[X, Y] = image[X + Y / 2, Y / 2]
    pipe = pipeline(f, estimates={f: [1024, 1024]})
    eight = schedule(pipe).vectorize("x", 8)
    assert _cost(pipe, eight, load=1.0, lane=100.0, shuffle=100.0) == 1024 * 1024 / 8


@pytest.mark.parametrize("coordinate", [(3 * X) / 2, X / 5, X / 2 + X % 2], ids=str)
def test_vectors_with_gaps_or_few_values_are_gathered(coordinate: Expr) -> None:
    image, f = ImageParam(Float32, 2, "input"), Func("f")
    f[X, Y] = image[coordinate, Y]
    pipe = pipeline(f, estimates={f: [1024, 1024]})
    eight = schedule(pipe).vectorize("x", 8)
    assert _cost(pipe, eight, load=100.0, lane=1.0) == 1024 * 1024


def test_vectors_across_rows_are_scattered() -> None:
    pipe = _shifted(None)
    assert _cost(pipe, schedule(pipe).vectorize("y", 8), scatter=2.0, lane=1.0) == 3 * 1024 * 1024


def test_work_is_that_of_the_busier_units() -> None:
    """Per vector 2 sums and 3 loads: the loads hide the sums, or the other way round."""
    pipe = _column_sums(1024, 1024)
    vectors = 1024 * 1024 / 16
    sixteen = schedule(pipe).vectorize("x", 16)
    assert _cost(pipe, sixteen, instruction=1.0, load=1.0) == 3 * vectors
    assert _cost(pipe, sixteen, instruction=2.0, load=1.0) == 4 * vectors


def test_wide_vectors_take_several_registers() -> None:
    pipe = _column_sums(1024, 1024)
    by_lanes = {
        lanes: _cost(pipe, schedule(pipe).vectorize("x", lanes), instruction=1.0)
        for lanes in (8, 16, 64)
    }
    assert by_lanes[16] == by_lanes[64] == 2 * 1024 * 1024 / 16
    assert by_lanes[8] == 2 * by_lanes[16]


def test_entering_short_loops_costs_less() -> None:
    """A tile of 32 values is two vectors, one of 512 thirty-two."""
    pipe = _column_sums(1024, 1024)
    visits = {}
    for width in (32, 512):
        tiled = schedule(pipe).tile("x", "y", "xi", "yi", width, 8).vectorize("xi", 16)
        visits[width] = _cost(pipe, tiled, visit=1.0)
    assert visits[32] == (1024 // 32) * 1024 * (2 / 8)
    assert visits[512] == (1024 // 512) * 1024


def test_a_parallel_loop_that_seldom_runs_costs_as_if_it_ran_once() -> None:
    """The average visit of such a loop has less than one iteration, which is 0 as an integer."""
    pipe = _column_sums(64, 32)
    batch = Batch.of(pipe, schedule(pipe).parallel("y").schedule)

    def price(trips: int) -> float:
        (func,) = batch.features.funcs
        (stage,) = func.stages
        loops = tuple(evolve(loop, trips=np.int64(trips)) for loop in stage.loops)
        seldom = evolve(func, stages=(evolve(stage, loops=loops),))
        features = evolve(batch.features, funcs=(seldom,))
        return float(Reuse(ONE_CORE, free(task=1.0, launch=1.0, load=1.0)).price(features))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert price(0) == price(1)


def _sums() -> Pipeline:
    """Sums of 10 terms along r, of 64 x 32 values."""
    image, f, r = ImageParam(Float32, 3, "input"), Func("f"), RDom([(0, 10)], name="r")
    f[X, Y] = 0.0
    f[X, Y] += image[r.x, X, Y]
    return pipeline(f, estimates={f: [64, 32]})


VALUES = 64 * 32


@pytest.mark.parametrize(
    ("text", "stores", "pointers"),
    [
        # The first stage stores each value, and the sum once more at its end.
        ("", 1, 0),
        # The values around a loop over terms are other ones in each iteration.
        ("f.update().reorder(x, r.x, y)", 10, 0),
        # 8 sums stay in registers; of 32 there is place for 15, beside a term. The terms come from
        # as many lines, and there is place for 12 pointers.
        ("f.update().split(x, xo, xi, 8).reorder(xi, r.x, xo, y).unroll(xi)", 1, 0),
        (
            "f.update().split(x, xo, xi, 32).reorder(xi, r.x, xo, y).unroll(xi)",
            1 + 9 * 17 / 32,
            10 * (32 + 1 / 10 - 12) / 32,
        ),
        # A loop that runs once keeps them, too.
        ("f.update().split(x, xo, xi, 64).reorder(xo, r.x, xi, y)", 1, 0),
    ],
)
def test_sums_in_registers_are_stored_once(text: str, stores: float, pointers: float) -> None:
    pipe = _sums()
    chosen = parse_schedule(text, pipe)
    assert _cost(pipe, chosen, store=1.0) == pytest.approx(VALUES * (1 + stores))
    # The terms are loaded each, and the sums as often as they are stored.
    assert _cost(pipe, chosen, load=1.0) == pytest.approx(VALUES * (10 + stores + pointers))


@pytest.mark.parametrize(("width", "spilled"), [(2, 0.0), (8, 0.0), (16, 1 / 2), (32, 3 / 4)])
def test_operands_of_a_block_need_registers_too(width: int, spilled: float) -> None:
    """Products of ``width`` pairs: one factor of each pair waits in a register, but they take at
    most half of the 16 registers; the others are left for sums.
    """
    left, right = ImageParam(Float32, 2, "left"), ImageParam(Float32, 2, "right")
    f, r = Func("f"), RDom([(0, 10)], name="r")
    f[X, Y] = 0.0
    f[X, Y] += left[r.x, X] * right[r.x, X]
    pipe = pipeline(f, estimates={f: [64, 24]})
    text = f"f.update().split(x, xo, xi, {width}).reorder(xi, r.x, xo, y).unroll(xi)"
    stored = _cost(pipe, parse_schedule(text, pipe), store=1.0) / (64 * 24)
    assert stored == pytest.approx(1 + 1 + 9 * spilled)  # the first stage stores once


@pytest.mark.parametrize(
    ("text", "pointers"),
    [
        ("f.split(y, y, yi, 4).reorder(yi, x, y).unroll(yi)", 0),
        ("f.split(y, y, yi, 16).reorder(yi, x, y).unroll(yi)", 2 * 16 - 12),
        # Copies of one line have one pointer.
        ("f.split(x, x, xi, 16).unroll(xi)", 0),
        # On the stack, compilers know how far apart lines are.
        (
            "g.split(y, y, yi, 16).reorder(yi, x, y).unroll(yi)\n"
            "f.compute_at(g, x).split(y, y, yi, 16).reorder(yi, x, y).unroll(yi)",
            2 * (16 + 1 - 12),
        ),
    ],
)
def test_pointers_to_many_lines_are_loaded_again(text: str, pointers: int) -> None:
    image, f, g = ImageParam(Float32, 2, "image"), Func("f"), Func("g")
    f[X, Y] = image[X, Y]
    g[X, Y] = f[X, Y]
    output, stages = (g, 2) if "g." in text else (f, 1)
    pipe = pipeline(output, estimates={output: [128, 64]})
    loads = _cost(pipe, parse_schedule(text, pipe), load=1.0) / (128 * 64)
    assert loads == stages + pointers / 16


@pytest.mark.parametrize(
    ("text", "at_once"),
    [
        ("", 1),
        ("f.update().split(x, xo, xi, 8).reorder(xi, r.x, xo, y).unroll(xi)", 8),
        # Terms of other sums come between two terms of a sum.
        ("f.update().reorder(x, r.x, y)", np.inf),
        # An unrolled loop over terms adds no sums.
        ("f.update().split(r.x, ro, ri, 8).unroll(ri)", 1),
    ],
)
def test_a_term_waits_for_the_one_before(text: str, at_once: float) -> None:
    image, f, r = ImageParam(Float32, 3, "input"), Func("f"), RDom([(0, 1000)], name="r")
    f[X, Y] = 0.0
    f[X, Y] += image[r.x, X, Y]
    pipe = pipeline(f, estimates={f: [64, 32]})
    waiting = _cost(pipe, parse_schedule(text, pipe), latency=4.0)
    assert waiting == pytest.approx(4 * 1000 * VALUES / at_once)


def test_sums_of_few_terms_overlap() -> None:
    """A core takes up the next sums while the terms of a short one wait."""
    each = _cost(_sums(), Schedule.default(_sums()), latency=1.0) / (10 * VALUES)
    assert 0.05 < each < 0.1


def test_a_scan_stores_each_value() -> None:
    f, r = Func("f"), RDom([(1, 9)], name="r")
    f[X, Y] = 0.0
    f[0, Y] += f[r.x, Y]
    pipe = pipeline(f, estimates={f: [10, 32]})
    assert _cost(pipe, Schedule.default(pipe), store=1.0) == 10 * 32 + 9 * 32


def _blocks(level: str) -> tuple[Pipeline, Schedule]:
    """Sums of 10 terms in blocks of 4 x 2: two registers."""
    image, f, out, r = ImageParam(Float32, 3, "input"), Func("f"), Func("out"), RDom([(0, 10)])
    f[X, Y] = 0.0
    f[X, Y] += image[r.x, X, Y]
    out[X, Y] = f[X, Y]
    pipe = pipeline(out, estimates={out: [64, 32]})
    blocks = "out.tile(x, y, xi, yi, 4, 2).vectorize(xi).unroll(yi)"
    loops = "split(x, x, xi, 4).split(y, y, yi, 2).reorder(xi, yi, r.x, x, y)"
    text = f"{blocks}\nf.{level}.vectorize(x, 4)\nf.update().{loops}.vectorize(xi).unroll(yi)"
    text = text.replace("r.x", pipe.function("f").stages[1].rvars[0].name)
    return pipe, parse_schedule(text, pipe)


@pytest.mark.parametrize(("level", "stores"), [("compute_root()", 10), ("compute_at(out, x)", 1)])
def test_sums_of_several_lines_stay_in_registers_inside_the_loops_that_use_them(
    level: str, stores: int
) -> None:
    """Compilers don't know that the lines of a buffer of any size do not overlap."""
    assert _cost(*_blocks(level), store=1.0) == (1 + 1 + stores) * VALUES / 4


@pytest.mark.parametrize(
    ("width", "level", "is_kept"),
    [
        (8, "compute_at(out, x)", True),  # two iterations
        (32, "compute_at(out, x)", True),
        (64, "compute_at(out, x)", False),  # too many iterations
        (8, "compute_at(out, y)", False),  # as many as a line has
        (8, "compute_root()", False),
    ],
)
def test_loops_of_few_iterations_are_written_out_if_their_number_is_known(
    width: int, level: str, is_kept: bool
) -> None:
    """Sums of 10 terms, in vectors of 4: those of a written out loop stay in registers."""
    image, f, out, r = ImageParam(Float32, 3, "input"), Func("f"), Func("out"), RDom([(0, 10)], "r")
    f[X, Y] = 0.0
    f[X, Y] += image[r.x, X, Y]
    out[X, Y] = f[X, Y]
    pipe = pipeline(out, estimates={out: [64, 32]})
    sums = "split(x, xo, xi, 4).reorder(xi, xo, r.x, y).vectorize(xi)"
    text = f"out.split(x, x, xi, {width}).vectorize(xi)\nf.{level}.vectorize(x, 8)\nf.update()."
    stored = {
        unrolled: _cost(pipe, parse_schedule(text + sums + unrolled, pipe), store=1.0)
        for unrolled in ("", ".unroll(xo)")
    }
    assert (stored[""] == stored[".unroll(xo)"]) is is_kept
    assert stored[""] >= stored[".unroll(xo)"]


def test_a_sum_that_is_stored_after_each_term_waits_for_memory() -> None:
    """Ten times as often as one that is stored after all terms; it also fills the window of the
    core sooner, so that fewer sums are under way.
    """
    at_root, inside = (
        _cost(*_blocks(level), forwarding=1.0) for level in ("compute_root()", "compute_at(out, x)")
    )
    assert at_root > 10 * inside


def test_a_row_taken_up_again_and_again_is_found_each_time() -> None:
    """256 rows are more than a prefetcher remembers: column after column of 16 values finds each
    of them 64 times. The few rows of a strip it follows.
    """
    image, f = ImageParam(Float32, 2, "input"), Func("f")
    f[X, Y] = image[X, Y]
    pipe = pipeline(f, estimates={f: [1024, 256]})
    columns = parse_schedule("f.split(x, x, xi, 16).reorder(xi, y, x)", pipe)
    strips = parse_schedule("f.split(x, x, xi, 16).split(y, y, yi, 8).reorder(xi, yi, x, y)", pipe)
    fitting = evolve(ONE_CORE, l2_bytes=64 * 1024, l3_bytes=64 * 1024)
    model = Reuse(fitting, free(row_from_l3=1.0, row_from_memory=1.0))
    found = [float(model.cost(Batch.of(pipe, one))) for one in (columns, strips)]
    assert found[0] == 64 * found[1]


def test_what_leaves_all_values_undefined_takes_no_time() -> None:
    f = Func("f")
    f[X, Y] = undef(Float32)
    f[X, 0] = 1.0
    pipe = pipeline(f, estimates={f: [64, 32]})
    prices = {"store": 1.0, "iteration": 1.0, "visit": 1.0, "line_from_l2": 1.0}
    stored = _cost(pipe, Schedule.default(pipe), store=1.0)
    assert stored == 64
    assert _cost(pipe, Schedule.default(pipe), **prices) < 64 * 4


def test_copies_of_an_unrolled_body_share_what_is_the_same_in_all() -> None:
    """The channels of a pixel read one gray value."""
    gray, color, f = ImageParam(Float32, 2, "gray"), ImageParam(Float32, 3, "color"), Func("f")
    c = Var("c")
    f[X, Y, c] = fn.sqrt(gray[X, Y]) * color[X, Y, c]
    pipe = pipeline(f, estimates={f: [64, 32, 3]})
    plane = parse_schedule("f.bound(c, 0, 3)", pipe)
    pixels = parse_schedule("f.bound(c, 0, 3).reorder(c, x, y)", pipe)
    copies = parse_schedule("f.bound(c, 0, 3).reorder(c, x, y).unroll(c)", pipe)
    assert _cost(pipe, plane, load=1.0) == _cost(pipe, pixels, load=1.0) == 6 * VALUES
    assert _cost(pipe, copies, load=1.0) == (1 + 3) * VALUES
    shared = _cost(pipe, plane, instruction=1.0) - _cost(pipe, copies, instruction=1.0)
    assert shared == 2 * VALUES  # the roots


def test_a_clamp_makes_a_gather_where_no_loop_has_ends_to_split_off() -> None:
    image, f = ImageParam(Float32, 2, "input"), Func("f")
    f[X, Y] = boundary.repeat_edge(image)[X - 1, Y]
    pipe = pipeline(f, estimates={f: [64, 32], image: [64, 32]})
    rolled = parse_schedule("f.bound(x, 0, 64).vectorize(x, 4)", pipe)
    unrolled = parse_schedule("f.bound(x, 0, 64).vectorize(x, 4).unroll(x)", pipe)
    assert _cost(pipe, rolled, lane=1.0) == 0
    assert _cost(pipe, unrolled, lane=1.0) == VALUES


def test_windows_that_slide_along_rows_wrap_anywhere_in_a_vector() -> None:
    image, f, out = ImageParam(Float32, 2, "input"), Func("f"), Func("out")
    f[X, Y] = image[X, Y]
    out[X, Y] = f[X, Y] + f[X + 1, Y]
    pipe = pipeline(out, estimates={out: [64, 32]})
    vectors = "out.split(x, x, xi, 4).vectorize(xi)\n"
    along = parse_schedule(vectors + "f.compute_at(out, x).store_at(out, y).vectorize(x, 4)", pipe)
    whole = parse_schedule(vectors + "f.compute_at(out, y).vectorize(x, 4)", pipe)
    assert _cost(pipe, whole, lane=1.0, scatter=1.0) == 0
    assert _cost(pipe, along, lane=1.0) == 2 * VALUES
    assert _cost(pipe, along, scatter=1.0) >= VALUES


def _scratch(width: int) -> Pipeline:
    a, out = Func("a"), Func("out")
    a[X, Y] = X + Y
    out[X, Y] = a[X, Y] + a[X + 1, Y]
    return pipeline(out, estimates={out: [width, 32]})


def test_small_scratch_is_on_the_stack() -> None:
    """A row of 1025 values of 4 bytes, and one of 8193, which is too large."""
    found = []
    for width in (1024, 8192):
        pipe = _scratch(width)
        rows = schedule(pipe).func("a").compute_at("out", "y")
        found.append(_cost(pipe, rows, allocation=1.0))
    assert found == [0, 32]


def test_cores_share_allocations() -> None:
    """Four cores allocate eight rows each; one core allocates all."""
    pipe = _scratch(8192)
    rows = parse_schedule("out.parallel(y)\na.compute_at(out, y)", pipe)
    prices = free(allocation=1.0)
    found = [Reuse(cpu, prices).cost(Batch.of(pipe, rows)) for cpu in (ONE_CORE, FOUR_CORES)]
    assert list(map(float, found)) == [32, 8]


def test_bytes_that_a_cache_keeps_are_allocated_before() -> None:
    """Of 33 lines of 8193 values, 4 bytes each, those that do not fit 512 KiB are new."""
    pipe = _scratch(8192)
    found = _cost(pipe, parse_schedule("a.compute_root()", pipe), byte=1.0)
    assert found == 32 * 8193 * 4 - (512 << 10)


@pytest.mark.parametrize(("lanes", "moved"), [(64, 0), (128, 1)])
def test_values_of_vectors_that_take_too_many_registers_move(lanes: int, moved: int) -> None:
    """128 floats take all 16 registers, and an operation needs those of an operand, too, so half of
    the values move: of the result of the product, and of the one that is stored.
    """
    image, f = ImageParam(Float32, 1, "input"), Func("f")
    f[X] = image[X] * 2.0
    pipe = pipeline(f, estimates={f: [4096]})
    wide = parse_schedule(f"f.vectorize(x, {lanes})", pipe)
    plain = parse_schedule("f.vectorize(x, 8)", pipe)
    found = _cost(pipe, wide, store=1.0) - _cost(pipe, plain, store=1.0)
    assert found == 4096 / 8 * moved  # half of two values for each register
