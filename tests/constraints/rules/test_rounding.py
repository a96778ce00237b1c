"""Verdicts on schedules whose results differ from those of the algorithm in some bits."""

from __future__ import annotations

import json

import pytest

import spaces
from spaces import CheckedSchedule, Float32, Func, Illegal, ImageParam, Pipeline, RDom, Var
from spaces.constraints.examples import algorithms
from tests.small_space import small_space

CPU, GPU = spaces.device("cpu"), spaces.device("sm_80")
SUMS = algorithms.float_total()
X = Var("x")


def checked(text: str, pipeline: Pipeline = SUMS, device: spaces.Device = CPU) -> CheckedSchedule:
    verdict = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), device)
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    return verdict


def exactly(text: str, pipeline: Pipeline = SUMS, device: spaces.Device = CPU) -> spaces.Verdict:
    return spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), device, exact=True)


def test_threads_may_round_otherwise_in_each_run_and_lanes_in_the_same_way():
    (lanes,) = checked("s.update(0).atomic().vectorize(r.x, 4)").rounding
    assert (lanes.func, lanes.stage, lanes.varies) == ("s", 1, False)
    assert lanes.directive == "s.update(0).vectorize(r.x, 4)"
    (threads,) = checked("s.update(0).atomic().parallel(r.y)").rounding
    assert (threads.func, threads.stage, threads.loop, threads.varies) == ("s", 1, "r.y", True)
    assert "in each run" in threads.why
    both = checked("s.update(0).atomic().parallel(r.y).vectorize(r.x, 4)").rounding
    assert [one.varies for one in both] == [True, False]


def test_block_and_thread_loops_of_kernels_are_told():
    text = "s.gpu_tile(x, y, xi, yi, 8, 4); s.update(0).atomic()"
    tiled = f"{text}.gpu_tile(x, y, xi, yi, 8, 4)"
    assert checked(tiled, device=GPU).is_exact
    found = checked(f"{text}.gpu_blocks(r.y).gpu_threads(r.x)", device=GPU).rounding
    assert {(one.loop, one.varies) for one in found} == {("r.y", True), ("r.x", True)}


def test_partial_sums_are_told_of_the_func_that_is_factored():
    (one,) = checked("s.update(0).rfactor(r.y, u); s_intm.compute_root()").rounding
    assert (one.func, one.stage, one.varies) == ("s", 1, False)
    assert one.directive == "s.update(0).rfactor(r.y, u)"
    text = "s.update(0).rfactor(r.y, u); s_intm.compute_root().update(0).atomic().parallel(r.x)"
    found = checked(text).rounding
    assert [(one.func, one.varies) for one in found] == [("s_intm", True), ("s", False)]
    assert checked(text, algorithms.total()).is_exact


def test_partial_sums_of_partial_sums_are_told_of_each_func():
    text = """s.update(0).rfactor(r.y, u); s_intm.compute_root().update(0).rfactor(r.x, v);
    s_intm_intm.compute_root()"""
    found = checked(text).rounding
    assert [(one.func, one.stage) for one in found] == [("s_intm", 1), ("s", 1)]
    assert found[0].why == found[1].why
    r, image, kept = RDom([(0, 4), (0, 3)], "r"), ImageParam(Float32, 2, "image"), Func("s")
    value = image[X + r.x, r.y]
    kept[X] = 0.0
    kept[X] = spaces.select(value > kept[X], value, kept[X])
    assert checked(text, spaces.pipeline(kept)).is_exact


def test_exact_refuses_what_is_legal_otherwise_and_json_tells_it():
    text = "s.update(0).atomic().parallel(r.y).vectorize(r.x, 4)"
    verdict = exactly(text)
    assert isinstance(verdict, Illegal)
    assert [(v.rule, v.loop) for v in verdict.violations] == [
        ("exact.order", "r.y"),
        ("exact.order", verdict.violations[1].loop),
    ]
    legal = checked(text)
    assert [a.rule for a in legal.advice] == ["advice.rounding"] * 2
    told = json.loads(json.dumps(legal.json()))
    assert told["exact"] is False
    assert [r["varies"] for r in told["rounding"]] == [True, False]
    assert all(
        str(r["why"]) in str(v) for r, v in zip(told["rounding"], verdict.violations, strict=True)
    )


def test_exact_is_told_with_all_else_that_is_wrong():
    verdict = exactly("s.update(0).atomic().parallel(r.y); s.split(x, x, xi, 0)")
    assert {v.rule for v in verdict.violations} == {"exact.order", "order.factor"}


def test_what_is_exact_stays_legal():
    for text in ("", "s.update(0).reorder(x, r.x, r.y).vectorize(x, 4).parallel(y)"):
        assert exactly(text)


def test_a_case_of_a_specialized_schedule_is_told():
    text = "s.update(0).atomic().specialize(input.extent.0 > 9).vectorize(r.x, 4)"
    verdict = checked(text)
    assert not verdict.is_exact
    assert [case.is_exact for case in verdict.cases] == [False, True]
    assert len(verdict.rounding) == 1
    (violation,) = exactly(text).violations
    assert violation.message.endswith("(Where input.dim(0).extent() > 9.)")


@pytest.mark.parametrize("device", [CPU, GPU])
def test_spaces_hold_only_schedules_whose_results_are_exact(device: spaces.Device):
    r = RDom([(0, 9), (0, 5)], "r")
    image = ImageParam(Float32, 2, "image")
    total, most, out = Func("total"), Func("most"), Func("out")
    total[X] = 0.0
    total[X] += image[X + r.x, r.y]
    most[X] = 0.0
    most[X] = spaces.max(most[X], image[X + r.x, r.y])
    out[X] = total[X] + most[X]
    space = small_space(spaces.pipeline(out, estimates={out: [64]}), device)
    drawn = space.sample(30, seed=1)
    assert drawn
    for schedule in drawn:
        assert spaces.verify(space.pipeline, schedule, device, exact=True)


def test_searches_by_moves_find_only_schedules_whose_results_are_exact():
    """A move that swaps the loops of a maximum of floats is legal, but not exact."""
    made = algorithms.greatest(Float32, 64, 48)
    swapped = spaces.parse_schedule("s.update(0).reorder(r.y, r.x)", made)
    assert spaces.verify(made, swapped, CPU)
    space = small_space(made, CPU)
    limits = spaces.Limits(top=60)
    (done,) = (
        event
        for event in spaces.search(space, "weighted", spaces.Beam(depth=1), limits)
        if isinstance(event, spaces.Done)
    )
    assert len(done.best) > 10
    for found in done.best:
        assert spaces.verify(made, found.schedule, CPU, exact=True)
