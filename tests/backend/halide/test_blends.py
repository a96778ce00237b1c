"""Tails that keep the values of other tiles: the same bits as Halide, and the same refusals."""

from __future__ import annotations

import numpy as np
import pytest

import spaces
from spaces.backend.arguments import ArgumentError
from spaces.backend.compile import compile_cpu, compile_cpu_unchecked
from spaces.backend.halide.errors import DirectiveError, RealizationError
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Proven
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import cast
from spaces.model.formulas import algebra
from spaces.model.nest.loopnest import loop_nest
from spaces.model.writing.text import parse_schedule
from tests.backend.cpu_runs import check_values
from tests.backend.halide.peer import assert_agrees, bridge, legal


def twice() -> Pipeline:
    """An update that gives a different value if it is applied twice."""
    image, x, y = spaces.ImageParam(spaces.UInt8, 2, "image"), spaces.Var("x"), spaces.Var("y")
    f, out = spaces.Func("f"), spaces.Func("out")
    f[x, y] = x - y
    f[x, y] = f[x, y] * 3 + cast(spaces.Int32, image[x, y])
    f[x, 2] += f[x, 1] * 5
    out[x, y] = f[x, y] + f[x + 1, y]
    return spaces.pipeline(out)


TWICE = twice()
S, R = "TailStrategy::ShiftInwardsAndBlend", "TailStrategy::RoundUpAndBlend"
ORDERS = (
    f"f.update(0).vectorize(x, 8, {S})",
    f"f.update(0).vectorize(x, 8, {R})",
    f"f.update(0).vectorize(x, 8, {S}).parallel(y)\nf.update(1).vectorize(x, 4, {S})",
    f"f.update(0).split(x, x, xi, 6, {S}).vectorize(xi, 4, {R})",
    f"f.update(0).split(x, xo, xi, 6).vectorize(xi, 4, {S})",
    f"f.update(0).split(x, xo, xi, 2).vectorize(xo, 4, {S})",
    f"f.update(0).tile(x, y, xi, yi, 8, 4, {R}).vectorize(xi).unroll(yi)",
    f"f.vectorize(x, 8, {S}).update(0).unroll(x, 3, {S})",
    f"f.vectorize(x, 8, {R})\nout.vectorize(x, 8, {S})",
)


@pytest.mark.parametrize("order", ORDERS)
def test_results_are_the_references_and_halides(order: str) -> None:
    chosen = legal(TWICE, f"f.compute_root()\n{order}").schedule
    compiled = compile_cpu_unchecked(TWICE, chosen, threads=2)
    for width in (13, 16, 33):
        check_values(compiled, {"out": [(1, width), (0, 5)]})
    data = np.random.default_rng(0).integers(0, 256, (10, 40), np.uint8)
    assert_agrees(TWICE, chosen, {"image": data}, {"out": ((9, 19), (0, 5))})


@pytest.mark.parametrize("order", ORDERS[:4])
def test_each_value_is_changed_once_for_all_sizes(order: str) -> None:
    verdict = verify(TWICE, parse_schedule(f"f.compute_root()\n{order}", TWICE), device("cpu"))
    assert isinstance(verdict, CheckedSchedule)
    outcomes = [p for p in prove(verdict).proofs if not isinstance(p.outcome, Proven)]
    assert not outcomes, outcomes


@pytest.mark.parametrize(("tail", "low", "high"), [(S, 0, 12), (R, 0, 15)])
def test_reads_reach_as_far_as_without_blending(tail: str, low: int, high: int) -> None:
    image, x = spaces.ImageParam(spaces.UInt8, 1, "image"), spaces.Var("x")
    out = spaces.Func("out")
    out[x] = 1
    out[x] = out[x] * 3 + image[x]
    pipeline = spaces.pipeline(out)
    text = f"out.update(0).vectorize(x, 8, {tail})"
    (box,) = loop_nest(pipeline, parse_schedule(text, pipeline)).inputs["image"]
    sizes = {"out.min.0": 0, "out.extent.0": 13}
    assert box.min is not None
    assert box.max is not None
    assert (algebra.evaluate(box.min, sizes), algebra.evaluate(box.max, sizes)) == (low, high)


@pytest.mark.parametrize(("tail", "last"), [(S, 12), (R, 15)])
def test_whole_tiles_are_stored(tail: str, last: int) -> None:
    nest = loop_nest(TWICE, parse_schedule(f"out.vectorize(x, 8, {tail})", TWICE))
    across = nest.outputs["out"][0]
    assert algebra.evaluate(across.max, {"out.min.0": 0, "out.extent.0": 13}) == last


@pytest.mark.parametrize("tail", [S, R])
def test_threads_are_refused_as_by_halide(tail: str) -> None:
    text = f"f.compute_root()\nf.update(0).split(x, xo, xi, 8, {tail}).parallel(xo)"
    chosen = parse_schedule(text, TWICE)
    verdict = verify(TWICE, chosen, device("cpu"))
    assert [v.rule for v in verdict.violations] == ["order.blend"]
    with pytest.raises(DirectiveError, match="race condition"):
        bridge.build(TWICE, chosen)


@pytest.mark.parametrize("tail", ["Predicate", "PredicateLoads", "PredicateStores"])
def test_predicated_tails_ask_for_as_much_as_halides(tail: str) -> None:
    """For outputs and images of whole and of partial tiles: both sides run with the same bits, or
    both refuse.
    """
    image, x = spaces.ImageParam(spaces.Int32, 1, "image"), spaces.Var("x")
    g, f = spaces.Func("g"), spaces.Func("f")
    g[x] = image[x] + 1
    f[x] = g[x] * 2 + g[x + 1]
    within = f"g.compute_root().vectorize(x, 8, {tail})\nf.vectorize(x, 4, GuardWithIf)"
    run_by_both = set()
    for text in (within, f"f.vectorize(x, 8, {tail})"):
        algorithm = spaces.pipeline(f)
        checked = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
        ours, theirs = compile_cpu(checked), bridge.build(algorithm, checked.schedule)
        for extent, width in ((16, 16), (16, 17), (13, 14), (13, 16), (13, 17), (13, 24), (15, 16)):
            arguments = {"image": np.arange(width, dtype=np.int32)}, None, {"f": [extent]}
            found = []
            for run, refusal in ((ours.run, ArgumentError), (theirs.realize, RealizationError)):
                try:
                    found.append(run(*arguments)["f"].tolist())
                except refusal:
                    found.append(None)
            assert found[0] == found[1], (text, extent, width)
            run_by_both |= {extent} if found[0] else set()
    assert run_by_both >= {13, 16}
