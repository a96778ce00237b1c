"""Conditions on sizes are simple and the weakest possible, and every call that runs meets them."""

import functools

import attrs
import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import Schedule, device, parse_schedule, size_preconditions, verify
from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate as reference
from spaces.constraints.examples import algorithms
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.algorithm.boundary import repeat_edge
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Estimate, Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.expr import cast
from spaces.model.expressions.functions import clamp
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.formulas.smt import condition
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")
BLUR = algorithms.blur()
D = schedule(BLUR)


def _histogram() -> Pipeline:
    image, i = ImageParam(UInt8, 1, "input"), Var("i")
    counts, r = Func("counts"), RDom([(0, 20)], "r")
    counts[i] = cast(Int32, 0)
    counts[cast(Int32, image[r.x])] += 1
    return pipeline(counts)


def _clamped() -> Pipeline:
    image, out = ImageParam(UInt8, 1, "input"), Func("out")
    out[X] = repeat_edge(image)[X - 1] + image[X + 1] + image[clamp(X, 2, 9)]
    return pipeline(out)


HISTOGRAM, CLAMPED = _histogram(), _clamped()

CASES: dict[str, tuple[Pipeline, Directives, str]] = {
    "default": (BLUR, D, "cpu"),
    "strips": (BLUR, D.split("y", "y", "yi", 5).parallel("y"), "cpu"),
    "twice": (BLUR, D.split("x", "x", "xi", 6).split("xi", "xi", "xv", 4), "cpu"),
    "rounded": (BLUR, D.split("x", "x", "xi", 8, "round_up").vectorize("xi"), "cpu"),
    "rounded twice": (
        BLUR,
        D.split("x", "x", "xi", 4, "round_up").split("y", "y", "yi", 3, "round_up"),
        "cpu",
    ),
    "sliding": (
        BLUR,
        D.split("y", "y", "yi", 4).func("bx").store_at("by", "y").compute_at("by", "yi"),
        "cpu",
    ),
    "producer in rounded vectors": (
        BLUR,
        D.split("x", "x", "xi", 6).func("bx").compute_at("by", "x").vectorize("x", 4),
        "cpu",
    ),
    "kernel": (BLUR, D.gpu_tile("x", "y", "xi", "yi", 4, 2), "sm_80"),
    "histogram": (HISTOGRAM, schedule(HISTOGRAM), "cpu"),
    "clamped": (CLAMPED, schedule(CLAMPED).split("x", "x", "xi", 3), "cpu"),
}
by_case = pytest.mark.parametrize("case", CASES)


@functools.cache
def checked(case: str) -> CheckedSchedule:
    pipe, directives, on = CASES[case]
    verdict = verify(pipe, directives.schedule, device(on))
    assert isinstance(verdict, CheckedSchedule), verdict
    return verdict


def texts(subject: CheckedSchedule) -> list[str]:
    return [str(p.condition) for p in size_preconditions(subject)]


def test_conditions_are_what_a_person_would_write():
    image = [
        "by.min.0 >= input.min.0",
        "input.extent.0 + input.min.0 >= by.extent.0 + by.min.0 + 2",
        "by.min.1 >= input.min.1",
        "input.extent.1 + input.min.1 >= by.extent.1 + by.min.1 + 2",
    ]
    assert texts(checked("default")) == image
    assert texts(checked("strips")) == ["by.extent.1 >= 5", *image]
    assert texts(checked("rounded")) == ["by.extent.0 % 8 == 0", *image]
    # A block of 4 x 2 values: at most 65535 of them along y, and any number along x.
    tiles = ["by.extent.0 >= 4", "by.extent.1 >= 2"]
    assert texts(checked("kernel")) == [*tiles, *image, "by.extent.1 <= 131070"]
    wanted = ["counts.min.0 <= 0", "counts.extent.0 + counts.min.0 >= 256"]
    assert texts(checked("histogram"))[:2] == wanted


def test_words_name_the_buffer_and_the_dimension():
    words = [p.words for p in size_preconditions(checked("rounded"))]
    assert words[:2] == [
        "by must have an extent along x of a multiple of 8",
        "image input must hold all that is read of it in dimension 0",
    ]
    assert size_preconditions(checked("strips"))[0].json() == {
        "condition": "by.extent.1 >= 5",
        "words": "by must have an extent along y of at least 5",
        "rule": "bounds.smaller-than-tile",
        "func": "by",
    }


@by_case
def test_simple_conditions_are_those_of_the_rules_and_none_follows_from_the_others(case: str):
    subject = checked(case)
    simple = [p.condition for p in size_preconditions(subject)]
    given_ = [r.condition for r in subject.size_conditions]
    names = {n for c in (*simple, *given_) for n in variables(c)}
    terms = {n: z3.Int(n) for n in names}
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.add(*(z3.And(t >= 1, t < 2**31) for n, t in terms.items() if ".extent." in n))
    before = z3.And(*(condition(c, terms, z3.main_ctx()) for c in given_))
    after = [condition(c, terms, z3.main_ctx()) for c in simple]
    assert solver.check(before != z3.And(*after)) == z3.unsat
    for one in after:
        others = [c for c in after if c is not one]
        assert solver.check(z3.And(*others), z3.Not(one)) == z3.sat


@by_case
def test_size_conditions_are_about_sizes(case: str):
    assert all(variables(r.condition) for r in checked(case).size_conditions)


def at_sizes(pipe: Pipeline, ranges: dict[str, tuple[tuple[int, int], ...]]) -> Pipeline:
    return attrs.evolve(pipe, estimates=tuple(Estimate(b, r) for b, r in ranges.items()))


@st.composite
def ranges_of(draw: st.DrawFn, pipe: Pipeline) -> dict[str, tuple[tuple[int, int], ...]]:
    """Sizes near the limits: many fit, and many almost fit."""
    found = {}
    for name in pipe.outputs:
        dimensions = len(pipe.function(name).args)
        longest = 270 if name == "counts" else 26
        found[name] = tuple(
            (draw(st.integers(-2, 2)), draw(st.integers(1, longest))) for _ in range(dimensions)
        )
    for image in pipe.images:
        least = [found[pipe.outputs[0]][d] for d in range(image.dimensions)]
        found[image.name] = tuple(
            (low - draw(st.integers(-1, 2)), min(extent, 40) + draw(st.integers(1, 8)))
            for low, extent in least
        )
    return found


@by_case
@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_a_call_is_legal_at_its_sizes_or_refused(case: str, data: st.DataObject):
    pipe, directives, on = CASES[case]
    ranges = data.draw(ranges_of(pipe))
    sized = at_sizes(pipe, ranges)
    held = all(p.holds(sized.sizes()) for p in size_preconditions(checked(case)))
    # Weakest: where a condition does not hold, the schedule is illegal at these sizes.
    assert held == verify(sized, directives.schedule, device(on)).legal
    image = pipe.images[0]
    shape = tuple(extent for _, extent in reversed(ranges[image.name]))
    pixels = np.random.default_rng(len(shape)).integers(0, 19, shape).astype(image.type.dtype)
    if not held:
        with pytest.raises(SizeError, match=r"This needs .* but "):
            compiled(case).run({"input": pixels}, sizes=ranges)
        return
    result = compiled(case).run({"input": pixels}, sizes=ranges)
    expected = reference(pipe, {"input": pixels}, sizes=ranges)
    for name in pipe.outputs:
        np.testing.assert_array_equal(result[name], expected[name])


@functools.cache
def compiled(case: str):
    make = compile_cpu if CASES[case][2] == "cpu" else compile_gpu
    return make(checked(case))


def test_all_that_a_call_lacks_is_said_at_once():
    pixels = np.zeros((4, 30), np.uint16)
    with pytest.raises(SizeError) as refused:
        compiled("strips").run({"input": pixels}, sizes={"by": [30, 4]})
    lines = str(refused.value).splitlines()
    assert len(lines) == 3
    assert "at least 5 wide along y; it is 4." in lines[0]
    assert "This needs by.extent.1 >= 5, but by.extent.1 is 4." in lines[0]
    assert "Image input is read up to" in lines[1]


def test_an_output_too_small_for_its_updates_is_not_blamed_on_tails():
    pixels = np.zeros(20, np.uint8)
    with pytest.raises(SizeError) as refused:
        compiled("histogram").run({"input": pixels}, sizes={"counts": [100]})
    assert "its update stages write" in str(refused.value)


def test_an_array_to_write_to_begins_where_the_estimate_does():
    pipe = at_sizes(BLUR, {"by": ((3, 6), (2, 5)), "input": ((0, 12), (0, 12))})
    run = compile_cpu(verify(pipe, Schedule.default(pipe), device("cpu"))).run
    pixels = np.arange(144, dtype=np.uint16).reshape(12, 12)
    out = np.zeros((5, 6), np.uint16)
    run({"input": pixels}, out={"by": out})
    sizes = {"by": [(3, 6), (2, 5)]}
    np.testing.assert_array_equal(out, run({"input": pixels}, sizes=sizes)["by"])
    assert out[0, 0] == pixels[2:5, 3:6].mean()


def test_a_schedule_that_is_not_verified_is_answered_with_a_sentence():
    with pytest.raises(TypeError, match=r"what verify\(pipeline.* not Schedule"):
        size_preconditions(Schedule.default(BLUR))


def test_a_condition_on_sizes_is_printed_in_one_line():
    found = verify(BLUR, parse_schedule("by.split(x, xo, xi, 8)", BLUR), device("cpu"))
    assert isinstance(found, CheckedSchedule)
    shown = "<SizeCondition bounds.smaller-than-tile: by.extent.0 - 8 >= 0>"
    assert repr(found.size_conditions[0]) == shown
