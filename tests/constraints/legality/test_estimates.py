"""Estimates that no schedule can meet: reported once, with advice, and never searched."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaces import (
    EmptySpaceError,
    Func,
    ImageParam,
    Int32,
    Options,
    Param,
    Pipeline,
    RDom,
    ScheduleSpace,
    UInt8,
    UInt16,
    Var,
    cast,
    complete,
    device,
    explain_empty,
    from_json,
    legal_mask,
    pipeline,
    repair,
    require,
    schedule,
    to_json,
    universe,
    verify,
    verify_rest,
)
from spaces.constraints.legality.judge import ask_bounds, bounds_of, judge
from spaces.constraints.rules.estimates import shortages
from spaces.constraints.solver.emptiness import explain_empty as explain_universe
from spaces.constraints.solver.universe import Universe
from spaces.model.algorithm.pipeline import Estimate
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Call
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.needed import needed_ranges
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import DocumentError
from tests.draw_counts import examples
from tests.drawn_pipelines import schedules, stencil_pipelines
from tests.small_space import small_space

CPU = device("cpu")
X, Y, C = Var("x"), Var("y"), Var("c")


def blur(image_size: Sequence[int | tuple[int, int]]) -> Pipeline:
    """A blur of 3x3 pixels, 64 x 48."""
    image, g, f = ImageParam(UInt16, 2, "im"), Func("g"), Func("f")
    g[X, Y] = image[X - 1, Y] + image[X, Y] + image[X + 1, Y]
    f[X, Y] = g[X, Y - 1] + g[X, Y] + g[X, Y + 1]
    return pipeline(f, estimates={f: [64, 48], image: image_size})


SMALL = blur([64, 48])
TOLD = (
    "bounds.impossible-estimates: No schedule can meet the known sizes of f: image im "
    "holds 0 to 63 in dimension 0, but -1 to 64 is needed, holds 0 to 47 in dimension 1, but "
    "-1 to 48 is needed (g reads it). Estimate im as [(-1, 66), (-1, 50)]; or estimate smaller "
    "outputs; or read im through a boundary condition."
)


def test_an_image_that_is_too_small_is_one_violation():
    for directives in (schedule(SMALL), schedule(SMALL).func("g").compute_at("f", "y")):
        (violation,) = verify(SMALL, directives.schedule, CPU).violations
        assert str(violation) == TOLD
    assert [str(v) for v in verify_rest(SMALL, Schedule.default(SMALL), CPU, ())] == [TOLD]
    mended = blur([(-1, 66), (-1, 50)])
    assert verify(mended, Schedule.default(mended), CPU)


def test_what_a_schedule_adds_is_told_beside():
    tiles = schedule(SMALL).split("x", "x", "xi", 48, "round_up").parallel("y")
    rules = [v.rule for v in verify(SMALL, tiles.schedule, CPU).violations]
    assert rules[0] == "bounds.impossible-estimates"
    # Whole tiles reach column 95 of the output, and so 96 of the image.
    assert set(rules[1:]) == {"bounds.output-overrun", "bounds.image-overrun"}


def test_everything_says_so_at_once():
    with pytest.raises(EmptySpaceError) as told:
        small_space(SMALL, CPU)
    assert str(told.value) == f"No schedule of f is legal on cpu.\n{TOLD}"
    with pytest.raises(EmptySpaceError, match="image im holds 0 to 63"):
        complete(SMALL, Schedule(()), CPU)
    found = repair(SMALL, Schedule.default(SMALL), CPU)
    assert found.answer == "none"
    assert found.left == (TOLD,)
    one = Universe(SMALL, (), lambda _: Schedule.default(SMALL))
    why = explain_universe(one, CPU)
    assert why.answer == "empty"
    assert [label.rule for label in why.rules] == ["bounds.impossible-estimates"]
    assert not legal_mask(SMALL, Schedule.default(SMALL), CPU, {}).any()


def test_a_requirement_that_kernels_cannot_check_empties_a_space():
    image, f = ImageParam(UInt8, 1, "im"), Func("f")
    f[X] = require(image[X] < 200, image[X])
    algorithm = pipeline(f, estimates={f: [64], image: [64]})
    with pytest.raises(EmptySpaceError, match="kernels on sm_80 cannot stop"):
        small_space(algorithm, device("sm_80"))
    assert small_space(algorithm, CPU).sample(1)


def two_outputs() -> Pipeline:
    f, g = Func("f"), Func("g")
    g[X] = cast(Int32, X)
    f[X] = g[X - 1] + g[X + 1]
    return pipeline([f, g], estimates={f: [64], g: [64]})


def overfull() -> Pipeline:
    f, r = Func("f"), RDom([(0, 100)], "r")
    f[X] = 0
    f[r] += 1
    return pipeline(f, estimates={f: [50]})


def overwritten() -> Pipeline:
    f, r = Func("f"), RDom([(-1, 4)], "r")
    f[X] = 0
    f[r] = 7
    return pipeline(f, estimates={f: [50]})


def bounded() -> Pipeline:
    image, f = ImageParam(UInt16, 1, "im"), Func("f")
    image.dim(0).set_bounds(0, 10)
    f[X] = image[X - 1] + image[X + 1]
    f.output_buffer().dim(0).set_bounds(0, 10)
    return pipeline(f)


def mirrored() -> Pipeline:
    image, f = ImageParam(UInt16, 2, "im"), Func("f")
    f[X, Y] = image[Y, 3 * X - 1] + image[-X, Y]
    return pipeline(f, estimates={f: [8, 4], image: [(-7, 11), 23]})


def summed() -> Pipeline:
    image, f, r = ImageParam(UInt16, 1, "im"), Func("f"), RDom([(-2, 20)], "r")
    r.where(r.x >= 0)
    f[X] = cast(UInt16, 0)
    f[X] += image[X + r.x]
    return pipeline(f, estimates={f: [8], image: [24]})


@pytest.mark.parametrize(
    ("algorithm", "told"),
    [
        (two_outputs, "output g holds 0 to 63 along x, but -1 to 64 is needed (f reads it). "
                      "Estimate g as [(-1, 66)]; or let what needs it ask for less."),
        (overfull, "output f holds 0 to 49 along x, but 0 to 99 is needed (its updates reach "
                   "there). Estimate f as [100];"),
        (overwritten, "output f holds 0 to 49 along x, but -1 to 49 is needed (its updates reach "
                      "there). Estimate f as [(-1, 51)];"),
        (bounded, "image im holds 0 to 9 in dimension 0, but -1 to 10 is needed (f reads it). "
                  "Let the definition of im give (-1, 12) in dimension 0;"),
        (mirrored, "image im holds 0 to 22 in dimension 1, but -1 to 20 is needed (f reads it). "
                   "Estimate im as [(-7, 11), (-1, 24)];"),
        (summed, "image im holds 0 to 23 in dimension 0, but 0 to 24 is needed (f reads it)."),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_sizes_that_contradict_what_is_read(algorithm, told: str):
    subject = algorithm()
    (violation,) = verify(subject, Schedule.default(subject), CPU).violations
    assert told in str(violation)


def strided() -> None:
    f = Func("f")
    f[X, Y, C] = cast(UInt8, X + Y + C)
    f.output_buffer().dim(0).set_stride(3)
    f.output_buffer().dim(2).set_stride(1)
    pipeline(f, estimates={f: [64, 48, 4]})


def parameter() -> tuple[Param, Func]:
    p, f = Param(Int32, "p"), Func("f")
    f[X] = X + p
    return p, f


def required() -> None:
    p, f = parameter()
    pipeline(f, requirements=[(p > 5, "p is large."), (p < 3, "p is small.")])


def out_of_range() -> None:
    p, f = parameter()
    p.set_range(5, 9)
    pipeline(f, requirements=[(p * 2 > 18, "p is large.")])


def required_of_estimates() -> None:
    image, f = ImageParam(UInt16, 1, "im"), Func("f")
    p = Param(Int32, "p")
    f[X] = require(p > image.dim(0).extent(), image[X] + cast(UInt16, p), "p is large.")
    pipeline(f, estimates={image: [10], f: [10]}, requirements=[(p < 10, "p is small.")])


def never() -> None:
    f = Func("f")
    f[X] = X
    extent = f.output_buffer().dim(0).extent()
    pipeline(f, requirements=[(extent != extent, "The extent is another.")])


def sized(*size: int | tuple[int, int]) -> None:
    f = Func("f")
    f[(X, Y, C)[: len(size)]] = cast(UInt16, X)
    pipeline(f, estimates={f: size})


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (strided, "The strides of f, 3 in dimension 0 and 1 in dimension 2, put different elements "
                  "at one address: the estimate has 64 x 4 elements."),
        (required, r"`p > 5` \(p is large.\); `p < 3` \(p is small.\)"),
        (out_of_range, r"`p <= 9` \(Parameter p must be between 5 and 9.*`p \* 2 > 18`"),
        (required_of_estimates, "together where im.extent.0 is 10, as estimated:"),
        (never, "The extent is another"),
        (lambda: sized(0), "extent of dimension 0 of f is 0; it must be at least 1"),
        (lambda: sized(4, -3), "extent of dimension 1 of f is -3; it must be at least 1"),
        (lambda: sized(2**31), "dimension 0 of f is 2147483648 values from 0 on; coordinates"),
        (lambda: sized((2**31 - 5, 6)), "dimension 0 of f is 6 values from 2147483643 on"),
        (lambda: sized(2**16, 2**16, 2**15), "which take 281474976710656 bytes; a process can"),
        (lambda: Param(Int32, "p", lowest=5, highest=3), "Param p must lie between 5 and 3"),
    ],
)  # fmt: skip
def test_what_no_call_can_have_is_no_pipeline(build, told: str):
    with pytest.raises(DefinitionError, match=told):
        build()


def test_strides_with_a_common_divisor_meet_sooner():
    f = Func("f")
    f[X, Y] = cast(UInt8, X + Y)
    f.output_buffer().dim(0).set_stride(4)
    f.output_buffer().dim(1).set_stride(6)
    with pytest.raises(DefinitionError, match="4 in dimension 0 and 6 in dimension 1, put"):
        pipeline(f, estimates={f: [4, 3]})
    pipeline(f, estimates={f: [3, 3]})
    pipeline(f, estimates={f: [9, 2]})


def test_what_just_fits_is_a_pipeline():
    sized((2**31 - 5, 5))
    sized(2**16, 2**16, 2**14)
    f = Func("f")
    f[X, Y, C] = cast(UInt8, X + Y + C)
    f.output_buffer().dim(0).set_stride(4)
    f.output_buffer().dim(2).set_stride(1)
    pipeline(f, estimates={f: [64, 48, 4]})


def test_documents_are_asked_the_same():
    wrong = attrs.evolve(SMALL, estimates=(Estimate("f", ((2**31 - 1, 2), (0, 1))),))
    with pytest.raises(DocumentError, match="2 values from 2147483647 on"):
        from_json(to_json(wrong), Pipeline)


def test_a_space_without_anything_legal_ends_with_a_sentence():
    f, g = Func("f"), Func("g")
    f[X, Y] = cast(Int32, X + Y)
    g[X, Y] = f[X, Y] + f[X, Y + 1]
    algorithm = pipeline(g, estimates={g: [64, 64]})
    gpu = device("sm_80")
    few = {"row_tiles": (64,), "tiles": (16,), "placements": ("at",), "inner": ("threads",)}
    space = ScheduleSpace(algorithm, gpu, attrs.evolve(Options.small(gpu), **few))
    assert space.count() == 0
    with pytest.raises(
        EmptySpaceError, match=r"only 0 are legal; what most .* break is \w+\.[\w-]"
    ):
        space.sample(3, attempts=20)
    assert explain_empty(space).answer == "empty"
    assert universe(space).decisions


def all_points(algorithm: Pipeline, outputs: dict[str, list[tuple[int, int]]]) -> dict:
    """Every coordinate that is needed, found one point at a time."""
    points: dict[str, set[tuple[int, ...]]] = {}
    for name, ranges in outputs.items():
        spans = [range(low, low + extent) for low, extent in ranges]
        points[name] = set(itertools.product(*spans))
    for function in reversed(algorithm.functions):
        (stage,) = function.stages
        for at in points.get(function.name, ()):
            values = dict(zip(function.args, at, strict=True))
            for call in stage.calls:
                assert isinstance(call, Call)
                place = tuple(evaluate(arg, values) for arg in call.args)
                points.setdefault(call.target, set()).add(place)
    return {
        name: tuple((min(column), max(column)) for column in zip(*places, strict=True))
        for name, places in points.items()
    }


limits = st.tuples(st.integers(-3, 3), st.integers(1, 6))


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(stencil_pipelines(), limits, limits)
def test_corners_suffice_for_stencils(algorithm: Pipeline, columns, rows):
    (output,) = algorithm.outputs
    sized = attrs.evolve(algorithm, estimates=(Estimate(output, (columns, rows)),))
    wanted = all_points(sized, {output: [columns, rows]})
    found = needed_ranges(sized, sized.sizes())
    assert found == {name: wanted[name] for name in found}
    assert "input" in found


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_is_impossible_is_so_for_every_schedule(data: st.DataObject):
    algorithm = data.draw(stencil_pipelines())
    estimates = (
        Estimate(algorithm.outputs[0], (data.draw(limits), data.draw(limits))),
        Estimate("input", tuple(
            (data.draw(st.integers(-12, 0)), data.draw(st.integers(1, 40))) for _ in range(2)
        )),
    )  # fmt: skip
    sized = attrs.evolve(algorithm, estimates=estimates)
    plan = data.draw(schedules(sized))
    bounds = bounds_of(sized, plan)
    assert isinstance(bounds, Bounds)
    rules = judge(ask_bounds(bounds, CPU, bounds.placements), sized.sizes()).violations
    overruns = [v for v in rules if v.rule == "bounds.image-overrun"]
    if shortages(sized):
        assert overruns
    elif plan == Schedule.default(sized):
        assert not overruns
