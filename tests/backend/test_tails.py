"""Vectors cut by a guard: their lanes are masked, and inactive lanes touch no memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.compile import CompiledPipeline, compile_cpu_unchecked
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import For, If, Statement, Store
from spaces.backend.lowering.cpu.passes import lower
from spaces.backend.lowering.cpu.vectorize import vectorize
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Variable, cast, constant
from spaces.model.expressions.types import SCALAR_TYPES, Float32, Int32, Type, UInt8
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.domain_order import LoopKind
from tests.backend.cpu_runs import check, check_values
from tests.backend.lowering.program_interpreter import run_program

X, Y = Var("x"), Var("y")
TAILS = ("guard_with_if", "predicate", "predicate_stores")
TYPES = [t for t in SCALAR_TYPES.values() if str(t) in ("bool", "uint8", "int32", "float64")]

READS: dict[str, Callable[[ImageParam], Expr]] = {
    "dense": lambda a: a[X],
    "backwards": lambda a: a[63 - X],
    "every third": lambda a: a[3 * X],
    "twice": lambda a: a[X / 2],
    "the same": lambda a: a[5],
    "far apart": lambda a: a[7 * X],
    "gathered": lambda a: a[fn.clamp(cast(Int32, ImageParam(UInt8, 1, "at")[X]), 0, 63)],
}


def reading(type: Type, read: str) -> Pipeline:
    out = Func("out")
    out[X] = READS[read](ImageParam(type, 1, "a"))
    return pipeline(out)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("type", TYPES, ids=str)
def test_cut_vectors_touch_nothing_beyond_the_end(type: Type, read: str) -> None:
    algorithm = reading(type, read)
    for width, lanes in ((13, 8), (3, 16), (16, 4)):
        directives = schedule(algorithm).vectorize("x", lanes, "predicate")
        compiled = check(algorithm, directives.schedule, {"out": [(0, width)]}, width)
        check_values(compiled, {"out": [(0, width)]}, width, at_end=False)


@cache
def cut_updates(tail: str, lanes: int) -> CompiledPipeline:
    """Code with a tail in an update of all values, and in one that scatters."""
    image, hist, out = ImageParam(UInt8, 1, "image"), Func("hist"), Func("out")
    r = RDom([(0, 19)], "r")
    hist[X] = 0
    hist[X] += cast(Int32, image[X]) * (X + 1)
    hist[fn.clamp(cast(Int32, image[r.x]), 0, 7)] += 1
    out[X] = hist[X] + hist[fn.min(X, 7)]
    algorithm = pipeline(out)
    inner = "predicate" if tail == "predicate_stores" else tail
    d = schedule(algorithm).vectorize("x", lanes, tail)
    d = d.func("hist").vectorize("x", lanes, tail)
    d = d.update(0).vectorize("x", lanes, tail)
    d = d.update(1).unroll("r.x", 2, inner)
    return compile_cpu_unchecked(algorithm, d.schedule, threads=2)


@given(st.integers(1, 40), st.sampled_from(TAILS), st.sampled_from((2, 4, 8)))
def test_updates_and_scatters_are_cut(width: int, tail: str, lanes: int) -> None:
    check_values(cut_updates(tail, lanes), {"out": [(0, width)]}, width)


def test_sums_into_one_place_stay_lane_by_lane() -> None:
    image, total, r = ImageParam(Float32, 1, "image"), Func("total"), RDom([(0, 19)], "r")
    total[X] = 0.0
    total[X] += image[r.x] * X
    algorithm = pipeline(total)
    d = schedule(algorithm).update(0).split("r.x", "ro", "ri", 8, "predicate").vectorize("ri")
    check(algorithm, d.schedule, {"total": [(0, 3)]})


def test_masks_are_lanes_of_llvm() -> None:
    algorithm = reading(Float32, "dense")
    text = compile_cpu_unchecked(
        algorithm, schedule(algorithm).vectorize("x", 8, "predicate").schedule
    )
    calls = re.findall(r"llvm\.masked\.\w+", text.llvm_ir())
    assert {"llvm.masked.load", "llvm.masked.store"} <= set(calls)


def test_guards_inside_guards_mask_both() -> None:
    a, out = ImageParam(Int32, 2, "a"), Func("out")
    out[X, Y] = a[X, Y] + a[Y, X]
    algorithm = pipeline(out)
    d = schedule(algorithm).fuse("x", "y", "t").split("t", "t", "u", 12, "predicate")
    d = d.split("u", "u", "v", 8, "predicate").vectorize("v")
    program = list(lower(loop_nest(algorithm, d.schedule)).values())[-1]
    stores = [s for s in walk_nodes(program.body) if isinstance(s, Store)]
    assert any(s.mask is not None for s in stores)
    kinds = [s.kind for s in walk_nodes(program.body) if isinstance(s, For)]
    assert LoopKind.VECTORIZED not in kinds
    check(algorithm, d.schedule, {"out": [(0, 7), (0, 9)]})


@pytest.mark.parametrize(("tail", "reach"), [("predicate", 13), ("predicate_loads", 13),
                                         ("predicate_stores", 16)])  # fmt: skip
def test_predicated_stores_alone_let_reads_round_up(tail: str, reach: int) -> None:
    algorithm = reading(Int32, "dense")
    nest = loop_nest(algorithm, schedule(algorithm).vectorize("x", 8, tail).schedule)
    (box,) = nest.inputs["a"]
    (computed,) = nest.outputs["out"]
    sizes = {"out.min.0": 0, "out.extent.0": 13}
    assert evaluate(box.max, sizes) == reach - 1
    written = 16 if tail == "predicate_loads" else 13
    assert evaluate(computed.max, sizes) == written - 1


def test_lanes_pass_every_guard_around_them() -> None:
    lane = Variable(Int32, "lane")
    store: Statement = Store("out", lane, lane + 1)
    for step in (2, 3):
        store = If(lane % step == 0, store)
    loop = For(lane, constant(0, Int32), constant(8, Int32), LoopKind.VECTORIZED, store)
    program = vectorize(LoopProgram("lanes", (), (), (), loop))
    assert run_program(program, {}, {"out": {}})["out"] == {0: 1, 6: 7}


def test_shared_memory_of_lanes_is_not_read_without_a_lane() -> None:
    """Whole vectors beyond the end of a reduction: the run reads only one value of the image."""
    image, out = ImageParam(Int32, 1, "image"), Func("out")
    r = RDom([(0, 3)], "r")
    out[X] = 0
    out[r.x] = out[r.x] + image[r.x / 4]
    algorithm = pipeline(out)
    d = schedule(algorithm).update(0).split("r.x", "ro", "ri", 64, "guard_with_if")
    d = d.split("ri", "ri", "rj", 4, "guard_with_if").vectorize("rj").never_partition("ri", "ro")
    program = lower(loop_nest(algorithm, d.schedule))["vectorize"]
    sizes = {"out.min.0": 0, "out.extent.0": 4, "image.min.0": 0, "image.extent.0": 1}
    found = run_program(program, sizes, {"image": {0: 7}, "out": {}})["out"]
    assert found == {0: 7, 1: 7, 2: 7, 3: 0}
