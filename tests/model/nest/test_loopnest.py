"""The loop nest computes what the pipeline defines, touches only what is there, and prints."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spaces import Func, OrderError, Pipeline, RDom, Schedule, Var, loop_nest, schedule
from spaces.model.algorithm.freeze import pipeline as freeze
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.loopnest import Allocate, Compute, walk_nest
from spaces.model.nest.nest_text import format_nest, format_nests
from spaces.model.writing.text import parse_schedule
from tests.draw_counts import examples, is_thorough
from tests.drawn_pipelines import schedules, stencil_pipelines
from tests.model.nest.nest_interpreter import ideal, run_nest


def image(name: str, at: tuple[int, ...]) -> int:
    x, y = at
    return (x * 7 + y * 13 + x * y) % 101


def sizes_of(pipeline: Pipeline, extents: tuple[int, int], mins: tuple[int, int]) -> dict[str, int]:
    (output,) = pipeline.outputs
    return {
        f"{output}.{part}.{d}": value
        for d in range(2)
        for part, value in (("min", mins[d]), ("extent", extents[d]))
    }


def check_nest(pipeline: Pipeline, schedule: Schedule, sizes: dict[str, int]) -> None:
    nest = loop_nest(pipeline, schedule)
    (output,) = pipeline.outputs
    # Sizes that the schedule does not serve (too small for its tiles) are refused elsewhere.
    for d, interval in enumerate(nest.outputs[output]):
        assert interval.min is not None
        assert interval.max is not None
        low, extent = sizes[f"{output}.min.{d}"], sizes[f"{output}.extent.{d}"]
        assume(evaluate(interval.min, sizes) == low)
        assume(evaluate(interval.max, sizes) == low + extent - 1)
        splits = schedule.of(output).stages[0].splits
        assume(
            all(extent >= s.factor for s in splits if s.old == pipeline.function(output).args[d])
        )

    def checked(name: str, at: tuple[int, ...]) -> int:
        for x, interval in zip(at, nest.inputs[name], strict=True):
            assert interval.min is not None
            assert interval.max is not None
            assert evaluate(interval.min, sizes) <= x <= evaluate(interval.max, sizes)
        return image(name, at)

    outputs, _ = run_nest(nest, sizes, checked)
    x0, w = sizes[f"{output}.min.0"], sizes[f"{output}.extent.0"]
    y0, h = sizes[f"{output}.min.1"], sizes[f"{output}.extent.1"]
    expected = {
        (x, y): ideal(pipeline, output, (x, y), image)
        for x in range(x0, x0 + w)
        for y in range(y0, y0 + h)
    }
    assert outputs[output] == expected


@settings(max_examples=100 if is_thorough() else 18)
@given(st.data())
def test_every_well_formed_schedule_computes_the_pipeline(data: st.DataObject) -> None:
    pipeline = data.draw(stencil_pipelines(max_stages=3))
    schedule = data.draw(schedules(pipeline))
    extents = data.draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    mins = data.draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3)))
    check_nest(pipeline, schedule, sizes_of(pipeline, extents, mins))


def test_guarded_splits_of_fused_loops_stay_in_the_box() -> None:
    out, x, y = Func("out"), Var("x"), Var("y")
    out[x, y] = x + y
    algorithm = freeze(out)
    fused = schedule(algorithm).fuse("x", "y", "xy").split("xy", "xy", "i", 4, "guard_with_if")
    sizes = {"out.min.0": -2, "out.extent.0": 7, "out.min.1": 5, "out.extent.1": 3}
    box = loop_nest(algorithm, fused.schedule).outputs["out"]
    ends = [evaluate(end, sizes) for i in box for end in (i.min, i.max) if end is not None]
    assert ends == [-2, 4, 5, 7]


@pytest.mark.parametrize("fused", [("x", "y"), ("y", "x")])
def test_fused_loops_visit_each_point_once(fused: tuple[str, str]) -> None:
    out, x, y = Func("out"), Var("x"), Var("y")
    out[x, y] = x * 10 + y
    algorithm = freeze(out)
    chosen = schedule(algorithm).fuse(*fused, "t").schedule
    sizes = sizes_of(algorithm, (7, 3), (-2, 5))
    outputs, computed = run_nest(loop_nest(algorithm, chosen), sizes, counting)
    assert outputs["out"] == {(x, y): x * 10 + y for x in range(-2, 5) for y in range(5, 8)}
    assert computed == 21


def test_values_read_at_simple_coordinates() -> None:
    """Their own arithmetic stays as written."""
    f, out, x = Func("f"), Func("out"), Var("x")
    f[x] = x * 3
    out[x] = f[(x + 3) - 3] * 2 + 0 * (x - x)
    algorithm = freeze(out)
    nest = loop_nest(algorithm, schedule(algorithm).func("f").compute_root().schedule)
    (last,) = (n for n in walk_nest(nest.body) if isinstance(n, Compute) and n.func == "out")
    assert [str(value) for value in last.values] == ["f(out.s0.x) * 2 + 0 * (out.s0.x - out.s0.x)"]


def test_a_nest_is_shown_for_each_case_of_a_specialization() -> None:
    out, x = Func("out"), Var("x")
    out[x] = x
    algorithm = freeze(out)
    whole = format_nests(algorithm, parse_schedule("out.vectorize(x, 4);", algorithm))
    assert whole == format_nest(
        loop_nest(algorithm, schedule(algorithm).vectorize("x", 4).schedule)
    )
    text = "out.specialize(out.dim(0).extent() > 8).vectorize(x, 4);"
    cases = format_nests(algorithm, parse_schedule(text, algorithm)).splitlines()
    (first, last) = (line for line in cases if line.startswith("where"))
    assert first != last
    assert [line.strip() for line in cases[1 : cases.index(last)]] == [
        line.strip() for line in whole.splitlines()
    ]


def counting(name: str, at: tuple[int, ...]) -> int:
    raise AssertionError(f"nothing reads {name}")


@pytest.mark.parametrize(("extent", "factor"), [(5, 2), (4, 8), (8, 4), (7, 7), (1, 3), (6, 1)])
def test_a_split_reduction_visits_each_point_once(extent: int, factor: int) -> None:
    f, x, r = Func("f"), Var("x"), RDom([(3, extent)], "r")
    f[x] = x
    f[x] += r.x * 100
    algorithm = freeze(f)
    chosen = schedule(algorithm).update(0).split("r.x", "ro", "ri", factor).schedule
    outputs, computed = run_nest(
        loop_nest(algorithm, chosen), {"f.min.0": -1, "f.extent.0": 3}, counting
    )
    total = 100 * sum(range(3, 3 + extent))
    assert outputs["f"] == {(x,): x + total for x in (-1, 0, 1)}
    assert computed == 3 + 3 * extent


@pytest.mark.parametrize("factors", [(4, 2), (3, 5), (8, 8)])
def test_guards_of_two_splits_hold_at_once(factors: tuple[int, int]) -> None:
    f, out, x, y = Func("f"), Func("out"), Var("x"), Var("y")
    f[x, y] = x * 10 + y
    out[x, y] = f[x, y] + f[x + 1, y]
    algorithm = freeze(out)
    result = schedule(algorithm)
    for name, dx, dy in (("out", *factors), ("f", *factors)):
        result = result.func(name).split("x", "x", "xi", dx, "guard_with_if")
        result = result.split("y", "y", "yi", dy, "guard_with_if")
    sizes = sizes_of(algorithm, (7, 3), (2, -4))
    nest = loop_nest(algorithm, result.func("f").compute_root().schedule)
    outputs, computed = run_nest(nest, sizes, counting)
    assert outputs["out"] == {
        (x, y): 20 * x + 10 + 2 * y for x in range(2, 9) for y in range(-4, -1)
    }
    assert computed == 7 * 3 + 8 * 3
    (allocation,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    assert [evaluate(e, sizes) for e in allocation.extents] == [8, 3]


def test_updates_of_whole_tiles_are_done_once() -> None:
    """Shifting the last tile inwards would update what it shares with the one before twice."""
    f, x = Func("f"), Var("x")
    f[x] = 1
    f[x] = f[x] * 2
    algorithm = freeze(f)
    chosen = schedule(algorithm).update(0).split("x", "x", "xi", 4).schedule
    outputs, computed = run_nest(
        loop_nest(algorithm, chosen), {"f.min.0": 0, "f.extent.0": 8}, counting
    )
    assert outputs["f"] == {(x,): 2 for x in range(8)}
    assert computed == 16
    box = loop_nest(algorithm, chosen).outputs["f"][0]
    assert box.max is not None
    assert evaluate(box.max, {"f.min.0": 0, "f.extent.0": 6}) == 7


def test_a_guard_stops_what_splits_of_its_tiles_visit_beyond() -> None:
    """Tiles of tiles may be more than there are, but the first split lets no iteration pass."""
    f, out, x = Func("f"), Func("out"), Var("x")
    f[x] = x * 3
    out[x] = f[x] + f[x + 1]
    algorithm = freeze(out)
    tiled = schedule(algorithm).func("f").compute_root().split("x", "xo", "xi", 4, "guard_with_if")
    chosen = tiled.split("xo", "xoo", "xoi", 8, "round_up").schedule
    nest = loop_nest(algorithm, chosen)
    sizes = {"out.min.0": -3, "out.extent.0": 9}
    outputs, computed = run_nest(nest, sizes, counting)
    assert outputs["out"] == {(x,): 6 * x + 3 for x in range(-3, 6)}
    assert computed == 9 + 10
    (allocation,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    assert [evaluate(e, sizes) for e in allocation.extents] == [10]


@pytest.mark.parametrize("factor", [1, 2, 3, 5])
def test_tiles_of_tiles_of_an_update_are_updated_once(factor: int) -> None:
    f, x = Func("f"), Var("x")
    f[x] = 1
    f[x] = f[x] * 2
    algorithm = freeze(f)
    tiles = schedule(algorithm).update(0).split("x", "x", "xi", 4).split("xi", "xi", "t", factor)
    nest = loop_nest(algorithm, tiles.schedule)
    outputs, _ = run_nest(nest, {"f.min.0": 0, "f.extent.0": 8}, counting)
    assert outputs["f"] == {(x,): 2 for x in range(8)}


@settings(max_examples=examples(8, fewest=4))
@given(height=st.integers(17, 40), low=st.integers(-4, 4))
def test_the_rows_of_fused_loops_have_limits_where_no_number_of_rows_is_known(
    height: int, low: int
) -> None:
    x, y = Var("x"), Var("y")
    a, b, f, out = (Func(name) for name in ("a", "b", "f", "out"))
    a[x, y] = x * 7 + y * 13
    b[x, y] = a[x, y] + a[x + 1, y]
    f[x, y] = b[x, y / 2 - 1 + 2 * (y % 2)]
    out[x, y] = f[x / 2 - 1 + 2 * (x % 2), y / 2 - 1 + 2 * (y % 2)]
    p = freeze(out)
    s = schedule(p).func("a").compute_root().func("f").compute_root()
    s = s.split("y", "y", "yi", 8).reorder("yi", "y", "x").fuse("y", "x", "t")
    s = s.func("b").compute_at("f", "yi")
    check_nest(p, s.schedule, sizes_of(p, (17, height), (-3, low)))


@pytest.mark.parametrize(
    ("directives", "told"),
    [
        (
            lambda d: d.split("z", "z", "zi", 4),
            "Split of z of f: z is no loop there",
        ),
        (lambda d: d.split("x", "xo", "xo", 4), "xo would name two loops"),
        (lambda d: d.fuse("x", "x", "t"), "x would name two loops"),
        (lambda d: d.parallel("z"), "The loops of f are z, x, but the stage has x; put each"),
        (lambda d: d.gpu_single_thread().loops("__thread"), "The loops of f are __thread, but"),
    ],
)
def test_orders_that_name_other_loops_have_no_nest(directives, told: str):
    x, f = Var("x"), Func("f")
    f[x] = x
    written = directives(schedule(freeze(f)))
    with pytest.raises(OrderError, match=told):
        loop_nest(written.pipeline, written.schedule)


def test_a_func_without_dimensions_takes_one_element() -> None:
    x, one, out = Var("x"), Func("one"), Func("out")
    one[()] = 7
    out[x] = x + one[()]
    made = freeze(out)
    bounds = Bounds(made, schedule(made).func("one").compute_root().schedule)
    assert [str(a.elements) for a in bounds.allocations.values()] == ["1"]
