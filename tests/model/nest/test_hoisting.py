"""Hoisted and bounded storage: how much memory is obtained, where, and that it is used."""

import re

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.reference import evaluate
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.nest.loopnest import Allocate, HoistedStorage, loop_nest, walk_nest
from spaces.model.writing.text import parse_schedule

X, Y = Var("x"), Var("y")


def triangle() -> Pipeline:
    """Row ``y`` of ``g`` reads ``y`` more values of ``f`` than it has."""
    image = ImageParam(Int32, 1, "im")
    f, g = Func("f"), Func("g")
    f[X] = image[X] + 1
    g[X, Y] = f[X] * 2 + f[X + Y]
    return pipeline(g)


SIZES = {"g.min.0": 0, "g.min.1": 0, "g.extent.0": 10, "g.extent.1": 7}


def test_the_most_of_all_iterations_is_obtained() -> None:
    built = triangle()
    nest = loop_nest(built, parse_schedule("f.compute_at(g, y).hoist_storage_root()", built))
    (memory,) = [n for n in walk_nest(nest.body) if isinstance(n, HoistedStorage)]
    (storage,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    assert memory is nest.body[0]
    assert [number(e, SIZES) for e in memory.extents] == [10 + 6]
    assert [number(storage.extents[0], {**SIZES, "g.s0.y": y}) for y in (0, 6)] == [10, 16]


def test_bounded_storage_is_as_large_as_its_bound() -> None:
    built = triangle()
    nest = loop_nest(built, parse_schedule("f.compute_at(g, y).bound_storage(x, 32)", built))
    (storage,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    assert str(storage.extents[0]) == "32"


def test_memory_is_obtained_once() -> None:
    built = triangle()
    compiled = [
        compile_cpu_unchecked(built, parse_schedule(f"f.compute_at(g, y){hoist}", built))
        for hoist in ("", ".hoist_storage_root()")
    ]
    inside, outside = [c.program_text("flatten") for c in compiled]
    assert "within" not in inside
    assert outside.index("allocate f.hoisted") < outside.index("for g.s0.y")
    assert outside.index("for g.s0.y") < outside.index("within f.hoisted")
    image = {"im": np.arange(16, dtype=np.int32)}
    sizes = {"g": (10, 7)}
    wanted = evaluate(built, image, sizes=sizes)["g"]
    for each in compiled:
        assert np.array_equal(each.run(image, sizes=sizes)["g"], wanted)


def test_each_component_of_a_tuple_is_hoisted() -> None:
    image = ImageParam(Int32, 1, "im")
    f, g = Func("f"), Func("g")
    f[X] = (image[X], image[X] * 2)
    g[X, Y] = f[X][0] + f[X + Y][1]
    built = pipeline(g)
    compiled = compile_cpu_unchecked(
        built, parse_schedule("f.compute_at(g, x).hoist_storage_root()", built)
    )
    assert compiled.program_text("start").count("within") == 2
    inputs, sizes = {"im": np.arange(16, dtype=np.int32)}, {"g": (10, 7)}
    wanted = evaluate(built, inputs, sizes=sizes)["g"]
    assert np.array_equal(compiled.run(inputs, sizes=sizes)["g"], wanted)


def test_a_ring_buffer_has_a_place_for_each_of_several_iterations() -> None:
    built = triangle()
    schedule = parse_schedule("f.compute_at(g, y).hoist_storage_root().ring_buffer(3)", built)
    nest = loop_nest(built, schedule)
    assert [number(e, SIZES) for e in nest.bounds.memory_of("f")] == [10 + 6, 3]
    (storage,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    assert storage.slot is not None
    slots = [number(storage.slot, {**SIZES, "g.s0.y": y}) for y in range(7)]
    assert slots == [0, 1, 2, 0, 1, 2, 0]
    moved = {**SIZES, "g.min.1": -4}
    assert [number(storage.slot, {**moved, "g.s0.y": y}) for y in (-4, -3, -1)] == [0, 1, 0]
    compiled = compile_cpu_unchecked(built, schedule)
    (written,) = re.findall(r"f\[(.*?)\] = ", compiled.program_text("flatten"))
    assert "3" in written
    assert "g.s0.y" in written
    image, sizes = {"im": np.arange(16, dtype=np.int32)}, {"g": (10, 7)}
    wanted = evaluate(built, image, sizes=sizes)["g"]
    assert np.array_equal(compiled.run(image, sizes=sizes)["g"], wanted)


def test_the_places_of_a_ring_buffer_follow_all_loops_that_share_its_memory() -> None:
    """A Tuple with an update, read ahead of the loop in which its memory is obtained."""
    image, f, g = ImageParam(Int32, 2, "im"), Func("f"), Func("g")
    f[X, Y] = (image[X, Y], image[X, Y] * 2)
    f[X, Y] = (f[X, Y][1], f[X, Y][0] + X)
    g[X, Y] = f[X, Y][0] + f[X + 1, Y][1]
    built = pipeline(g)
    text = (
        "g.tile(x, y, xi, yi, 4, 2, GuardWithIf).parallel(y)\n"
        "f.compute_at(g, yi).hoist_storage(g, y).ring_buffer(5).vectorize(x, 4)"
    )
    schedule = parse_schedule(text, built)
    nodes = walk_nest(loop_nest(built, schedule).body)
    (storage,) = {n.slot for n in nodes if isinstance(n, Allocate)}
    assert storage is not None
    tiles = [number(storage, {"g.s0.x": x, "g.s0.yi": yi}) for x in range(4) for yi in (0, 1)]
    assert tiles == [0, 1, 2, 3, 4, 0, 1, 2]
    compiled = compile_cpu_unchecked(built, schedule)
    inputs = {"im": np.arange(12 * 7, dtype=np.int32).reshape(7, 12)}
    wanted = evaluate(built, inputs, sizes={"g": (11, 7)})["g"]
    assert np.array_equal(compiled.run(inputs, sizes={"g": (11, 7)})["g"], wanted)


def test_the_scratch_of_a_tile_that_may_be_cut_short_lies_on_the_stack() -> None:
    image, f, g = ImageParam(Int32, 2, "im"), Func("f"), Func("g")
    f[X, Y] = image[X, Y] + 1
    g[X, Y] = f[X, Y] * f[X, Y + 2]
    built = pipeline(g)
    text = "g.split(x, x, xi, 8, GuardWithIf)\nf.compute_at(g, x)"
    compiled = compile_cpu_unchecked(built, parse_schedule(text, built))
    assert "allocate f: int32[24]" in compiled.program_text("flatten")
    assert "spaces_malloc" not in compiled.assembly()
    heap = compile_cpu_unchecked(built, parse_schedule(f"{text}.store_in(Heap)", built))
    assert "spaces_malloc" in heap.assembly()
    inputs, sizes = {"im": np.arange(19 * 7, dtype=np.int32).reshape(7, 19)}, {"g": (19, 5)}
    wanted = evaluate(built, inputs, sizes=sizes)["g"]
    for each in (compiled, heap):
        assert np.array_equal(each.run(inputs, sizes=sizes)["g"], wanted)


@pytest.mark.parametrize(
    ("layout", "place"),
    [
        ("", "x + 8 * y"),
        (".reorder_storage(y, x)", "4 * x + y"),
        (".align_storage(x, 3)", "x + 9 * y"),
        (".reorder_storage(y, x).align_storage(y, 16)", "16 * x + y"),
    ],
)
def test_where_values_lie(layout: str, place: str) -> None:
    image, f, g = ImageParam(Int32, 2, "im"), Func("f"), Func("g")
    f[X, Y] = image[X, Y] + 1
    g[X, Y] = f[X % 8, Y % 4]
    built = pipeline(g)
    text = f"f.compute_root(){layout}"
    compiled = compile_cpu_unchecked(built, parse_schedule(text, built))
    (written,) = re.findall(r"f\[(.*?)\] = ", compiled.program_text("flatten"))
    for x, y in ((0, 0), (1, 0), (0, 1), (7, 3)):
        index = written.replace("f.s0.x", str(x)).replace("f.s0.y", str(y))
        assert eval(index) == eval(place, {"x": x, "y": y})
