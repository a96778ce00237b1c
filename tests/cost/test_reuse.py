"""The parts of the reuse model, one price at a time: all other prices are 0."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from attrs import evolve

from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.features.footprints import rows_of
from spaces.model.algorithm import boundary
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.undefined import undef
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Float32, UInt16
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import cost_of, free
from tests.cpus import FOUR_CORES, ONE_CORE

X, Y = Var("x"), Var("y")
LINE = 64
VALUES = 64 * 32


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
    moved = cost_of(pipe, schedule(pipe), line_from_memory=1.0)
    assert moved == (4096 + 2) * row + 1 + 2 * (4096 * row + 1)


def test_column_after_column_moves_as_much_only_where_a_column_fits() -> None:
    """A column of lines is 3 x 256 KiB: the last cache holds it, the one before does not."""
    pipe = _column_sums(4096, 4096)
    by_columns = schedule(pipe).reorder("y", "x")
    lines = (4096 + 2 + 2 * 4096) * 4096 * 2 // LINE + 3
    assert cost_of(pipe, by_columns, line_from_memory=1.0) == lines
    from_l3 = cost_of(pipe, by_columns, line_from_l3=1.0)
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
    assert cost_of(pipe, parse_schedule(text, pipe), row_from_l3=1.0) == rows


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
        costs.append(cost_of(pipe, lines, line_from_memory=1.0))
    assert costs[0] == costs[1]


def test_stages_apart_do_not() -> None:
    costs = []
    for again in (False, True):
        pipe = _chain(again)
        costs.append(cost_of(pipe, schedule(pipe).func("a").compute_root(), line_from_memory=1.0))
    assert costs[0] < costs[1]


def test_a_folded_buffer_stays_in_the_cache() -> None:
    """Stored for a tile, two rows of it are reused in a circle; stored for all tiles of a strip,
    rows are new memory each time.
    """
    pipe = _chain(False)
    tiled = schedule(pipe).tile("x", "y", "xi", "yi", 256, 64).func("a").compute_at("out", "yi")
    folded, unfolded = tiled.store_at("out", "x"), tiled.store_at("out", "y")
    assert cost_of(pipe, folded, line_from_l2=1.0) < cost_of(pipe, unfolded, line_from_l2=1.0)


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
        found[condition] = cost_of(pipe, schedule(pipe).vectorize("x", 8), load=1.0, lane=1.0)
    plain = 1.5 * 1024 * 1024 / 8  # every other vector of half a line reaches into the next one
    assert found[None] == plain
    assert found[boundary.repeat_edge] == plain
    assert found[boundary.mirror_image] == 1024 * 1024


@pytest.mark.parametrize(
    ("divisor", "lanes", "loads", "values", "shuffles"),
    [
        (2, 8, 1, 5, 1),  # of 8 in a register
        (2, 16, 2, 9, 2),
        (4, 16, 1, 5, 2),
        (-2, 8, 1, 5, 1),  # backwards
    ],
)
def test_vectors_of_quotients_are_loaded_whole_and_shuffled(
    divisor: int, lanes: int, loads: int, values: int, shuffles: int
) -> None:
    """Neighboring lanes of ``image[x / 2]`` read the same value or neighbors: at most so many
    values, of 16 in a line.
    """
    image, f = ImageParam(Float32, 2, "input"), Func("f")
    f[X, Y] = image[X / divisor, Y]
    pipe = pipeline(f, estimates={f: [1024, 1024]})
    vectors = 1024 * 1024 / lanes
    chosen = schedule(pipe).vectorize("x", lanes)
    assert cost_of(pipe, chosen, load=1.0, lane=100.0) == (loads + values / 16) * vectors
    assert cost_of(pipe, chosen, shuffle=1.0) == shuffles * vectors


def test_quotients_of_other_coordinates_change_no_vector() -> None:
    image, f = ImageParam(Float32, 2, "input"), Func("f")
    f[X, Y] = image[X + Y / 2, Y / 2]
    pipe = pipeline(f, estimates={f: [1024, 1024]})
    eight = schedule(pipe).vectorize("x", 8)
    assert cost_of(pipe, eight, load=1.0, lane=100.0, shuffle=100.0) == 1.5 * 1024 * 1024 / 8


@pytest.mark.parametrize("coordinate", [(3 * X) / 2, X / 5, X / 2 + X % 2], ids=str)
def test_vectors_with_gaps_or_few_values_are_gathered(coordinate: Expr) -> None:
    image, f = ImageParam(Float32, 2, "input"), Func("f")
    f[X, Y] = image[coordinate, Y]
    pipe = pipeline(f, estimates={f: [1024, 1024]})
    eight = schedule(pipe).vectorize("x", 8)
    assert cost_of(pipe, eight, load=100.0, lane=1.0) == 1024 * 1024


def test_vectors_across_rows_are_scattered() -> None:
    pipe = _shifted(None)
    assert cost_of(pipe, schedule(pipe).vectorize("y", 8), scatter=2.0, lane=1.0) == 3 * 1024 * 1024


def test_work_is_that_of_the_busier_units() -> None:
    """Per vector 2 sums and 3 loads, half of which reach into a second line: the loads hide the
    sums, or the other way round.
    """
    pipe = _column_sums(1024, 1024)
    vectors = 1024 * 1024 / 16
    sixteen = schedule(pipe).vectorize("x", 16)
    assert cost_of(pipe, sixteen, instruction=2.0, load=1.0) == 4.5 * vectors
    assert cost_of(pipe, sixteen, instruction=3.0, load=1.0) == 6 * vectors


def test_wide_vectors_take_several_registers() -> None:
    pipe = _column_sums(1024, 1024)
    by_lanes = {
        lanes: cost_of(pipe, schedule(pipe).vectorize("x", lanes), instruction=1.0)
        for lanes in (8, 16, 64)
    }
    assert by_lanes[16] == by_lanes[64] == 2 * 1024 * 1024 / 16
    assert by_lanes[8] == 2 * by_lanes[16]


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


def test_a_row_taken_up_again_and_again_is_found_each_time() -> None:
    """256 rows are more than a prefetcher remembers: column after column of 16 values finds each
    of them 65 times. So does column after column of one value, for the lines of 16 columns stay in
    the cache. The few rows of a strip it follows.
    """
    image, f = ImageParam(Float32, 2, "input"), Func("f")
    f[X, Y] = image[X, Y]
    pipe = pipeline(f, estimates={f: [1040, 256]})
    columns = parse_schedule("f.split(x, x, xi, 16).reorder(xi, y, x)", pipe)
    strips = parse_schedule("f.split(x, x, xi, 16).split(y, y, yi, 8).reorder(xi, yi, x, y)", pipe)
    fitting = evolve(ONE_CORE, l2_bytes=64 * 1024, l3_bytes=64 * 1024)
    model = Reuse(fitting, free(row_from_l3=1.0, row_from_memory=1.0))
    narrow = parse_schedule("f.reorder(y, x)", pipe)
    found = [float(model.cost(Batch.of(pipe, one))) for one in (strips, columns, narrow)]
    assert found == [found[0], 65 * found[0], 65 * found[0]]


def test_cores_share_the_last_cache() -> None:
    """A column of lines, 768 KiB, fits into the 2 MiB of each of four cores, not into 512 KiB."""
    pipe = _column_sums(4096, 4096)
    by_columns = parse_schedule("f.reorder(y, x)", pipe)

    def moved(cores: int, l3_bytes: int) -> float:
        device = evolve(FOUR_CORES, cores=cores, l3_bytes=l3_bytes)
        return float(Reuse(device, free(line_from_memory=1.0)).cost(Batch.of(pipe, by_columns)))

    assert moved(4, 8 << 20) == moved(1, 2 << 20)
    assert moved(4, 2 << 20) == moved(1, 512 << 10) > 10 * moved(1, 2 << 20)


def test_what_leaves_all_values_undefined_takes_no_time() -> None:
    f = Func("f")
    f[X, Y] = undef(Float32)
    f[X, 0] = 1.0
    pipe = pipeline(f, estimates={f: [64, 32]})
    prices = {"store": 1.0, "iteration": 1.0, "visit": 1.0, "line_from_l2": 1.0}
    stored = cost_of(pipe, Schedule.default(pipe), store=1.0)
    assert stored == 64
    assert cost_of(pipe, Schedule.default(pipe), **prices) < 64 * 4


def test_a_clamp_makes_a_gather_where_no_loop_has_ends_to_split_off() -> None:
    image, f = ImageParam(Float32, 2, "input"), Func("f")
    f[X, Y] = boundary.repeat_edge(image)[X - 1, Y]
    pipe = pipeline(f, estimates={f: [64, 32], image: [64, 32]})
    rolled = parse_schedule("f.bound(x, 0, 64).vectorize(x, 4)", pipe)
    unrolled = parse_schedule("f.bound(x, 0, 64).vectorize(x, 4).unroll(x)", pipe)
    assert cost_of(pipe, rolled, lane=1.0) == 0
    assert cost_of(pipe, unrolled, lane=1.0) == VALUES


def test_windows_that_slide_along_rows_wrap_anywhere_in_a_vector() -> None:
    image, f, out = ImageParam(Float32, 2, "input"), Func("f"), Func("out")
    f[X, Y] = image[X, Y]
    out[X, Y] = f[X, Y] + f[X + 1, Y]
    pipe = pipeline(out, estimates={out: [64, 32]})
    vectors = "out.split(x, x, xi, 4).vectorize(xi)\n"
    along = parse_schedule(vectors + "f.compute_at(out, x).store_at(out, y).vectorize(x, 4)", pipe)
    whole = parse_schedule(vectors + "f.compute_at(out, y).vectorize(x, 4)", pipe)
    assert cost_of(pipe, whole, lane=1.0, scatter=1.0) == 0
    assert cost_of(pipe, along, lane=1.0) == 2 * VALUES
    assert cost_of(pipe, along, scatter=1.0) >= VALUES


def _scratch(width: int) -> Pipeline:
    a, out = Func("a"), Func("out")
    a[X, Y] = X + Y
    out[X, Y] = a[X, Y] + a[X + 1, Y]
    return pipeline(out, estimates={out: [width, 32]})


def test_small_scratch_is_on_the_stack() -> None:
    """A row of 1025 values of 4 bytes, and one of 8193, which is too large. The loop over rows runs
    inside of the allocation.
    """
    found = []
    for width in (1024, 8192):
        pipe = _scratch(width)
        rows = schedule(pipe).func("a").compute_at("out", "y")
        found.append(cost_of(pipe, rows, allocation=1.0))
    assert found == [0, 1]


def test_memory_is_taken_once_for_the_serial_loops_around() -> None:
    """Four tasks of eight rows each, then copies of the body for eight rows."""
    pipe = _scratch(8192)
    split = "out.split(y, y, yi, 8)"
    kinds = (".parallel(y)", ".unroll(yi)")
    texts = [f"{split}{kind}\na.compute_at(out, yi)" for kind in kinds]
    found = [cost_of(pipe, parse_schedule(one, pipe), allocation=1.0) for one in texts]
    assert found == [4, 32]


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
    found = cost_of(pipe, parse_schedule("a.compute_root()", pipe), byte=1.0)
    assert found == 32 * 8193 * 4 - (512 << 10)
