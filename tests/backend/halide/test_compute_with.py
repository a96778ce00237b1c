"""Fused Funcs: the remaining loops, and the same bits as Halide."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.halide.source import halide_source
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import For, Provide, Store
from spaces.backend.lowering.cpu.passes import lower
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Proven
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.nest.loopnest import loop_nest
from spaces.model.writing.text import parse_schedule
from tests.backend.cpu_runs import check_values
from tests.backend.halide.peer import assert_agrees, legal

X, Y = Var("x"), Var("y")


def slopes() -> Pipeline:
    """Derivatives in both directions with unequal required regions, and a third Func."""
    image = ImageParam(UInt8, 2, "image")
    dx, other, dy, out = Func("dx"), Func("other"), Func("dy"), Func("out")
    dx[X, Y] = cast(Int32, image[X + 1, Y]) - image[X, Y]
    other[X, Y] = dx[X, Y] * 3
    dy[X, Y] = cast(Int32, image[X, Y + 1]) - image[X, Y]
    out[X, Y] = dx[X, Y] + dx[X + 2, Y + 1] + dy[X, Y] * dy[X - 1, Y + 2] + other[X, Y]
    return pipeline(out)


SLOPES = slopes()
ROOT = "dx.compute_root()\ndy.compute_root()\nother.compute_root()\n"
TEXTS = (
    ROOT + "dx.compute_with(dy, x)",
    ROOT + "dy.compute_with(dx, y)",
    ROOT + "dx.compute_with(dy, x, LoopAlignStrategy::AlignStart)",
    ROOT + "dx.compute_with(dy, x, LoopAlignStrategy::AlignEnd)",
    ROOT + "dx.vectorize(x, 8).parallel(y)\ndy.vectorize(x, 8).parallel(y).compute_with(dx, x)",
    "out.split(y, y, yi, 4)\ndx.compute_at(out, y)\nother.compute_at(out, yi)\n"
    "dy.compute_at(out, y).compute_with(dx, x, LoopAlignStrategy::AlignStart)",
    ROOT + "dx.tile(x, y, xi, yi, 4, 2)\ndy.tile(x, y, xi, yi, 4, 2).compute_with(dx, yi)",
)


@pytest.mark.parametrize("text", TEXTS)
def test_results_are_the_references_and_halides(text: str) -> None:
    chosen = legal(SLOPES, text).schedule
    compiled = compile_cpu_unchecked(SLOPES, chosen, threads=2)
    for width, height in ((19, 12), (33, 4)):
        check_values(compiled, {"out": [(1, width), (0, height)]})
    data = np.random.default_rng(0).integers(0, 256, (20, 30), np.uint8)
    assert_agrees(SLOPES, chosen, {"image": data}, {"out": ((1, 19), (0, 12))})


def sums() -> Pipeline:
    """Three Funcs with unequal required regions; two of them have updates."""
    image = ImageParam(UInt8, 2, "image")
    f, g, h, out = Func("f"), Func("g"), Func("h"), Func("out")
    f[X, Y] = cast(Int32, image[X, Y]) * 2
    f[X, 1] += f[X, 0] * 5
    g[X, Y] = cast(Int32, image[X + 1, Y]) + X
    h[X, Y] = cast(Int32, image[X, Y + 1]) - Y
    h[X, Y] = h[X, Y] * 3 + image[X, Y]
    out[X, Y] = f[X, Y] + f[X + 2, Y + 1] * g[X - 1, Y] + g[X, Y + 2] - h[X + 1, Y - 1] * h[X, Y]
    return pipeline(out)


SUMS = sums()
ALL = "f.compute_root()\ng.compute_root()\nh.compute_root()\n"
GROUPS = (
    ALL + "f.compute_with(g, x)\nh.compute_with(g, x)",
    ALL + "f.compute_with(g, x)\nh.compute_with(g, y)",
    ALL + "h.compute_with(f, y)\nf.compute_with(g, x)",
    ALL + "h.compute_with(f, x)\nf.compute_with(g, y)",
    ALL + "h.compute_with(f, x, LoopAlignStrategy::AlignEnd)\n"
    "f.compute_with(g, x, LoopAlignStrategy::AlignStart)",
    ALL.replace("()\n", "().vectorize(x, 4).parallel(y)\n")
    + "f.compute_with(g, y)\nh.compute_with(g, y)",
    "out.split(y, y, yi, 4)\n"
    "f.compute_at(out, y)\ng.compute_at(out, y).compute_with(f, x)\n"
    "h.compute_at(out, y).compute_with(f, x, LoopAlignStrategy::AlignStart)\n"
    "h.update(0).vectorize(x, 4)",
)


@pytest.mark.parametrize("text", GROUPS)
def test_groups_give_the_references_bits_and_halides(text: str) -> None:
    verdict = legal(SUMS, text)
    compiled = compile_cpu_unchecked(SUMS, verdict.schedule, threads=2)
    for width, height in ((19, 12), (33, 5)):
        check_values(compiled, {"out": [(1, width), (1, height)]})
    data = np.random.default_rng(0).integers(0, 256, (24, 40), np.uint8)
    assert_agrees(SUMS, verdict.schedule, {"image": data}, {"out": ((1, 19), (1, 12))})
    assert all(isinstance(p.outcome, Proven) for p in prove(verdict).proofs)


def test_one_loop_computes_three() -> None:
    program = lower(loop_nest(SUMS, parse_schedule(GROUPS[0], SUMS)))["simplify"]
    loops = [s for s in walk_nodes(program.body) if isinstance(s, For)]
    stored = [{p.func for p in walk_nodes(s) if isinstance(p, Provide)} for s in loops]
    assert {"f", "g", "h"} in [s for s, loop in zip(stored, loops, strict=True)
                               if loop.var.name == "g.s0.x.fused"]  # fmt: skip


def order_of(text: str) -> list[str]:
    """The Funcs that rows 0 to 2 of a small run store to, one letter for each run of stores."""
    program = lower(loop_nest(SLOPES, parse_schedule(text, SLOPES)))["simplify"]
    first = next(s for s in walk_nodes(program.body) if isinstance(s, For))
    return [s.func for s in walk_nodes(first) if isinstance(s, Provide)]


def test_one_loop_computes_both() -> None:
    assert order_of(ROOT) == ["dx"]
    assert set(order_of(ROOT + "dx.compute_with(dy, y)")) == {"dx", "dy"}
    program = lower(loop_nest(SLOPES, parse_schedule(TEXTS[0], SLOPES)))["simplify"]
    names = [s.var.name for s in walk_nodes(program.body) if isinstance(s, For)]
    assert not {"dx.s0.y"} & set(names)
    assert not [s for s in walk_nodes(program.body) if isinstance(s, Store)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("dx.compute_root()\ndy.compute_with(dx, x)", "with.func"),
        (ROOT + "dx.compute_with(nobody, x)", "with.func"),
        (ROOT + "dx.compute_with(dy, z)", "with.loops"),
        (ROOT + "dx.parallel(y).compute_with(dy, x)", "with.loops"),
        (ROOT + "dx.reorder(y, x).compute_with(dy, x)", "with.loops"),
        ("dx.compute_root()\ndy.compute_at(out, y).compute_with(dx, x)", "with.level"),
        (ROOT + "other.compute_with(dx, x)", "with.dependent"),
        (ROOT + "dx.compute_with(dy, x)\nother.compute_with(dy, x)", "with.dependent"),
        (ROOT + "dx.compute_with(dy, x)\ndy.compute_with(dx, x)", "with.func"),
    ],
)
def test_stages_that_cannot_be_fused_are_named(text: str, rule: str) -> None:
    verdict = verify(SLOPES, parse_schedule(text, SLOPES), device("cpu"))
    assert rule in [v.rule for v in verdict.violations]


def test_fused_loops_are_proven() -> None:
    assert all(isinstance(p.outcome, Proven) for p in prove(legal(SLOPES, TEXTS[0])).proofs)


def test_the_source_says_it() -> None:
    assert ".compute_with(dy, x);" in halide_source(SLOPES, parse_schedule(TEXTS[0], SLOPES))
