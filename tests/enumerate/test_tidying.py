"""The normal form of schedules: nothing in it does nothing, and it is the same schedule."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.registry import cost_model
from spaces.enumerate.search.events import Done, Found, Improved
from spaces.enumerate.search.handover import with_tidy_results
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.search.tidying import NestSizes, tidy_schedule
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Int32
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.backend.cpu_runs import check
from tests.cpus import FOUR_CORES
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")
IMAGE = ImageParam(Int32, 2, "image")


def _two_lines() -> Pipeline:
    g, f = Func("g"), Func("f")
    g[X, Y] = IMAGE[X, Y] * 2
    f[X, Y] = g[X, Y] + g[X, Y + 1]
    return pipeline(f, estimates={f: [256, 8]})


def _tidy(whole: Pipeline, schedule: Schedule, on=FOUR_CORES) -> Schedule:
    return tidy_schedule(whole, schedule, lambda one: verify(whole, one, on).legal)


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("f.split(x, xo, xi, 1);", "f"),
        ("f.split(x, x, xi, 1).vectorize(xi).parallel(y);", "f.parallel(y)"),
        ("f.split(y, yo, yi, 8).parallel(x);", "f.parallel(x)"),
        ("f.split(x, xo, xi, 2).fuse(xi, xo, xs);", "f"),
        ("f.split(x, xo, xi, 2).fuse(xi, xo, xs); g.compute_at(f, xs);", "f\ng.compute_at(f, x)"),
        (
            "f.split(x, xo, xi, 1).split(xo, xoo, v, 8).vectorize(v);",
            "f.split(x, xoo, v, 8).vectorize(v)",
        ),
        (
            "f.split(x, xo, xi, 1); g.compute_at(f, xo);",
            "f\ng.compute_at(f, x)",
        ),
        ("g.compute_root().align_bounds(x, 2);", "f\ng.compute_root()"),
        (
            "g.compute_root().align_bounds(y, 4);",
            "f\ng.compute_root().align_bounds(y, 4)",  # 12 lines instead of 9
        ),
        ("image.in();", "f"),
        ("image.in().compute_root();", "image.in().compute_root()\nf"),
        (
            "g.compute_root().split(x, xo, xi, 512, TailStrategy::GuardWithIf).parallel(y);",
            "f\ng.compute_root().parallel(y)",
        ),
        ("f.split(x, xo, xi, 8).vectorize(xi);", "f.split(x, xo, xi, 8).vectorize(xi)"),
    ],
)
def test_what_does_nothing_is_left_out(written: str, form: str) -> None:
    whole = _two_lines()
    schedule = parse_schedule(written, whole)
    assert verify(whole, schedule, FOUR_CORES).legal
    found = _tidy(whole, schedule)
    assert set(_lines(found, whole)) == set(_lines(parse_schedule(_text(form), whole), whole))
    assert _tidy(whole, found) == found


def _text(form: str) -> str:
    return "\n".join(f"{line};" for line in form.splitlines() if "." in line)


def _lines(schedule: Schedule, whole: Pipeline) -> list[str]:
    return format_schedule(schedule, whole).splitlines()


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("f.fuse(x, y, xy).parallel(xy)", "f.parallel(x)"),
        ("f.fuse(y, x, x).parallel(x)", "f.parallel(x)"),
        ("f.split(y, y, yi, 1).fuse(x, y, xy).parallel(xy)", "f.parallel(x)"),
        (
            "f.fuse(x, y, xy).split(xy, xo, xi, 8).parallel(xo)",  # a split takes the fused loop
            "f.fuse(x, y, xy).split(xy, xo, xi, 8).parallel(xo)",
        ),
    ],
)
def test_fuses_of_single_iterations_are_left_out(written: str, form: str) -> None:
    f = Func("f")
    f[X, Y] = X + Y
    whole = pipeline(f, estimates={f: [256, 1]})
    schedule = parse_schedule(written, whole)
    assert verify(whole, schedule, FOUR_CORES).legal
    assert _tidy(whole, schedule) == parse_schedule(form, whole)


@pytest.mark.parametrize(
    ("written", "is_idle"),
    [
        ("h.update(0).atomic();", True),
        ("h.update(0).atomic().fuse(r.x, r.y, t);", True),
        ("h.update(0).atomic().reorder(r.y, r.x, x).parallel(x);", True),
        ("h.update(0).atomic().reorder(x, r.x, r.y).vectorize(x, 8);", True),
        ("h.update(0).atomic().parallel(r.y);", False),
    ],
)
def test_idle_atomic_is_left_out(written: str, is_idle: bool) -> None:
    """Only iterations over the terms change the same element."""
    h, r = Func("h"), RDom([(0, 16), (0, 16)], "r")
    h[X] = 0
    h[X] += IMAGE[r.x + X, r.y]
    whole = pipeline(h, estimates={h: [64]})
    schedule = parse_schedule(written, whole)
    assert verify(whole, schedule, FOUR_CORES).legal
    form = format_schedule(_tidy(whole, schedule), whole)
    assert ("atomic" not in form) == is_idle


@settings(max_examples=examples(25, fewest=5), deadline=None)
@given(seed=st.integers(0, 10_000), preset=st.sampled_from(["medium", "expert", "everything"]))
def test_the_normal_form_is_the_same_schedule(seed: int, preset: str) -> None:
    whole = _two_lines()
    space = ScheduleSpace(whole, FOUR_CORES, getattr(Options, preset)(FOUR_CORES))
    (schedule,) = space.sample(1, seed)
    form = _tidy(whole, schedule)
    assert verify(whole, form, FOUR_CORES).legal
    assert NestSizes.of(whole, form).has_no_more_than(NestSizes.of(whole, schedule))
    model = cost_model("reuse", FOUR_CORES)
    before, after = (float(model.cost(Batch.of(whole, one))) for one in (schedule, form))
    if NestSizes.of(whole, form) == NestSizes.of(whole, schedule):
        # To start the threads of a parallel loop of one iteration costs time.
        assert after <= before * (1 + 1e-9)
    check(whole, form, {"f": [(0, 256), (0, 8)]}, least=(256, 9))


@pytest.mark.parametrize("strategy", ["stagewise", "random", "annealing", "exhaustive"])
def test_results_are_in_their_normal_form(strategy: str) -> None:
    whole = _two_lines()
    space, model = ScheduleSpace(whole, FOUR_CORES), cost_model("reuse", FOUR_CORES)
    found = best(search(space, strategy=strategy, limits=Limits(top=3, structures=12))).best
    for one in found:
        assert one.schedule in space
        text = format_schedule(one.schedule, whole)
        form = _tidy(whole, one.schedule)
        if form != one.schedule and form in space:
            assert float(model.cost(Batch.of(whole, form))) > one.cost, text


def test_of_tails_that_are_equal_at_the_estimates_one_is_handed_over() -> None:
    space = ScheduleSpace(_two_lines(), FOUR_CORES)
    texts = [f"f.split(x, xo, xi, 8, {tail}).vectorize(xi);" for tail in ("RoundUp", "GuardWithIf")]
    same = tuple(Found(1.0, parse_schedule(text, space.pipeline)) for text in texts)
    model = cost_model("reuse", FOUR_CORES)
    events = iter([Done(same, 0, 0, True)])
    (last,) = (one for one in with_tidy_results(space, model, Limits(top=2), events))
    assert isinstance(last, Done)
    assert last.best == same[:1]


def test_a_normal_form_that_costs_less_is_told_as_an_improvement() -> None:
    space = ScheduleSpace(_two_lines(), FOUR_CORES)
    model = cost_model("reuse", FOUR_CORES)
    found = Found(1e30, parse_schedule("f.split(x, xo, xi, 1);", space.pipeline))
    events = iter([Done((found,), 0, 0, True)])
    improved, last = with_tidy_results(space, model, Limits(), events)
    assert isinstance(improved, Improved)
    assert isinstance(last, Done)
    assert last.best == (improved.best,)
    assert improved.best.schedule == Schedule.default(space.pipeline)
    assert improved.best.cost == float(model.cost(Batch.of(space.pipeline, improved.best.schedule)))


def test_the_length_of_a_reduction_may_be_a_parameter():
    count = Param(Int32, "count", 8)
    taps = RDom([(0, count)], "taps")
    total, f = Func("total"), Func("f")
    total[X] = 0
    total[X] += IMAGE[X + taps.x, 0]
    f[X] = total[X] * 2
    whole = pipeline(f, estimates={f: [64], IMAGE: [80, 1]})
    # The default of the parameter is the size for which the schedule is chosen.
    written = parse_schedule("total.split(x, xo, xi, 1).parallel(xo)", whole)
    assert format_schedule(_tidy(whole, written), whole) == "total.parallel(x)"
