"""Code that tests its accesses: it computes the same values, and reports an access outside of its
memory.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from attrs import evolve

from spaces import (
    Func,
    ImageParam,
    Int32,
    Pipeline,
    RDom,
    UInt8,
    Var,
    parse_schedule,
    pipeline,
)
from spaces.backend import compile as compiling
from spaces.backend.access import POISON, AccessError, AccessKind, AccessMode, Outside, Side
from spaces.backend.compile import CompiledPipeline, compile_cpu_unchecked
from spaces.backend.ir.node import map_children
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import EMPTY, Allocate, Statement, Store
from spaces.backend.llvm.accesses import OUTSIDE
from spaces.backend.llvm.c_header import RUNTIME_HEADER
from spaces.backend.llvm.runtime.helpers import release_scratch, runtime_object, scratch_bytes
from spaces.backend.lowering.cpu import passes
from spaces.backend.reference import evaluate
from spaces.model.expressions.expr import constant
from spaces.model.nest.loopnest import LoopNest

X, Y = Var("x"), Var("y")
PIXELS = np.random.default_rng(3).integers(0, 255, (40, 80), np.uint8)
SIZES = {"out": (65, 33)}


def stencil() -> Pipeline:
    """``out`` reads ``g`` at four neighbors."""
    image = ImageParam(UInt8, 2, "image")
    g, out = Func("g"), Func("out")
    g[X, Y] = image[X, Y] + image[X + 1, Y]
    out[X, Y] = g[X, Y] + g[2 * X / 2 + 1, Y + 1]
    return pipeline(out)


def histogram() -> Pipeline:
    """``g`` is written and read at coordinates from data."""
    image = ImageParam(UInt8, 2, "image")
    g, out = Func("g"), Func("out")
    r = RDom([(0, 65), (0, 33)])
    g[X] = 0
    g[image[r.x, r.y] % 16] += 1
    out[X, Y] = g[image[X, Y] % 16]
    return pipeline(out)


SCHEDULES = {
    "scalar": "g.compute_root().store_in(MemoryType::Heap);",
    "dense": "g.compute_root().store_in(MemoryType::Heap).vectorize(x, 8); out.vectorize(x, 8);",
    "masked": """
        g.compute_root().store_in(MemoryType::Heap).vectorize(x, 24, TailStrategy::Predicate);
        out.vectorize(x, 24, TailStrategy::Predicate);""",
    "short lanes": """
        g.compute_root().store_in(MemoryType::Heap).vectorize(x, 3, TailStrategy::GuardWithIf);
        out.vectorize(x, 3, TailStrategy::GuardWithIf);""",
    "masked lanes": """
        g.compute_root().store_in(MemoryType::Heap).reorder_storage(y, x);
        g.vectorize(x, 12, TailStrategy::Predicate);
        out.vectorize(x, 12, TailStrategy::Predicate);""",
    "strided": """
        g.compute_root().store_in(MemoryType::Heap).reorder_storage(y, x).vectorize(x, 8);
        out.vectorize(x, 8);""",
    "parallel": """
        g.compute_root().store_in(MemoryType::Heap).parallel(y).vectorize(x, 8);
        out.parallel(y).vectorize(x, 8);""",
    "inside a parallel loop": """
        out.split(y, yo, yi, 8).parallel(yo);
        g.compute_at(out, yo).store_in(MemoryType::Heap);""",
    "stack": """
        out.split(y, yo, yi, 8).parallel(yo);
        g.compute_at(out, yi).store_in(MemoryType::Stack).bound_storage(x, 66).bound_storage(y, 2);
    """,
    "folded": "g.store_root().compute_at(out, y).store_in(MemoryType::Heap);",
    "hoisted": """
        out.split(y, yo, yi, 8);
        g.compute_at(out, yo).hoist_storage_root().store_in(MemoryType::Heap);""",
}


def changed(
    program: LoopProgram, change: Callable[[Allocate], Statement], buffer: str
) -> LoopProgram:
    """The program with the allocations of a buffer changed."""

    def walk(statement: Statement) -> Statement:
        inner = map_children(statement, walk)
        return change(inner) if isinstance(inner, Allocate) and inner.buffer == buffer else inner

    return evolve(program, body=walk(program.body))


def compile_wrong(
    built: Pipeline,
    text: str,
    wrong: Callable[[LoopProgram], LoopProgram],
    access_mode: AccessMode = AccessMode.HARDENED,
) -> CompiledPipeline:
    """Compiles a program after ``wrong`` has changed it to a wrong one."""

    def lower(nest: LoopNest, mode: AccessMode) -> dict[str, LoopProgram]:
        stages = passes.lower(nest, mode)
        return {**stages, "wrong": wrong(list(stages.values())[-1])}

    with mock.patch.object(compiling, "lower", lower):
        return compile_cpu_unchecked(built, parse_schedule(text, built), access_mode=access_mode)


def one_element_short(program: LoopProgram, buffer: str = "g") -> LoopProgram:
    """The program, with the allocation of a buffer one element shorter."""

    def shorter(node: Allocate) -> Allocate:
        first, *others = node.sizes
        if not others:
            return evolve(node, sizes=(first - constant(1, Int32),))
        product = first
        for other in others:
            product = product * other
        return evolve(node, sizes=(product - constant(1, Int32),))

    return changed(program, shorter, buffer)


@pytest.mark.optimised
@pytest.mark.parametrize("name", SCHEDULES)
def test_results_are_the_same(name: str) -> None:
    built = stencil()
    chosen = parse_schedule(SCHEDULES[name], built)
    compiled = compile_cpu_unchecked(built, chosen, access_mode=AccessMode.HARDENED)
    for extents in ((64, 32), (65, 33), (24, 9)):
        sizes = {"out": extents}
        expected = evaluate(built, {"image": PIXELS}, sizes=sizes)
        found = compiled.run({"image": PIXELS}, sizes=sizes)
        np.testing.assert_array_equal(found["out"], expected["out"])


def test_extents_that_are_products_of_negative_numbers_are_extents() -> None:
    image = ImageParam(UInt8, 2, "image")
    g, out = Func("g"), Func("out")
    g[X, Y] = image[X, Y] * 2
    out[X, Y] = g[-X, Y]
    built = pipeline(out)
    chosen = parse_schedule("g.compute_root().vectorize(x, 16);", built)
    compiled = compile_cpu_unchecked(built, chosen, access_mode=AccessMode.HARDENED)
    found = compiled.run({"image": PIXELS}, sizes={"out": (64, 32), "image": [(-70, 80), (0, 40)]})
    np.testing.assert_array_equal(found["out"], PIXELS[:32, 70:6:-1] * 2)


@pytest.mark.parametrize("name", SCHEDULES)
def test_memory_that_lacks_one_element_is_noticed(name: str) -> None:
    buffer = "g.hoisted" if name == "hoisted" else "g"
    compiled = compile_wrong(stencil(), SCHEDULES[name], lambda p: one_element_short(p, buffer))
    with pytest.raises(AccessError, match=r"writes g\(") as raised:
        compiled.run({"image": PIXELS}, sizes=SIZES)
    outside = raised.value.outside
    assert raised.value.func == outside.buffer == "g"
    assert outside.offset + outside.nbytes > outside.last
    held = [range(side.min, side.min + side.extent) for side in outside.sides]
    assert all(x in r for x, r in zip(raised.value.coordinate, held, strict=True))


UPDATES = {
    "one by one": "g.compute_root().store_in(MemoryType::Heap);",
    "in one step": """
        g.compute_root().store_in(MemoryType::Heap);
        g.update(0).atomic().parallel(r.y);""",
    "gathered": "g.compute_root().store_in(MemoryType::Heap); out.vectorize(x, 8);",
}


@pytest.mark.parametrize("name", UPDATES)
def test_places_that_values_name_are_tested(name: str) -> None:
    built, text = histogram(), UPDATES[name]
    chosen = parse_schedule(text, built)
    compiled = compile_cpu_unchecked(built, chosen, access_mode=AccessMode.HARDENED)
    expected = evaluate(built, {"image": PIXELS}, sizes=SIZES)["out"]
    np.testing.assert_array_equal(compiled.run({"image": PIXELS}, sizes=SIZES)["out"], expected)
    wrong = compile_wrong(built, text, one_element_short)
    with pytest.raises(AccessError) as raised:
        wrong.run({"image": PIXELS}, sizes=SIZES)
    assert (raised.value.func, raised.value.coordinate) == ("g", (15,))
    assert str(raised.value).startswith(
        "The compiled program writes g(15), outside of its memory (dimension 0 holds 0 .. 15): "
        "bytes 60 .. 63, where there are bytes 0 .. 59."
    )


def test_updates_in_one_step_are_tested() -> None:
    def one_further(program: LoopProgram) -> LoopProgram:
        def move(statement: Statement) -> Statement:
            if isinstance(statement, Store) and statement.update is not None:
                return evolve(statement, index=statement.index + constant(1, Int32))
            return map_children(statement, move)

        return evolve(program, body=move(program.body))

    wrong = compile_wrong(histogram(), UPDATES["in one step"], one_further)
    with pytest.raises(AccessError, match=r"writes g\(16\)"):
        wrong.run({"image": PIXELS}, sizes=SIZES)


@pytest.mark.parametrize("name", ["masked", "masked lanes"])
def test_lanes_that_are_not_kept_are_not_tested(name: str) -> None:
    """Only 2 of 24 lanes are active."""
    built = stencil()
    chosen = parse_schedule(SCHEDULES[name], built)
    compiled = compile_cpu_unchecked(built, chosen, access_mode=AccessMode.HARDENED)
    exact = np.ascontiguousarray(PIXELS[:3, :4])
    found = compiled.run({"image": exact}, sizes={"out": (2, 2)})["out"]
    np.testing.assert_array_equal(
        found, evaluate(built, {"image": exact}, sizes={"out": (2, 2)})["out"]
    )


def unasked(program: LoopProgram) -> LoopProgram:
    """The program without size checks."""
    return evolve(program, size_checks=())


@pytest.mark.parametrize("name", SCHEDULES)
def test_an_image_that_is_too_small_is_not_read_beyond(name: str) -> None:
    compiled = compile_wrong(stencil(), SCHEDULES[name], unasked)
    rows = np.ascontiguousarray(PIXELS[:10])
    with pytest.raises(AccessError, match=r"reads image\(") as raised:
        compiled.run({"image": rows}, sizes=SIZES)
    assert raised.value.coordinate[1] >= 10
    assert raised.value.outside.sides == (Side(0, 80, 1), Side(0, 10, 80))


def test_an_image_is_not_read_before_its_first_element() -> None:
    compiled = compile_wrong(stencil(), SCHEDULES["scalar"], unasked)
    with pytest.raises(AccessError, match=r"reads image\(") as raised:
        compiled.run({"image": PIXELS}, sizes={**SIZES, "image": [(0, 80), (9, 40)]})
    assert raised.value.coordinate[1] < 9


def test_an_output_is_not_written_beyond() -> None:
    text = "out.split(y, yo, yi, 8, TailStrategy::RoundUp);"
    compiled = compile_wrong(stencil(), text, unasked)
    taller = np.zeros((60, 80), np.uint8)
    with pytest.raises(AccessError, match=r"writes out\(5, 46\)") as raised:
        compiled.run({"image": taller}, sizes={"out": [(5, 64), (7, 40 - 1)], "image": (80, 60)})
    assert raised.value.outside.access is AccessKind.WRITE


def test_unwritten_memory_is_poison() -> None:
    """A program that does not compute values that it reads."""
    built = stencil()

    def forgetful(program: LoopProgram) -> LoopProgram:
        def forget(statement: Statement) -> Statement:
            if isinstance(statement, Store) and statement.buffer == "g":
                return EMPTY
            return map_children(statement, forget)

        return evolve(program, body=forget(program.body))

    for text in (SCHEDULES["scalar"], SCHEDULES["hoisted"], "g.compute_at(out, x);"):
        compiled = compile_wrong(built, text, forgetful)
        found = compiled.run({"image": PIXELS}, sizes=SIZES)["out"]
        assert (found == (2 * POISON) % 256).all()


def test_outputs_that_are_not_written_are_poison_unless_they_are_kept() -> None:
    built = stencil()

    def idle(program: LoopProgram) -> LoopProgram:
        return evolve(program, body=EMPTY)

    compiled = compile_wrong(built, "g.compute_root();", idle)
    assert (compiled.run({"image": PIXELS}, sizes=SIZES)["out"] == POISON).all()
    given = np.full((33, 65), 7, np.uint8)
    assert (compiled.run({"image": PIXELS}, out={"out": given})["out"] == 7).all()


def test_memory_is_given_back_where_an_access_stops_the_run() -> None:
    compiled = compile_wrong(stencil(), SCHEDULES["inside a parallel loop"], one_element_short)
    release_scratch()
    kept = []
    for _ in range(4):
        with pytest.raises(AccessError):
            compiled.run({"image": PIXELS}, sizes=SIZES)
        kept.append(scratch_bytes())
    assert kept[-1] <= kept[1]
    assert scratch_bytes() > 0


def test_plain_code_tests_nothing() -> None:
    built = stencil()
    chosen = parse_schedule(SCHEDULES["dense"], built)
    plain, hardened = (
        compile_cpu_unchecked(built, chosen, access_mode=mode) for mode in AccessMode
    )
    assert "@outside" not in plain.llvm_ir()
    assert "@outside" in hardened.llvm_ir()
    assert str(OUTSIDE) not in plain.c_header().split("struct")[0]


def test_c_programs_learn_of_it(tmp_path: Path) -> None:
    """A C program that passes fewer rows than it declares gets the status and a report of the
    access.
    """
    built = stencil()
    compiled = compile_wrong(built, SCHEDULES["dense"], unasked)
    header = compiled.c_header()
    assert f"Or {OUTSIDE} before it touches memory" in header
    (tmp_path / "out.h").write_text(header)
    (tmp_path / "spaces_runtime.h").write_text(RUNTIME_HEADER)
    (tmp_path / "out.o").write_bytes(compiled.object_bytes())
    (tmp_path / "spaces_runtime.o").write_bytes(runtime_object())
    (tmp_path / "main.c").write_text(
        """
#include <stdio.h>
#include "out.h"
int main(void) {
    static uint8_t image[80 * 10], out[65 * 33];
    int64_t report[15] = {0};
    struct run_out_arguments arguments = {
        .image = image, .image_dimensions = {{0, 80, 1}, {0, 10, 80}},
        .out = out, .out_dimensions = {{0, 65, 1}, {0, 33, 65}}, .report = report,
    };
    int status = run_out(NULL, &arguments);
    int64_t beyond = report[1] + report[2] - (int64_t)(image + sizeof image);
    printf("%d %d %d %d\\n", status, (int)report[0], (int)report[4], beyond > 0);
    arguments.report = NULL;
    return run_out(NULL, &arguments) != status;
}
""".replace("\\\\n", "\\n")
    )
    command = ["cc", "main.c", "out.o", "spaces_runtime.o", "-lpthread", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    ran = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert ran.stdout.split() == [str(OUTSIDE), str(OUTSIDE), "0", "1"]


def outside(offset: int, nbytes: int, sides: tuple[Side, ...], first: int = 0) -> Outside:
    last = first + 4 * math.prod(side.extent for side in sides)
    return Outside("g", AccessKind.READ, offset, nbytes, first, last, 4, sides)


ROWS = (Side(-3, 10, 1), Side(5, 4, 10))


@pytest.mark.parametrize(
    ("offset", "nbytes", "sides", "first", "expected"),
    [
        (160, 4, ROWS, 0, (-3, 9)),
        (-4, 4, ROWS, 0, (6, 4)),
        (152, 16, ROWS, 0, (-3, 9)),
        (4 * (47 + 3 * 10), 4, ROWS, 0, (4, 12)),
        (-124, 4, (Side(0, 10, 1), Side(0, 4, -10)), -120, (9, 4)),
        (4, 4, (), 0, (1,)),
        (16, 4, (Side(2, 1, 0), Side(1, 4, 1)), 0, (2, 5)),
    ],
)
def test_coordinates_are_those_of_the_place(
    offset: int, nbytes: int, sides: tuple[Side, ...], first: int, expected: tuple[int, ...]
) -> None:
    assert outside(offset, nbytes, sides, first).coordinate == expected
