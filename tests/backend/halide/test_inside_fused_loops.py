"""Funcs computed inside fused loops, for one or for all Funcs of the fused group."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu_unchecked
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Proven
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.writing.text import parse_schedule
from tests.backend.cpu_runs import buffer_sizes, check, check_values
from tests.backend.halide.peer import assert_agrees, bridge, legal

X, Y = Var("x"), Var("y")


def served() -> Pipeline:
    """Two Funcs with unequal required regions that read different rows of a third Func. One of them
    also reads a fourth Func, and both have updates.
    """
    image = ImageParam(UInt8, 2, "image")
    p, q, f, g, out = Func("p"), Func("q"), Func("f"), Func("g"), Func("out")
    r = RDom([(0, 3)], name="r")
    p[X, Y] = cast(Int32, image[X, Y]) * 3 + image[X + 1, Y]
    q[X, Y] = cast(Int32, image[X, Y]) - X
    q[X, Y] = q[X, Y] * 2 + Y
    f[X, Y] = p[X, Y] + p[X, Y + 1]
    f[X, Y] += p[X + 1, Y] * 5
    g[X, Y] = p[X + 1, Y + 2] - q[X, Y]
    g[X, Y] += g[X, Y] * p[X, Y + r]
    out[X, Y] = f[X, Y] + f[X + 3, Y + 1] * g[X, Y] - g[X, Y + 4]
    return pipeline(out)


SERVED = served()
ROOT = "f.compute_root()\ng.compute_root()\n"
TEXTS = (
    ROOT + "f.compute_with(g, y)\np.compute_root()\nq.compute_at(g, y)",
    ROOT + "f.update(0).compute_with(g.update(0), y)\np.compute_root()\nq.compute_root()",
    ROOT + "g.compute_with(f, y)\np.compute_root()\nq.compute_at(f, y)",
    ROOT + "g.compute_with(f, x)\np.compute_root()\nq.compute_at(f, x)",
    ROOT + "g.compute_with(f, x, {{y, LoopAlignStrategy::AlignEnd}})\np.compute_root()\n"
    "q.compute_at(f, y).store_root()",
    "out.split(y, y, yi, 4)\nf.compute_at(out, y)\ng.compute_at(out, y).compute_with(f, y)\n"
    "p.compute_at(out, y)\nq.compute_at(f, y)",
)


def plain() -> Pipeline:
    """Two Funcs that read different rows and columns of a third Func."""
    image = ImageParam(UInt8, 2, "image")
    p, f, g, out = Func("p"), Func("f"), Func("g"), Func("out")
    p[X, Y] = cast(Int32, image[X, Y]) * 3 + image[X + 1, Y]
    f[X, Y] = p[X, Y] + p[X, Y + 1]
    g[X, Y] = p[X + 1, Y + 2] - X
    out[X, Y] = f[X, Y] + f[X + 3, Y + 1] * g[X, Y] - g[X, Y + 4]
    return pipeline(out)


PLAIN = plain()
SHARED = (
    ROOT + "f.compute_with(g, y)\np.compute_at(g, y)",
    ROOT + "g.compute_with(f, x)\np.compute_at(f, y)",
    ROOT + "g.compute_with(f, x)\np.compute_at(f, x)",
    ROOT + "g.compute_with(f, y, LoopAlignStrategy::AlignStart)\np.compute_at(f, y)",
    ROOT + "f.parallel(y)\ng.parallel(y).compute_with(f, y)\np.compute_at(f, y)",
    ROOT + "g.compute_with(f, y)\np.compute_at(f, y).store_root()",
    ROOT + "g.compute_with(f, y)\np.compute_at(f, y).store_root().fold_storage(y, 4)",
    ROOT + "g.compute_with(f, x)\np.compute_at(f, x).store_at(f, y)",
    ROOT + "f.split(y, y, yi, 2, TailStrategy::GuardWithIf)\n"
    "g.split(y, y, yi, 2, TailStrategy::GuardWithIf).compute_with(f, yi)\np.compute_at(f, y)",
    "out.split(y, y, yi, 4)\nf.compute_at(out, y)\ng.compute_at(out, y).compute_with(f, y)\n"
    "p.compute_at(f, y).vectorize(x, 4)",
)


BEYOND = (
    ROOT + "g.compute_with(f, y, LoopAlignStrategy::AlignEnd)\np.compute_at(f, y).vectorize(x, 4)"
)


def assert_computes(subject: Pipeline, text: str) -> CheckedSchedule:
    """Asserts that a schedule is legal and proven, and computes the values of the reference."""
    verdict = legal(subject, text)
    compiled = compile_cpu_unchecked(subject, verdict.schedule, threads=2)
    for width, height in ((19, 12), (33, 5)):
        check_values(compiled, {"out": [(1, width), (0, height)]})
    assert all(isinstance(p.outcome, Proven) for p in prove(verdict).proofs)
    return verdict


IMAGE = np.random.default_rng(0).integers(0, 256, (30, 40), np.uint8)
SIZES = {"out": ((1, 19), (0, 12))}


@pytest.mark.parametrize("text", TEXTS)
def test_one_of_them_is_served(text: str) -> None:
    verdict = assert_computes(SERVED, text)
    assert_agrees(SERVED, verdict.schedule, {"image": IMAGE}, SIZES)


@pytest.mark.parametrize("text", SHARED)
def test_both_of_them_are_served(text: str) -> None:
    verdict = assert_computes(PLAIN, text)
    assert_agrees(PLAIN, verdict.schedule, {"image": IMAGE}, SIZES)


def test_nothing_is_read_for_iterations_that_a_stage_does_not_have() -> None:
    # Halide asks for rows of the image before the first one that any value depends on.
    verdict = assert_computes(PLAIN, BEYOND)
    # f needs rows 0 to 12 and columns 1 to 22, g rows 0 to 15: they read rows 0 to 17 of p.
    sizes = buffer_sizes(PLAIN, verdict.nest, {"out": [(1, 19), (0, 12)]})
    assert sizes["image"] == [(0, 24), (0, 18)]


def nested() -> Pipeline:
    """Two outputs that read two Funcs, and these read one Func."""
    whole, f1, f2, g1, g2 = Func("whole"), Func("f1"), Func("f2"), Func("g1"), Func("g2")
    whole[X, Y] = X + Y
    f1[X, Y] = whole[X, Y] + 20
    f2[X, Y] = whole[X, Y] * whole[X, Y]
    g1[X, Y] = f1[X, Y] + X + Y
    g2[X, Y] = f1[X, Y] * f2[X, Y]
    return pipeline([g1, g2])


def test_fused_loops_inside_fused_loops() -> None:
    text = (
        "whole.compute_at(f1, y)\nf2.compute_at(g1, y).compute_with(f1, y, "
        "LoopAlignStrategy::AlignEnd)\nf1.compute_at(g1, y)\n"
        "g2.compute_with(g1, x, LoopAlignStrategy::AlignStart)"
    )
    subject = nested()
    chosen = legal(subject, text).schedule
    sizes = {"g1": [(0, 20), (0, 25)], "g2": [(0, 10), (0, 20)]}
    check(subject, chosen, sizes)
    theirs = bridge.build(subject, chosen).realize(inputs={}, sizes=sizes)
    x, y = np.arange(20), np.arange(25)[:, None]
    np.testing.assert_array_equal(theirs["g1"], 2 * (x + y) + 20)
    x, y = np.arange(10), np.arange(20)[:, None]
    np.testing.assert_array_equal(theirs["g2"], (x + y + 20) * (x + y) ** 2)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("f.compute_with(g, y)\np.compute_at(f, y)", "call.compute-level"),
        ("f.compute_with(g, y)\np.compute_at(g, x)", "call.compute-level"),
        ("f.parallel(y)\ng.parallel(y).compute_with(f, y)\np.compute_at(f, y).store_root()",
         "race.shared-storage"),
    ],
)  # fmt: skip
def test_levels_that_do_not_serve_both_are_named(text: str, rule: str) -> None:
    verdict = verify(PLAIN, parse_schedule(ROOT + text, PLAIN), device("cpu"))
    assert rule in [v.rule for v in verdict.violations]
