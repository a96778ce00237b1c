"""Chains of fused Funcs, each fused down to another loop: the same bits as Halide."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import For, Provide
from spaces.backend.lowering.cpu.passes import lower
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
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.levels import LevelError
from spaces.model.writing.text import parse_schedule
from tests.backend.cpu_runs import check_values
from tests.backend.halide.peer import assert_agrees, legal

X, Y = Var("x"), Var("y")
IMAGE = np.random.default_rng(0).integers(0, 256, (30, 40), np.uint8)
SIZES = {"out": ((1, 19), (1, 12))}


def assert_computes(subject: Pipeline, text: str) -> CheckedSchedule:
    """Asserts that a schedule is legal and proven, and computes the values of the reference."""
    verdict = legal(subject, text)
    compiled = compile_cpu_unchecked(subject, verdict.schedule, threads=2)
    for width, height in ((19, 12), (33, 5)):
        check_values(compiled, {"out": [(1, width), (1, height)]})
    assert all(isinstance(p.outcome, Proven) for p in prove(verdict).proofs)
    return verdict


def three() -> Pipeline:
    """Three Funcs with unequal required regions that read a fourth Func; f is the widest, then h,
    then g.
    """
    image = ImageParam(UInt8, 2, "image")
    p, f, g, h, out = Func("p"), Func("f"), Func("g"), Func("h"), Func("out")
    p[X, Y] = cast(Int32, image[X, Y]) * 3 + X
    f[X, Y] = p[X, Y] * 2
    g[X, Y] = cast(Int32, image[X + 1, Y]) + X
    h[X, Y] = p[X, Y + 1] - Y
    out[X, Y] = f[X, Y] + f[X + 2, Y + 1] * g[X, Y] + g[X, Y + 2] - h[X + 1, Y - 1] * h[X, Y]
    return pipeline(out)


THREE = three()
ROOT = "f.compute_root()\ng.compute_root()\nh.compute_root()\n"
INNER = ROOT + "h.compute_with(f, x)\nf.compute_with(g, y)\n"
CHAINS = (
    INNER + "p.compute_root()",
    INNER + "p.compute_at(f, x)",
    INNER + "p.compute_at(f, y)",
    INNER + "p.compute_at(f, y).store_root()",
    ROOT + "p.compute_root()\nh.compute_with(f, x, LoopAlignStrategy::AlignEnd)\n"
    "f.compute_with(g, y, LoopAlignStrategy::AlignStart)",
    ROOT.replace("()\n", "().parallel(y).vectorize(x, 4)\n")
    + "p.compute_root()\nh.compute_with(f, x)\nf.compute_with(g, y)",
    ROOT.replace("()\n", "().split(y, y, yi, 2)\n")
    + "h.compute_with(f, x)\nf.compute_with(g, y)\np.compute_at(f, y)",
    "out.split(y, y, yi, 4)\nf.compute_at(out, y)\ng.compute_at(out, y)\nh.compute_at(out, y)\n"
    "h.compute_with(f, x)\nf.compute_with(g, y)\np.compute_at(f, x)",
)
WIDER = ROOT + "p.compute_root()\nf.compute_with(h, x)\nh.compute_with(g, y)"


@pytest.mark.parametrize("text", CHAINS)
def test_chains_give_the_references_bits_and_halides(text: str) -> None:
    verdict = assert_computes(THREE, text)
    assert_agrees(THREE, verdict.schedule, {"image": IMAGE}, SIZES)


def test_a_loop_further_in_is_as_wide_as_its_widest() -> None:
    # Halide instead widens the loops of the Func that leads all, and leaves out columns of f.
    assert_computes(THREE, WIDER)
    text = "g.compute_with(h, y)\nf.compute_with(h, y)\nf.update(0).compute_with(g, x)"
    assert_computes(STEPS, ROOT + text)


def test_loops_of_a_chain_are_those_of_two_funcs() -> None:
    program = lower(loop_nest(THREE, parse_schedule(CHAINS[0], THREE)))["start"]
    loops = {s.var.name: s for s in walk_nodes(program.body) if isinstance(s, For)}
    inside = {
        name: {p.func for p in walk_nodes(loop) if isinstance(p, Provide)}
        for name, loop in loops.items()
    }
    assert inside["g.s0.y.fused"] == {"f", "g", "h"}
    assert inside["f.s0.x.fused"] == {"f", "h"}
    assert inside["g.s0.x"] == {"g"}
    assert not {"f.s0.y", "f.s0.x", "h.s0.y", "h.s0.x"} & loops.keys()


def test_a_loop_is_aligned_with_one_that_is_aligned_itself() -> None:
    align = "LoopAlignStrategy::AlignStart"
    text = f"p.compute_root()\nf.compute_with(h, y, {align})\ng.compute_with(f, y, {align})"
    verdict = assert_computes(THREE, ROOT + text)
    program = lower(loop_nest(THREE, verdict.schedule))["start"]
    loops = {s.var.name: s for s in walk_nodes(program.body) if isinstance(s, For)}
    fused = loops["h.s0.y.fused"]
    # Of 12 rows of out, which begin with 1, h has 13 from 0 on, f 13 and g 14 from 1 on.
    sizes = {"out.min.0": 1, "out.extent.0": 19, "out.min.1": 1, "out.extent.1": 12}
    assert (evaluate(fused.min, sizes), evaluate(fused.extent, sizes)) == (0, 14)


def test_what_a_third_func_needs_is_not_computed_in_the_loop_of_two() -> None:
    text = ROOT + "h.compute_with(g, y)\nf.compute_with(g, y)\np.compute_at(f, y)"
    verdict = verify(THREE, parse_schedule(text, THREE), device("cpu"))
    assert [v.rule for v in verdict.violations] == ["call.compute-level"]


def steps() -> Pipeline:
    """Funcs with updates; one Func has updates at each point, in rows, and in columns of a
    reduction.
    """
    image = ImageParam(UInt8, 2, "image")
    f, g, h, out = Func("f"), Func("g"), Func("h"), Func("out")
    r = RDom([(0, 5)], name="r")
    f[X, Y] = cast(Int32, image[X, Y]) * 2
    f[X, Y] = f[X, Y] * 3 + image[X + 1, Y]
    f[X, r] = f[X, r] * 5 - r
    f[X, r] = f[X, r] * f[X, r] + r
    g[X, Y] = cast(Int32, image[X + 1, Y]) + X
    g[X, r] = g[X, r] * 7 - r
    h[X, Y] = cast(Int32, image[X, Y + 1]) - Y
    out[X, Y] = f[X, Y] + f[X + 2, Y + 1] * g[X, Y] + g[X, Y + 2] - h[X + 1, Y] * h[X, Y]
    return pipeline(out)


STEPS = steps()
OWN = (
    ROOT + "f.compute_with(h, x)\nf.update(0).compute_with(h, y)",
    ROOT + "g.compute_with(h, y)\nf.compute_with(h, y)\nf.update(0).compute_with(g, y)",
    ROOT + "f.update(1).compute_with(g.update(0), r)\nf.update(2).compute_with(g.update(0), r)",
    ROOT + "f.update(1).split(r, t, ti, 2).reorder(ti, x, t)\n"
    "f.update(2).split(r, t, ti, 2).reorder(ti, x, t)\n"
    "g.update(0).split(r, t, ti, 2).reorder(ti, x, t)\n"
    "f.update(1).compute_with(g.update(0), t)\nf.update(2).compute_with(g.update(0), t)",
    ROOT + "f.split(y, y, yi, 2, TailStrategy::GuardWithIf)\n"
    "f.update(0).split(y, y, yi, 2).split(yi, yi, yii, 2, TailStrategy::GuardWithIf)\n"
    "h.split(y, y, yi, 2)\nf.compute_with(h, y)\nf.update(0).compute_with(h, y)",
)


@pytest.mark.parametrize("text", OWN)
def test_stages_of_one_func_give_the_references_bits_and_halides(text: str) -> None:
    verdict = assert_computes(STEPS, text)
    assert_agrees(STEPS, verdict.schedule, {"image": IMAGE}, SIZES)


def test_a_stage_precedes_the_loop_that_a_later_one_shares() -> None:
    # Halide runs the update first, which the definition overwrites.
    text = ROOT + "f.compute_with(h, y)\nf.update(0).compute_with(h, x)"
    assert_computes(STEPS, text)
    program = lower(loop_nest(STEPS, parse_schedule(text, STEPS)))["start"]
    loops = {s.var.name: s for s in walk_nodes(program.body) if isinstance(s, For)}
    stores = [s.func for s in walk_nodes(loops["h.s0.y.fused"]) if isinstance(s, Provide)]
    assert stores[0] == "f"
    assert sorted(stores[1:]) == ["f", "h"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("f.compute_with(h, y, LoopAlignStrategy::AlignStart)\nf.update(0).compute_with(h, y)",
         "f and f.update(0) are aligned differently along y"),
        ("f.split(y, y, yi, 2)\nh.split(y, y, yi, 2)\nf.update(0).split(y, y, yi, 2)\n"
         "f.compute_with(h, y)\nf.update(0).compute_with(h, y)",
         "f shifts tiles, which computes values again"),
        ("f.split(y, y, yi, 2, TailStrategy::GuardWithIf)\nh.split(y, y, yi, 2)\n"
         "f.update(0).split(y, y, yi, 4)\nf.compute_with(h, y)\nf.update(0).compute_with(h, y)",
         "the loops of f are made in another way than those of f.update(0)"),
        ("f.split(y, t, ti, 2, TailStrategy::GuardWithIf)\nh.split(y, t, ti, 2)\n"
         "f.update(0).split(x, t, ti, 2).reorder(ti, y, t)\n"
         "f.compute_with(h, t)\nf.update(0).compute_with(h, t)",
         "f and f.update(0) traverse different dimensions in t"),
        ("f.split(y, y, yi, 4, TailStrategy::GuardWithIf)"
         ".split(yi, yi, yii, 3, TailStrategy::RoundUp)\nh.split(y, y, yi, 4)\n"
         "f.update(0).split(y, y, yi, 4)\nf.compute_with(h, y)\nf.update(0).compute_with(h, y)",
         "f rounds up inside tiles, which computes values again"),
    ],
)  # fmt: skip
def test_why_stages_of_one_func_are_not_in_step(text: str, reason: str) -> None:
    (violation,) = verify(STEPS, parse_schedule(ROOT + text, STEPS), device("cpu")).violations
    assert violation.rule == "with.stages"
    assert reason in str(violation)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("out.compute_with(f, y)", "out is computed with f, which it reads."),
        ("p.compute_root()\ng.compute_root().compute_with(p, y)",
         "h is computed with p, which it reads."),
    ],
)  # fmt: skip
def test_there_is_no_nest_of_funcs_that_read_each_other(text: str, said: str) -> None:
    text = ROOT + text.replace("g.compute_root()", "h")
    with pytest.raises(LevelError, match=said):
        loop_nest(THREE, parse_schedule(text, THREE))


def test_a_specialized_func_is_computed_with_another_one() -> None:
    # Halide uses only the specializations of g.
    tiles = "specialize(out.extent.0 >= 20).vectorize(x, 4)\n"
    text = f"{ROOT}p.compute_root()\nf.{tiles}g.{tiles}f.compute_with(g, y)"
    verdict = legal(THREE, text)
    compiled = compile_cpu_unchecked(THREE, verdict.schedule, threads=2)
    for width in (19, 33):
        check_values(compiled, {"out": [(1, width), (1, 12)]})
    led = legal(THREE, text.replace(f"f.{tiles}", ""))
    assert_agrees(THREE, led.schedule, {"image": IMAGE}, SIZES)
    assert_agrees(THREE, led.schedule, {"image": IMAGE}, {"out": ((1, 26), (1, 12))})
