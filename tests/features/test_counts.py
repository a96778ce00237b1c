"""Counts of points and loop iterations against a walk through the loop nest, value by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import attrs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spaces.features.extraction import extract_features
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import Compute, Loop, LoopNest, NestNode, loop_nest
from spaces.model.nest.splits import divided
from spaces.model.schedules.domain_order import Split, Tail
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.draw_counts import examples
from tests.drawn_pipelines import schedules

SIZE = 9


@st.composite
def _stencils(draw: st.DrawFn) -> Pipeline:
    """Stages that read one or two earlier stages at shifted coordinates."""
    x, y = Var("x"), Var("y")
    sources: list[ImageParam | Func] = [ImageParam(Int32, 2, "input")]
    for number in range(draw(st.integers(2, 3))):
        func = Func(f"f{number}")
        shifts = st.tuples(st.integers(-2, 2), st.integers(-2, 2))
        value: Expr | int = 0
        for source in [sources[-1], *draw(st.lists(st.sampled_from(sources), max_size=1))]:
            for dx, dy in draw(st.lists(shifts, min_size=1, max_size=2)):
                value = value + source[x + dx, y + dy]
        func[x, y] = value
        sources.append(func)
    return pipeline(sources[-1])


def _walk(nest: LoopNest, sizes: dict[str, int]) -> tuple[Counter, Counter]:
    """Evaluations of each stage, and runs of the body of each loop."""
    points: Counter = Counter()
    runs: Counter = Counter()

    def visit(nodes: tuple[NestNode, ...], values: dict[str, int]) -> None:
        for node in nodes:
            if isinstance(node, Compute):
                points[node.func, node.stage] += 1
            elif isinstance(node, Loop):
                low, high = evaluate(node.var.min, values), evaluate(node.var.max, values)
                for value in range(low, high + 1):
                    runs[node.var.func, node.var.stage, node.var.loop] += 1
                    visit(node.body, {**values, node.var.var.name: value})
            else:
                visit(node.body, values)

    visit(nest.body, dict(sizes))
    return points, runs


_UNGUARDED = (Tail.AUTO, Tail.ROUND_UP, Tail.SHIFT_INWARDS)


def _has_guards(schedule: Schedule) -> bool:
    splits = [r for f in schedule.funcs for order in f.stages for r in order.splits]
    return any(isinstance(r, Split) and r.tail not in _UNGUARDED for r in splits)


def _has_tiled_windows(nest: LoopNest) -> bool:
    """Whether the new part of a window is computed in tiles, whose last may be shorter."""
    return any(
        slide.dimension in divided(nest.schedule.of(name).stages[0])
        for name, placement in nest.placements.items()
        for slide in placement.storage.slides
    )


@settings(max_examples=examples(40))
@given(st.data())
def test_counts_are_exact_on_stencils(data: st.DataObject) -> None:
    pipe = data.draw(_stencils())
    chosen = data.draw(schedules(pipe))
    assume(not _has_guards(chosen))
    buffers = (*pipe.outputs, "input")
    sizes = {f"{b}.{part}.{d}": 0 for b in buffers for d in (0, 1) for part in ("min", "extent")}
    sizes |= {name: SIZE for name in sizes if ".extent." in name}
    nest = loop_nest(pipe, chosen)
    assume(not _has_tiled_windows(nest))
    points, runs = _walk(nest, sizes)
    found = extract_features(pipe, chosen).read_ints(sizes)
    for stage in found.stages:
        assert stage.points == points[stage.func, stage.index]
        for loop in stage.loops:
            assert loop.runs == runs[loop.key]
    for func in found.funcs:
        assert func.points >= func.distinct


def test_iterations_that_a_guard_skips_are_no_points() -> None:
    x = Var("x")
    f = Func("f")
    f[x] = x
    pipe = pipeline(f)
    order = Schedule.default(pipe).funcs[0].stages[0]
    split = Split("x", "xo", "xi", 8, Tail.GUARD_WITH_IF)
    loops = tuple(type(order.loops[0])(name) for name in ("xo", "xi"))
    guarded = Schedule.default(pipe).with_stage("f", 0, type(order)((split,), loops))
    found = extract_features(pipe, guarded).read_ints({"f.min.0": 0, "f.extent.0": 13})
    stage = found.func("f").stages[0]
    assert stage.points == 13
    assert [loop.runs for loop in stage.loops] == [2, 16]


def test_lanes_that_depend_on_an_outer_loop_have_a_number() -> None:
    """No device takes them, but a search prices schedules before it asks whether they are legal."""
    x, y = Var("x"), Var("y")
    rows, out = Func("rows"), Func("out")
    rows[x, y] = x + y
    out[x, y] = rows[x, 0] + rows[x, y / 2 * y]
    pipe = pipeline(out, estimates={out: [SIZE, SIZE]})
    chosen = parse_schedule("rows.compute_at(out, y).vectorize(y)", pipe)
    (stage,) = extract_features(pipe, chosen).func("rows").stages
    middle = [SIZE // 2, SIZE // 2 + 1]  # as the rounding of y / 2 repeats
    assert evaluate(stage.lanes, pipe.sizes()) == max(at // 2 * at + 1 for at in middle)


@pytest.mark.parametrize(
    "splits",
    [
        "split(x, xo, xi, 1, GuardWithIf).split(xo, xo, xm, 4, GuardWithIf)",
        "split(x, xo, xi, 4, GuardWithIf).split(xo, xo, xm, 5, GuardWithIf)",
        "fuse(x, y, t).split(t, t, ti, 4, GuardWithIf)",
        "split(x, x, xi, 4, GuardWithIf).fuse(x, y, t).split(t, t, ti, 7, GuardWithIf)",
    ],
)
def test_what_any_guard_skips_is_not_evaluated(splits: str) -> None:
    f = Func("f")
    x, y = Var("x"), Var("y")
    f[x, y] = x + y
    pipe = pipeline(f, estimates={f: [18, 7]})
    found = extract_features(pipe, parse_schedule(f"f.{splits}", pipe)).read_ints(pipe.sizes())
    assert found.func("f").points == 18 * 7


@pytest.mark.parametrize(
    ("splits", "executed"),
    [
        ("split(x, x, xv, 16, GuardWithIf).vectorize(xv)", 2 * 16 * 7),
        ("split(x, x, xv, 16, ShiftInwards).vectorize(xv)", 2 * 16 * 7),
        ("split(x, x, xi, 16, GuardWithIf)", 18 * 7),
        ("split(x, x, xv, 6, GuardWithIf).vectorize(xv)", 18 * 7),
        ("split(x, x, xi, 12, GuardWithIf).split(xi, xi, xv, 4, GuardWithIf).vectorize(xv)", 126),
        ("split(x, x, xi, 9, GuardWithIf).split(xi, xi, xv, 4, GuardWithIf).vectorize(xv)", 168),
        ("split(x, x, xi, 12, GuardWithIf).split(xi, xi, xv, 8, GuardWithIf).vectorize(xv)", 168),
        ("split(x, x, xv, 16, GuardWithIf).vectorize(xv).fuse(x, y, t).parallel(t)", 224),
    ],
)
def test_vectors_are_executed_whole(splits: str, executed: int) -> None:
    """Over 18 by 7 values; 9 of them take three vectors of 4."""
    f = Func("f")
    x, y = Var("x"), Var("y")
    f[x, y] = x + y
    pipe = pipeline(f, estimates={f: [18, 7]})
    found = extract_features(pipe, parse_schedule(f"f.{splits}", pipe)).read_ints(pipe.sizes())
    (stage,) = found.func("f").stages
    assert stage.executed == executed


@pytest.mark.parametrize(("tile", "lanes"), [(12, 4), (9, 4), (18, 16), (5, 8)])
def test_open_numbers_execute_as_many_as_written_ones(tile: int, lanes: int) -> None:
    f = Func("f")
    x, y = Var("x"), Var("y")
    f[x, y] = x + y
    pipe = pipeline(f, estimates={f: [18, 7]})
    tiles = "f.split(x, x, xi, {}, GuardWithIf).split(xi, xi, xv, {}, GuardWithIf).vectorize(xv)"
    written = extract_features(pipe, parse_schedule(tiles.format(tile, lanes), pipe))
    opened = extract_features(pipe, parse_schedule(tiles.format("tile", "lanes"), pipe))
    sizes = pipe.sizes()
    (one,) = written.read_ints(sizes).func("f").stages
    (other,) = opened.read_ints({**sizes, "tile": tile, "lanes": lanes}).func("f").stages
    assert one.executed == other.executed


def _every_formula(part: object) -> Iterator[Expr]:
    """The formulas in all fields of a record, whatever their types."""
    if isinstance(part, Expr):
        yield part
    elif isinstance(part, tuple):
        for one in part:
            yield from _every_formula(one)
    elif attrs.has(type(part)):
        for attribute in attrs.fields(type(part)):
            yield from _every_formula(getattr(part, attribute.name))


@pytest.mark.parametrize("loops", ["parallel(y)", "gpu_tile(x, y, xi, yi, 8, 4)"])
def test_formulas_of_all_fields_are_read(loops: str) -> None:
    x, y = Var("x"), Var("y")
    inner, f = Func("inner"), Func("f")
    inner[x, y] = ImageParam(Int32, 2, "input")[x, y]
    f[x, y] = inner[x, y] + inner[x + 1, y]
    pipe = pipeline(f)
    chosen = parse_schedule(f"f.{loops}\ninner.compute_root()", pipe)
    features = extract_features(pipe, chosen)
    for func in features.funcs:
        assert {*func.formulas} == {*_every_formula(func)}
    assert features.names == {
        n
        for one in (*features.funcs, *features.kernels)
        for leaf in _every_formula(one)
        for n in leaf.names
    }
