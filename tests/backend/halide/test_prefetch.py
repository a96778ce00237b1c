"""Prefetches: their coordinates in each iteration. No result depends on them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.halide.source import halide_source
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import Allocate, Block, For, If, Prefetch, Statement
from spaces.backend.lowering.cpu.passes import lower
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import UInt8
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.nest.loopnest import loop_nest
from spaces.model.writing.text import parse_schedule
from tests.backend.cpu_runs import check_values
from tests.backend.halide.peer import assert_agrees, legal

X, Y = Var("x"), Var("y")


def blurred() -> Pipeline:
    image, rows, out = ImageParam(UInt8, 2, "image"), Func("rows"), Func("out")
    rows[X, Y] = image[X, Y] + image[X + 1, Y]
    out[X, Y] = rows[X, Y] + rows[X, Y + 1]
    return pipeline(out)


BLUR = blurred()
SIZES = {"out.min.0": 0, "out.min.1": 0, "out.extent.0": 100, "out.extent.1": 6}


def touched(statement: Statement, values: dict[str, int]) -> list[tuple[str, tuple[int, ...]]]:
    """The coordinates that a program prefetches."""
    found: list[tuple[str, tuple[int, ...]]] = []
    match statement:
        case Prefetch(buffer=buffer, at=at):
            return [(buffer, tuple(number(e, values) for e in at))]
        case If(condition=condition, body=body):
            return touched(body, values) if number(condition, values) else []
        case For():
            low = number(statement.min, values)
            for i in range(low, low + number(statement.extent, values)):
                found += touched(statement.body, {**values, statement.var.name: i})
            return found
        case Block(body=parts):
            for part in parts:
                found += touched(part, values)
        case Allocate(body=inside):
            return touched(inside, values)
    return found


def of_row(text: str, row: int, width: int = 100) -> set[tuple[str, tuple[int, ...]]]:
    """The coordinates that one iteration of the loop over rows of the output prefetches, each
    once.
    """
    program = lower(loop_nest(BLUR, parse_schedule(text, BLUR)))["start"]
    loop = next(s for s in walk_nodes(program.body) if isinstance(s, For))
    assert loop.var.name == "out.s0.y"
    found = touched(loop.body, {**SIZES, "out.extent.0": width, loop.var.name: row})
    assert len(set(found)) == len(found)
    return set(found)


def test_the_rows_that_a_later_iteration_reads_are_prefetched() -> None:
    # Rows y + 2 and y + 3 of 101 bytes: on the lines of bytes 0, 64 and 100.
    lines = {("image", (x, y)) for x in (0, 64, 100) for y in (3, 4)}
    assert of_row("out.prefetch(image, y, y, 2)", 1) == lines


@pytest.mark.parametrize("width", [1, 63, 64, 65, 127, 128, 129])
def test_every_line_of_a_row_is_prefetched_wherever_it_begins(width: int) -> None:
    """A row of ``width + 1`` bytes may begin at any byte of a line of 64."""
    places = {x for _, (x, _) in of_row("out.prefetch(image, y, y, 2)", 1, width)}
    for begin in range(64):
        lines = {(begin + x) // 64 for x in range(width + 1)}
        assert {(begin + x) // 64 for x in places} == lines


@pytest.mark.parametrize(
    ("strategy", "rows"), [("GuardWithIf", ()), ("Clamp", (5, 6)), ("NonFaulting", (7, 8))]
)
def test_beyond_the_last_iteration(strategy: str, rows: tuple[int, ...]) -> None:
    text = f"out.prefetch(image, y, y, 2, PrefetchBoundStrategy::{strategy})"
    assert {at[1] for _, at in of_row(text, 5)} == set(rows)


def test_reads_of_funcs_inside_the_loop_are_prefetched() -> None:
    text = "out.prefetch(image, y, y, 1)\nrows.compute_at(out, y)"
    assert {at for _, at in of_row(text, 0)} == {(x, y) for x in (0, 64, 100) for y in (1, 2)}


TEXTS = (
    "out.prefetch(image, y, y, 2)",
    "out.tile(x, y, xi, yi, 16, 2).vectorize(xi, 8).prefetch(rows, x, y, 1, "
    "PrefetchBoundStrategy::Clamp).parallel(y)\nrows.compute_root().vectorize(x, 16)",
    "out.split(y, y, yi, 2).prefetch(rows, yi, y, 1, PrefetchBoundStrategy::NonFaulting)\n"
    "rows.store_root().compute_at(out, y).fold_storage(y, 8).prefetch(image, x, y, 3)",
)


@pytest.mark.parametrize("text", TEXTS)
def test_results_are_the_same(text: str) -> None:
    chosen = legal(BLUR, text).schedule
    compiled = compile_cpu_unchecked(BLUR, chosen, threads=2)
    for width, height in ((100, 6), (33, 9)):
        check_values(compiled, {"out": [(0, width), (0, height)]})
    data = np.random.default_rng(0).integers(0, 256, (7, 101), np.uint8)
    assert_agrees(BLUR, chosen, {"image": data}, {"out": (100, 6)})


def test_it_is_an_instruction_of_the_host() -> None:
    compiled = compile_cpu_unchecked(BLUR, parse_schedule(TEXTS[0], BLUR))
    assert re.search(r"call void @llvm\.prefetch", compiled.llvm_ir())
    source = halide_source(BLUR, parse_schedule(TEXTS[0], BLUR))
    assert ".prefetch(image, y, y, 2);" in source
