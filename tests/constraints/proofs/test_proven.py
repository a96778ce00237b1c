"""Legal schedules are proven for all sizes; proven schedules also run right at some sizes."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.decide import Decider
from spaces.constraints.obligations.records import Unknown
from spaces.constraints.proofs.prove import obligations, prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.functions import clamp
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.domain_order import LoopKind, Split
from spaces.model.schedules.schedule import Schedule
from tests.apps.cases import written
from tests.constraints.proofs.broken import blur, nest_of, polynomial
from tests.draw_counts import examples, some
from tests.drawn_pipelines import schedules, stencil_pipelines

X, Y = Var("x"), Var("y")
APPS = ["blur", "unsharp", "harris", "hist", "sgemm", "toy_blur", "toy_trig", "toy_sum"]


@pytest.mark.parametrize("stem", ["default", "cpu", "gpu"])
@pytest.mark.parametrize("name", some(APPS))
def test_schedules_written_by_hand_are_proven(name: str, stem: str) -> None:
    checked = verify(*written(name, stem), device("sm_80" if stem == "gpu" else "cpu"))
    assert isinstance(checked, CheckedSchedule)
    report = prove(checked)
    assert report.proofs == report.proven
    kinds = {p.obligation.kind for p in report.proofs}
    assert kinds >= {"definition", "bounds", "coverage"}
    assert ("race" in kinds) == (stem != "default")


@settings(max_examples=examples(8, fewest=5))
@given(st.data())
def test_random_schedules_are_proven(data: st.DataObject) -> None:
    algorithm = data.draw(stencil_pipelines(max_stages=3))
    chosen = data.draw(schedules(algorithm))
    report = prove(loop_nest(algorithm, chosen), timeout_ms=1000, seconds=10.0)
    assert not report.refuted
    event("unknown" if report.unknown else "all proven")


@st.composite
def of_any_kind(draw: st.DrawFn, chosen: Schedule) -> Schedule:
    """A schedule whose loops are parallel at random, or vectorized if a split gives them a constant
    extent.
    """
    kinds = [LoopKind.SERIAL, LoopKind.PARALLEL]
    for func in chosen.funcs:
        for index, order in enumerate(func.stages):
            counted = {s.inner for s in order.splits if isinstance(s, Split)}
            loops = tuple(
                evolve(
                    loop,
                    kind=draw(
                        st.sampled_from([*kinds, *[LoopKind.VECTORIZED] * (loop.name in counted)])
                    ),
                )
                for loop in order.loops
            )
            chosen = chosen.with_stage(func.name, index, evolve(order, loops=loops))
    return chosen


@settings(max_examples=examples(15, fewest=6))
@given(st.data())
def test_random_legal_schedules_with_loops_that_run_at_once_are_proven(
    data: st.DataObject,
) -> None:
    algorithm = data.draw(stencil_pipelines(max_stages=2))
    chosen = data.draw(of_any_kind(data.draw(schedules(algorithm, kinds=False))))
    checked = verify(algorithm, chosen, device("cpu"))
    assume(isinstance(checked, CheckedSchedule))
    assert isinstance(checked, CheckedSchedule)
    report = prove(checked, timeout_ms=1000, seconds=10.0)
    assert not report.refuted
    event("unknown" if report.unknown else "all proven")


def histogram() -> Pipeline:
    """The number of occurrences of each byte, and the cumulative sum of these counts."""
    image = ImageParam(UInt8, 2, "input")
    r, s = RDom([(0, 64), (0, 48)], "r"), RDom([(1, 255)], "s")
    count, out = Func("count"), Func("out")
    count[X] = 0
    count[image[r.x, r.y]] += 1
    count[s.x] += count[s.x - 1]
    out[X, Y] = count[image[X, Y]]
    return pipeline(out)


def test_updates_at_coordinates_that_are_read_are_bounded_by_their_type() -> None:
    report = prove(nest_of(histogram()))
    assert report.proofs == report.proven
    statements = [p.obligation.statement for p in report.proofs]
    assert "count.update(0) writes count inside what is allocated of count." in statements


def test_shifts_by_what_loops_count_are_limited_by_their_loops() -> None:
    r, f, g, out = RDom([(0, 5)], "r"), Func("f"), Func("g"), Func("out")
    f[X] = ImageParam(Int32, 1, "input")[X]
    g[X] = 0
    g[X] += f[X + (1 << r.x)]
    out[X] = g[X]
    nest = nest_of(pipeline(out), lambda d: d.func("f").compute_root())
    report = prove(nest)
    assert report.proofs == report.proven
    statements = [p.obligation.statement for p in report.proofs]
    assert any("1 << " in statement for statement in statements)
    # From f(out.min + 1) to f(out.max + 16).
    assert evaluate(nest.placements["f"].required[0].max, {"out.min.0": 0, "out.extent.0": 9}) == 24


def test_what_depends_on_a_value_is_unknown_and_names_it() -> None:
    nest = nest_of(histogram(), lambda d: d.func("count").update(0).parallel("r.y"))
    report = prove(nest)
    assert not report.refuted
    reasons = {p.outcome for p in report.unknown}
    assert {r.expression for r in reasons if isinstance(r, Unknown)} == {
        "input(count.s1.r.x, count.s1.r.y)"
    }
    assert {p.obligation.kind for p in report.unknown} == {"race"}


def test_reads_at_clamped_values_are_bounded_by_the_clamp() -> None:
    image = ImageParam(Int32, 2, "input")
    f, out = Func("f"), Func("out")
    f[X] = X * X
    out[X, Y] = f[clamp(image[X, Y], 2, 9)] + f[X % 3] + f[Y / 2 - Y / 4]
    report = prove(nest_of(pipeline(out), lambda d: d.func("f").compute_root()))
    assert report.proofs == report.proven


def test_a_family_of_schedules_is_proven_for_every_factor() -> None:
    nest = nest_of(
        blur(),
        lambda d: d.split("y", "y", "yi", "rows").func("blurx").store_at("out", "y")
        .compute_at("out", "yi"),
    )  # fmt: skip
    report = prove(nest)
    assert not report.refuted
    unknown = {p.obligation.kind for p in report.unknown}
    assert unknown <= {"coverage"}
    assert {p.obligation.kind for p in report.proven} >= {"bounds", "sliding", "folding"}


def test_updates_that_keep_their_order_are_proven_in_any_order_of_the_other_loops() -> None:
    for loops in (("r.x", "x", "r.y", "y"), ("x", "r.x", "y", "r.y")):
        report = prove(nest_of(polynomial(), lambda d, loops=loops: d.update(0).reorder(*loops)))
        assert report.proofs == report.proven


def test_a_schedule_that_no_sizes_serve_is_not_proven() -> None:
    """Tiles of 4 in tiles of 3 always compute 6."""
    report = prove(
        nest_of(
            blur(),
            lambda d: d.split("x", "x", "xi", 4, "round_up").split("xi", "xi", "xj", 3, "round_up"),
        )
    )
    assert report.unknown == report.proofs
    reasons = {p.outcome.reason for p in report.unknown if isinstance(p.outcome, Unknown)}
    assert reasons == {"No sizes satisfy all that the schedule requires of them."}


def test_when_the_time_is_up_the_rest_is_unknown() -> None:
    report = prove(nest_of(blur()), seconds=0.0)
    assert report.unknown == report.proofs
    assert len(report.proofs) == len(obligations(nest_of(blur())))


def test_solver_time_is_told_apart() -> None:
    nest = nest_of(blur(), lambda d: d.func("blurx").store_root().compute_at("out", "y"))
    report = prove(nest)
    by_solver = [p for p in report.proven if p.outcome.by == "solver"]
    assert 0 < report.solver_seconds < report.seconds
    assert all((p.solver_seconds > 0) == (p in by_solver) for p in report.proofs)
    decider = Decider()
    assert [decider.decide(p.obligation) for p in report.proofs] == [
        p.outcome for p in report.proofs
    ]


def test_schedule_of_a_graph_for_a_gpu() -> None:
    directives = (
        schedule(blur()).gpu_tile("x", "y", "xi", "yi", 16, 8)
        .func("blurx").compute_at("out", "x").gpu_threads("x", "y")
    )  # fmt: skip
    report = prove(loop_nest(blur(), directives.schedule))
    assert report.proofs == report.proven
    loops = {p.obligation.statement.split(":")[0] for p in report.proofs}
    assert "Iterations of out.x (gpu_block)" in loops
    assert "Iterations of blurx.y (gpu_thread)" in loops


@pytest.mark.parametrize("as_verified", [True, False])
def test_a_scan_over_the_rows_of_an_image_stays_inside_the_output(as_verified: bool) -> None:
    """The output holds all rows of the image: a condition on the sizes of both."""
    image, filtered = ImageParam(Int32, 2, "input"), Func("filtered")
    rows = RDom([(1, image.height() - 1)], "rows")
    filtered[X, Y] = 0
    filtered[X, 0] = image[X, 0]
    filtered[X, rows] = filtered[X, rows.x - 1] * 3 + image[X, rows]
    algorithm = pipeline(filtered)
    columns = schedule(algorithm).update(1).split("x", "xo", "x", 8).reorder("x", rows, "xo")
    chosen = columns.vectorize("x").parallel("xo").schedule
    checked = verify(algorithm, chosen, device("cpu"))
    assert isinstance(checked, CheckedSchedule), str(checked)
    report = prove(checked if as_verified else loop_nest(algorithm, chosen))
    assert report.proofs == report.proven
    assert "bounds" in {p.obligation.kind for p in report.proofs}
