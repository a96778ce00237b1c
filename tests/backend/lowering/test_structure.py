"""The purpose of each pass: what its programs no longer contain, and what they contain instead."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spaces.apps.pipelines import blur
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.sizes import elements
from spaces.backend.ir.statements import (
    Allocate,
    For,
    If,
    ParallelFor,
    Provide,
    Statement,
    Store,
)
from spaces.backend.ir.vectors import Broadcast, Load, MaskedLoad, Ramp
from spaces.backend.lowering.cpu.passes import lower
from spaces.model.algorithm import boundary
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Call, Expr, Op, cast, constant, walk
from spaces.model.expressions.functions import select
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import (
    Float32,
    Float64,
    Int16,
    Int32,
    Type,
    UInt8,
    UInt16,
    UInt32,
)
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.domain_order import LoopKind

X, Y = Var("x"), Var("y")
BLUR = blur.pipeline()


def programs(algorithm: Pipeline, directives: Directives) -> dict[str, LoopProgram]:
    return lower(loop_nest(algorithm, directives.schedule))


def found(program: LoopProgram, kind: type) -> list:
    return [s for s in walk_nodes(program.body) if isinstance(s, kind)]


def nodes(program: LoopProgram, kind: type) -> list[Expr]:
    statements = walk_nodes(program.body)
    return [n for s in statements for n in walk(*s.expressions) if isinstance(n, kind)]


def allowed(directives: Directives, width: int, image: int) -> bool:
    """Whether a run with these widths of the output and the image meets all size checks."""
    sizes = {f"blur_y.{p}": v for p, v in {"min.0": 1, "min.1": 1, "extent.1": 64}.items()}
    sizes |= {f"input.{p}": v for p, v in {"min.0": 0, "min.1": 0, "extent.1": 66}.items()}
    sizes |= {"blur_y.extent.0": width, "input.extent.0": image}
    start = programs(BLUR, directives)["start"]
    return all(evaluate(r.condition, sizes) for r in start.size_checks)


@pytest.mark.parametrize(
    ("tail", "width", "image", "is_allowed"),
    [
        ("round_up", 24, 26, True),
        ("round_up", 23, 26, False),  # computes column 24
        ("shift_inwards", 8, 10, True),
        ("shift_inwards", 7, 9, False),
        ("guard_with_if", 1, 3, True),
        ("guard_with_if", 9, 11, True),
        ("guard_with_if", 9, 10, False),  # reads column 10
    ],
)
def test_requirements_of_tails(tail: str, width: int, image: int, is_allowed: bool) -> None:
    assert allowed(schedule(BLUR).vectorize("x", 8, tail), width, image) is is_allowed


def test_simplify_moves_guards_out_of_loops_they_do_not_vary_in() -> None:
    directives = schedule(BLUR).split("y", "y", "yi", 3, "guard_with_if")
    stages = programs(BLUR, directives)
    (guard,) = found(stages["start"], If)
    assert isinstance(guard.body, Provide)
    (guard,) = found(stages["simplify"], If)
    assert isinstance(guard.body, For)
    assert guard.body.var.name == "blur_y.s0.x"


def test_simplify_removes_loops_of_one_iteration() -> None:
    directives = schedule(BLUR).split("x", "x", "xi", 1).vectorize("xi")
    names = [f.var.name for f in found(programs(BLUR, directives)["simplify"], For)]
    assert names == ["blur_y.s0.y", "blur_y.s0.x"]


EDGES: dict[str, Callable[[ImageParam], Func]] = {
    "repeat_edge": boundary.repeat_edge,
    "repeat_image": boundary.repeat_image,
    "mirror_image": boundary.mirror_image,
    "mirror_interior": boundary.mirror_interior,
    "constant_exterior": lambda image: boundary.constant_exterior(image, 7),
}


@pytest.mark.parametrize("edge", EDGES)
def test_partition_loads_whole_vectors_away_from_the_edges(edge: str) -> None:
    image, out = ImageParam(UInt16, 2, "input"), Func("out")
    source = EDGES[edge](image)
    out[X, Y] = source[X - 1, Y] + source[X + 2, Y]
    algorithm = pipeline(out)
    stages = programs(algorithm, schedule(algorithm).vectorize("x", 8))
    before, steady, after = found(stages["vectorize"], For)[1:]
    lanes = [
        [n.index for n in walk(loop.body.value) if isinstance(n, Load)]
        for loop in (before, steady, after)
    ]
    assert all(isinstance(index, Ramp) for index in lanes[1])
    assert not any(isinstance(index, Ramp) for index in lanes[0])
    sizes = {f"{b}.{part}.{d}": n for b, w in (("input", 100), ("out", 90)) for d in (0, 1)
             for part, n in (("min", 0), ("extent", w))}  # fmt: skip
    counts = [evaluate(loop.extent, sizes) for loop in (before, steady, after)]
    # Twelve vectors cover 90 columns: the first reads column -1, the last is shifted inwards.
    assert counts == [1, 10, 1]


def vector_reads(statement: Statement, buffer: str) -> list[bool]:
    """For each store of values of a buffer, whether it reads them as whole vectors."""
    stores = [s for s in walk_nodes(statement) if isinstance(s, Store)]
    reads = [
        [n.index for n in walk(s.value) if isinstance(n, Load) and n.buffer == buffer]
        for s in stores
    ]
    return [all(isinstance(one, Ramp) for one in of) for of in reads if of]


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("width", [512, 4096])
def test_tiles_of_any_width_have_a_steady_state(edge: str, width: int) -> None:
    image, out = ImageParam(UInt16, 2, "input"), Func("out")
    source = EDGES[edge](image)
    out[X, Y] = source[X - 1, Y] + source[X + 2, Y]
    algorithm = pipeline(out)
    tiles = schedule(algorithm).split("x", "x", "xi", width).split("xi", "xi", "xv", 8)
    program = programs(algorithm, tiles.vectorize("xv"))["vectorize"]
    assert any(vector_reads(program.body, "input"))


@pytest.mark.parametrize("edge", EDGES)
def test_a_window_that_slides_has_a_steady_state(edge: str) -> None:
    """In its first step the window is wider than in others."""
    image, out = ImageParam(UInt16, 2, "input"), Func("out")
    source = EDGES[edge](image)
    out[X, Y] = source[X - 2, Y - 1] + source[X + 2, Y + 1]
    algorithm = pipeline(out)
    rows = schedule(algorithm).split("y", "y", "yi", 128).vectorize("x", 128).func(edge)
    slides = rows.store_at("out", "y").compute_at("out", "x").vectorize("_0", 64)
    program = programs(algorithm, slides)["vectorize"]
    assert any(set(vector_reads(steady.body, "input")) == {True} for steady in found(program, If))


@pytest.mark.parametrize("marked", [0, 40, 512])
def test_a_marked_column_leaves_the_steady_state_as_it_is(marked: int) -> None:
    """A test for one column may lie anywhere; only edges bound the steady state."""
    image, out = ImageParam(UInt16, 2, "input"), Func("out")
    source = boundary.repeat_edge(image)
    out[X, Y] = select(X == marked, 0, source[X - 1, Y] + source[X + 1, Y])
    algorithm = pipeline(out)
    program = programs(algorithm, schedule(algorithm).vectorize("x", 8))["vectorize"]
    loops = [one for one in found(program, For) if one.var.name == "out.s0.x"]
    sizes = {f"{b}.{part}.{d}": n for b in ("input", "out") for d in (0, 1)
             for part, n in (("min", 0), ("extent", 1024))}  # fmt: skip
    assert [evaluate(one.extent, sizes) for one in loops] == [1, 126, 1]


@pytest.mark.parametrize("marked", [0, 40, 512])
def test_a_marked_row_leaves_the_loop_over_rows_as_it_is(marked: int) -> None:
    image, out = ImageParam(UInt16, 2, "input"), Func("out")
    out[X, Y] = select(Y == marked, 0, image[X, Y])
    algorithm = pipeline(out)
    program = programs(algorithm, schedule(algorithm).vectorize("x", 8))["partition"]
    rows = [one for one in found(program, For) if one.var.name == "out.s0.y"]
    assert len(rows) == 1
    assert not found(program, If)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("policy", ["auto", "never", "always"])
def test_loops_are_partitioned_as_the_schedule_says(policy: str, lanes: int) -> None:
    image, out = ImageParam(UInt16, 1, "input"), Func("out")
    out[X] = boundary.repeat_edge(image)[X - 1]
    algorithm = pipeline(out)
    directives = schedule(algorithm).partition("x", policy)
    chosen = directives.vectorize("x", lanes) if lanes > 1 else directives
    program = programs(algorithm, chosen)["partition"]
    splits = {"auto": lanes > 1, "never": False, "always": True}[policy]
    assert len([f for f in found(program, For) if f.var.name == "out.s0.x"]) == 1 + 2 * splits
    clamped = [
        any(isinstance(n, Op) and n.name == "max" for n in walk(p.value))
        for p in found(program, Provide)
    ]
    assert clamped.count(False) == splits


def test_loops_made_of_a_loop_are_partitioned_like_it() -> None:
    directives = schedule(BLUR).never_partition("x").split("x", "xo", "xi", 8).always_partition("y")
    policies = {p.loop: p.policy for p in directives.schedule.of("blur_y").stages[0].partitions}
    assert policies == {"xo": "never", "xi": "never", "y": "always"}
    fused = directives.fuse("y", "xo", "t").schedule.of("blur_y").stages[0].partitions
    assert {p.loop: p.policy for p in fused} == {"xi": "never", "t": "always"}
    every = directives.never_partition_all().partition("xi", "auto")
    assert [p.loop for p in every.schedule.of("blur_y").stages[0].partitions] == ["xo", "y"]


def test_partition_asks_in_parallel_loops() -> None:
    image, out = ImageParam(UInt16, 1, "input"), Func("out")
    out[X] = boundary.repeat_edge(image)[X - 1]
    algorithm = pipeline(out)
    split = schedule(algorithm).split("x", "x", "xi", 8).vectorize("xi").parallel("x")
    (question,) = found(programs(algorithm, split)["partition"], If)
    assert not [n for n in walk(question.body.body.value) if isinstance(n, Op) and n.name == "max"]
    assert question.otherwise is not None


def test_unroll_writes_iterations_out() -> None:
    stages = programs(BLUR, schedule(BLUR).unroll("x", 3).unroll("y", 2))
    assert len(found(stages["partition"], Provide)) == 1
    assert len(found(stages["unroll"], Provide)) == 6
    assert not [f for f in found(stages["unroll"], For) if f.kind is LoopKind.UNROLLED]


def test_flatten_folds_by_euclidean_modulo() -> None:
    sliding = schedule(BLUR).func("blur_x").store_root().compute_at("blur_y", "y")
    program = programs(BLUR, sliding.fold_storage("y", 4))["flatten"]
    assert not found(program, Provide)
    assert not nodes(program, Call)
    (allocation,) = found(program, Allocate)
    assert elements(allocation.sizes, lambda e: evaluate(e, {"blur_y.extent.0": 10})) == 40
    store = next(s for s in found(program, Store) if s.buffer == "blur_x")
    row = [n for n in walk(store.index) if isinstance(n, Op) and n.name == "mod"]
    assert [evaluate(n, dict.fromkeys(variables(n), -1)) for n in row] == [3]


def test_vectorize_keeps_scalars_scalar_and_ramps_dense() -> None:
    program = programs(BLUR, schedule(BLUR).vectorize("x", 8))["vectorize"]
    for store in found(program, Store):
        assert isinstance(store.index, Ramp)
        assert store.index.type.lanes == store.value.type.lanes == 8
    assert not [n for n in nodes(program, Broadcast) if isinstance(n.children[0], Op)]


@pytest.mark.parametrize(
    ("given", "wide", "limit", "type_"),
    [
        (UInt8, Int32, 17, "uint8x8"),
        (Int16, Int32, -3, "int16x8"),
        (UInt8, UInt16, 255, "uint8x8"),
        (UInt8, Int32, 256, "int32x8"),  # uint8 has no 256
        (UInt8, Int32, -1, "int32x8"),
        (Int16, UInt32, 3, "uint32x8"),  # negative numbers wrap
        (Float32, Float64, 3, "float64x8"),
    ],
)
def test_vectorize_limits_values_before_they_are_wider(
    given: Type, wide: Type, limit: int, type_: str
) -> None:
    """A register holds more of the narrow values; each limit gives the same bits as before."""
    image, f = ImageParam(given, 1, "input"), Func("f")
    f[X] = fn.max(constant(limit, wide), fn.min(cast(wide, image[X]), limit))
    algorithm = pipeline(f)
    program = programs(algorithm, schedule(algorithm).vectorize("x", 8))["vectorize"]
    limits = [n for n in nodes(program, Op) if n.name in ("min", "max") and n.type.lanes == 8]
    assert limits
    assert {str(one.type) for one in limits} == {type_}


@pytest.mark.parametrize("tail", ["guard_with_if", "predicate"])
def test_vectorize_masks_only_where_a_guard_cuts_a_vector(tail: str) -> None:
    program = programs(BLUR, schedule(BLUR).vectorize("x", 8, tail))["vectorize"]
    steady, cut = found(program, For)[1:3]
    assert isinstance(steady.body, Store)
    assert isinstance(cut.body, If)
    whole, masked = cut.body.body, cut.body.otherwise
    assert isinstance(whole, Store)
    assert isinstance(masked, Store)
    assert whole.value.type.lanes == masked.value.type.lanes == 8
    assert whole.mask is None
    assert not [n for n in walk(whole.value) if isinstance(n, MaskedLoad)]
    loads = [n for n in walk(masked.value) if isinstance(n, Load | MaskedLoad)]
    assert {n.mask for n in loads if isinstance(n, MaskedLoad)} == {masked.mask}
    assert all(isinstance(n, MaskedLoad) for n in loads)


def test_storage_inside_lanes_has_a_place_for_each() -> None:
    directives = schedule(BLUR).vectorize("x", 4).func("blur_x").compute_at("blur_y", "x_v")
    (allocation, *_) = found(programs(BLUR, directives)["vectorize"], Allocate)
    assert elements(allocation.sizes, lambda e: evaluate(e, {})) == 4 * 3


def test_tasks_name_what_they_use() -> None:
    directives = schedule(BLUR).parallel("y").func("blur_x").compute_at("blur_y", "y")
    (task,) = found(programs(BLUR, directives)["parallel"], ParallelFor)
    assert task.buffers == ("input", "blur_y")
    assert {v.name for v in task.variables} == {
        *("blur_y.min.0", "blur_y.extent.0", "blur_y.min.1", "blur_y.stride.1"),
        *("input.min.0", "input.min.1", "input.stride.1"),
    }


def test_unrolled_copies_know_which_they_are() -> None:
    image, out, c = ImageParam(UInt16, 2, "input"), Func("out"), Var("c")
    out[X, Y, c] = select(c == 0, image[X, Y], select(c == 1, image[X, Y] * 3, image[X, Y] * 5))
    algorithm = pipeline(out)
    directives = schedule(algorithm).bound("c", 0, 3).reorder("c", "x", "y").unroll("c")
    stores = found(programs(algorithm, directives)["unroll"], Provide)
    assert len(stores) == 3
    assert not any(isinstance(n, Op) and n.name == "select" for s in stores for n in walk(s.value))


@pytest.mark.parametrize(("tile", "fold"), [(16, 16), (14, 16), (18, 32)])
def test_a_window_along_a_row_is_folded_by_a_power_of_two(tile: int, fold: int) -> None:
    directives = schedule(BLUR).tile("x", "y", "xo", "yo", "xi", "yi", tile, 4)
    sliding = directives.func("blur_x").store_at("blur_y", "yo").compute_at("blur_y", "xo")
    stages = programs(BLUR, sliding)
    (before,), (after,) = (found(stages[name], Allocate) for name in ("unroll", "round_folds"))
    assert before.buffer == after.buffer == "blur_x"
    kept = evaluate(before.extents[0], {})
    assert (before.folds[0], after.folds[0]) == (constant(kept, Int32), constant(fold, Int32))
    assert after.extents == after.sizes == (constant(fold, Int32), *before.extents[1:])
