"""Fused update stages: the same bits as the reference and Halide."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import For, Provide
from spaces.backend.lowering.cpu.passes import lower
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Proven, Refuted
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.schedule import Companion, LoopAlign, StageOf
from spaces.model.writing.text import parse_schedule
from tests.backend.cpu_runs import check_values
from tests.backend.halide.peer import assert_agrees, legal

X, Y = Var("x"), Var("y")


def twice_updated() -> Pipeline:
    """Three Funcs with unequal required regions; two have two updates, at each point and along a
    row.
    """
    image = ImageParam(UInt8, 2, "image")
    f, g, h, out = Func("f"), Func("g"), Func("h"), Func("out")
    r = RDom([(0, 5)], name="r")
    f[X, Y] = cast(Int32, image[X, Y]) * 2
    f[X, Y] = f[X, Y] * 3 + image[X + 1, Y]
    f[r, Y] = f[r, Y] * 5 - f[r + 1, Y] + r
    g[X, Y] = cast(Int32, image[X + 1, Y]) + X
    g[X, Y] += g[X, Y] * g[X, Y] + Y
    g[r, Y] = g[r, Y] * 7 - g[r + 2, Y]
    h[X, Y] = cast(Int32, image[X, Y + 1]) - Y
    out[X, Y] = f[X, Y] + f[X + 2, Y + 1] * g[X, Y] + g[X, Y + 2] - h[X + 1, Y] * h[X, Y]
    return pipeline(out)


TWICE = twice_updated()
ROOT = "f.compute_root()\ng.compute_root()\nh.compute_root()\n"
TEXTS = (
    ROOT + "f.update(0).compute_with(g.update(0), y)",
    ROOT + "f.update(0).compute_with(g.update(0), x)",
    ROOT + "f.compute_with(g, x)\nf.update(0).compute_with(g.update(0), x)\n"
    "f.update(1).compute_with(g.update(1), r)",
    ROOT + "f.update(0).compute_with(g, y)",
    ROOT + "h.compute_with(f.update(0), x)\ng.update(0).compute_with(f.update(0), y)",
    ROOT + "f.update(1).compute_with(g.update(1), y, LoopAlignStrategy::AlignStart)",
    ROOT + "f.update(0).compute_with(g, x, {{y, LoopAlignStrategy::AlignEnd}})",
    ROOT + "f.update(0).compute_with(g.update(0), x, {{y, LoopAlignStrategy::AlignEnd}, "
    "{x, LoopAlignStrategy::AlignStart}})",
    ROOT + "f.compute_with(g.update(0), y)\nf.update(0).compute_with(g.update(0), y)",
    ROOT + "f.compute_with(h, y)\nf.update(0).compute_with(h, y)\nf.update(1).compute_with(h, y)",
    ROOT + "f.update(0).parallel(y).vectorize(x, 4)\n"
    "g.update(0).parallel(y).vectorize(x, 4).compute_with(f.update(0), x)",
    "out.split(y, y, yi, 4)\nf.compute_at(out, y)\ng.compute_at(out, y).compute_with(f, x)\n"
    "h.compute_root()\ng.update(0).compute_with(f.update(0), y, LoopAlignStrategy::AlignEnd)",
)
TWO_LEADERS = ROOT + "f.compute_with(g, x)\ng.update(0).compute_with(h, y)"


def assert_computes(text: str) -> CheckedSchedule:
    """Asserts that a schedule is legal and computes the values of the reference."""
    verdict = legal(TWICE, text)
    compiled = compile_cpu_unchecked(TWICE, verdict.schedule, threads=2)
    for width, height in ((19, 12), (33, 5)):
        check_values(compiled, {"out": [(1, width), (0, height)]})
    return verdict


@pytest.mark.parametrize("text", TEXTS)
def test_results_are_the_references_and_halides(text: str) -> None:
    verdict = assert_computes(text)
    data = np.random.default_rng(0).integers(0, 256, (24, 40), np.uint8)
    assert_agrees(TWICE, verdict.schedule, {"image": data}, {"out": ((1, 19), (0, 12))})
    assert all(isinstance(p.outcome, Proven) for p in prove(verdict).proofs)


def test_a_func_whose_stages_have_different_leaders() -> None:
    # Halide widens the loops of only one Func of a group, and leaves out values of f.
    assert_computes(TWO_LEADERS)


def order_of(text: str) -> list[list[str]]:
    """The stores to f, g or h in each outermost loop of a program."""
    program = lower(loop_nest(TWICE, parse_schedule(text, TWICE)))["start"]
    body = program.body
    outermost = [s for s in walk_nodes(body) if isinstance(s, For) and ".y" in s.var.name]
    found = [[p.func for p in walk_nodes(s) if isinstance(p, Provide)] for s in outermost]
    return [names for names in found if "out" not in names]


def test_updates_share_a_loop() -> None:
    assert order_of(ROOT) == [["f"]] * 3 + [["g"]] * 3 + [["h"]]
    fused = order_of(ROOT + "f.update(0).compute_with(g.update(0), y)")
    assert [set(names) for names in fused].count({"f", "g"}) == 1
    assert len(fused) == 6


def test_stages_of_one_func_run_in_turn_in_an_iteration() -> None:
    text = ROOT + "f.compute_with(h, y)\nf.update(0).compute_with(h, y)"
    (fused,) = (names for names in order_of(text) if "h" in names)
    assert [name for name, _ in groupby(fused)] == ["h", "f"]
    assert fused.count("f") >= 2
    deeper = ROOT + "f.compute_with(h, y)\nf.update(0).compute_with(h, x)"
    (fused,) = (names for names in order_of(deeper) if "h" in names)
    assert next(groupby(fused))[0] == "f"


def test_alignments_are_of_their_loops() -> None:
    one = parse_schedule(ROOT + "f.compute_with(g, x, {{y, LoopAlignStrategy::AlignEnd}})", TWICE)
    (companion,) = one.of("f").companions
    assert companion.align("y") is LoopAlign.ALIGN_END
    assert companion.align("x") is LoopAlign.AUTO
    asked = schedule(TWICE).func("f").compute_root().update(0)
    asked = asked.compute_with(StageOf("g", 1), "x", {"y": "align_start"})
    assert asked.schedule.of("f").companions == (
        Companion(StageOf("g", 1), "x", (("y", LoopAlign.ALIGN_START),), 1),
    )


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("f.update(0).compute_with(g.update(7), y)", "with.func"),
        ("f.update(0).compute_with(f, y)", "with.func"),
        ("f.compute_with(g, y)\ng.update(0).compute_with(f.update(0), y)", "with.func"),
        ("f.update(1).compute_with(h, x)", "with.loops"),
        ("f.update(1).compute_with(g.update(0), r)", "with.loops"),
        ("f.update(1).split(r, x, xi, 2)\nh.split(x, x, xi, 2).compute_with(f.update(1), x)",
         "with.loops"),
        ("f.compute_with(g.update(0), y)\nf.update(0).compute_with(g, y)", "with.order"),
        ("f.compute_with(h, y)\nf.update(1).compute_with(h, y)", "with.order"),
        ("f.compute_with(h, x)\nf.update(0).compute_with(h, y)\nf.update(1).compute_with(h, x)",
         "with.loops"),
        ("f.update(0).split(y, y, yi, 2)\nh.split(y, y, yi, 2)\nf.split(y, y, yi, 2)\n"
         "f.compute_with(h, y)\nf.update(0).compute_with(h, y)", "with.stages"),
    ],
)  # fmt: skip
def test_stages_that_cannot_be_fused_are_named(text: str, rule: str) -> None:
    verdict = verify(TWICE, parse_schedule(ROOT + text, TWICE), device("cpu"))
    assert rule in [v.rule for v in verdict.violations]


def along_rows() -> Pipeline:
    """Updates that go down the rows: the second reads the first update's values of a later row."""
    f, g, out = Func("f"), Func("g"), Func("out")
    r = RDom([(0, 5)], name="r")
    f[X, Y] = X + Y
    f[X, r] = f[X, r] * 3
    f[X, r] = f[X, r] + f[X, r + 1]
    g[X, Y] = X - Y
    g[X, r] = g[X, r] * 2
    out[X, Y] = f[X, Y] * g[X, Y]
    return pipeline(out)


def test_an_update_may_not_read_what_a_later_iteration_computes() -> None:
    rows = along_rows()
    text = "f.compute_root()\ng.compute_root()\nf.update(1).compute_with(g.update(0), r)\n"
    assert isinstance(verify(rows, parse_schedule(text, rows), device("cpu")), CheckedSchedule)
    both = parse_schedule(text + "f.update(0).compute_with(g.update(0), r)", rows)
    violations = verify(rows, both, device("cpu")).violations
    assert [v.rule for v in violations] == ["with.stages"]
    assert "f.update(1) runs over r.x, and also touches f elsewhere" in str(violations[0])


def test_the_proof_refutes_schedules_that_the_rule_forbids() -> None:
    rows = along_rows()
    text = "f.compute_root()\ng.compute_root()\nf.update(1).compute_with(g.update(0), r)\n"
    both = parse_schedule(text + "f.update(0).compute_with(g.update(0), r)", rows)
    wrong = [p for p in prove(loop_nest(rows, both)).proofs if isinstance(p.outcome, Refuted)]
    assert {p.obligation.kind for p in wrong} == {"order"}
    assert any("after f.update(0) is done with them" in p.obligation.statement for p in wrong)


def test_tiles_of_two_updates_begin_at_the_same_place() -> None:
    f, g, out = Func("f"), Func("g"), Func("out")
    r, later = RDom([(0, 6)], name="r"), RDom([(1, 6)], name="r")
    f[X, Y] = X + Y
    f[X, r] = f[X, r] * 3
    f[X, later] = f[X, later] * f[X, later] + 1
    g[X, Y] = X - Y
    g[X, r] = g[X, r] * 2
    out[X, Y] = f[X, Y] * g[X, Y]
    rows = pipeline(out)
    stages = ("f.update(0)", "f.update(1)", "g.update(0)")
    text = "f.compute_root()\ng.compute_root()\n"
    text += "".join(f"{s}.split(r, t, ti, 2).reorder(ti, x, t)\n" for s in stages)
    text += "".join(f"{s}.compute_with(g.update(0), t)\n" for s in stages[:2])
    written = parse_schedule(text, rows)
    (violation,) = verify(rows, written, device("cpu")).violations
    assert violation.rule == "with.stages"
    assert "f.update(0) and f.update(1) begin or end at other places" in str(violation)
    assert any(isinstance(p.outcome, Refuted) for p in prove(loop_nest(rows, written)).proofs)


def test_a_group_with_a_mistake_is_reported_with_all_other_mistakes() -> None:
    text = "f.compute_with(g, y).split(z, zo, zi, 4)\nh.compute_with(f, y)\nout.vectorize(q)"
    verdict = verify(TWICE, parse_schedule(ROOT + text, TWICE), device("cpu"))
    assert {v.func for v in verdict.violations} == {"f", "out"}


def crossed() -> Pipeline:
    """Two pairs of Funcs; one Func of each pair reads a Func of the other pair."""
    a, b, c, d, out = Func("a"), Func("b"), Func("c"), Func("d"), Func("out")
    a[X, Y] = X + Y
    b[X, Y] = X - Y
    c[X, Y] = a[X, Y] * 2
    d[X, Y] = b[X, Y] * 3
    out[X, Y] = c[X, Y] + d[X, Y]
    return pipeline(out)


def test_groups_may_not_wait_for_each_other() -> None:
    text = "".join(f"{f}.compute_root()\n" for f in "abcd")
    text += "a.compute_with(d, y)\n"
    one = verify(crossed(), parse_schedule(text, crossed()), device("cpu"))
    assert isinstance(one, CheckedSchedule)
    both = parse_schedule(text + "b.compute_with(c, y)", crossed())
    violations = verify(crossed(), both, device("cpu")).violations
    assert [(v.rule, v.func) for v in violations] == [("with.dependent", f) for f in "ab"]


def test_no_two_of_a_group_may_depend_on_each_other() -> None:
    a, c, e, out = Func("a"), Func("c"), Func("e"), Func("out")
    a[X, Y] = X + Y
    c[X, Y] = a[X, Y] * 2
    e[X, Y] = X - Y
    e[X, Y] = e[X, Y] * 3
    out[X, Y] = c[X, Y] + e[X, Y]
    subject = pipeline(out)
    text = "a.compute_root()\nc.compute_root()\ne.compute_root().compute_with(a, y)\n"
    assert isinstance(
        verify(subject, parse_schedule(text, subject), device("cpu")), CheckedSchedule
    )
    three = parse_schedule(text + "e.update(0).compute_with(c, y)", subject)
    violations = verify(subject, three, device("cpu")).violations
    assert [(v.rule, v.func) for v in violations] == [("with.dependent", "e")]
    assert "c reads a" in str(violations[0])
