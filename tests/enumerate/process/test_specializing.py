"""Specializations that a space decides: for which conditions, with which loops."""

from __future__ import annotations

import random

import pytest
from attrs import evolve

import spaces
from spaces import Options, ScheduleSpace
from spaces.enumerate.space.process.legality import may_become_legal
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.specializing import offered_conditions
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.functions import select
from spaces.model.expressions.types import Bool, Float32, UInt8
from spaces.model.writing.serialize import from_json, to_json
from tests.cpus import WIDE_VECTORS
from tests.draw_counts import examples
from tests.enumerate.pipelines import blur, row_sums, switched

CPU, SM80 = WIDE_VECTORS, spaces.device("sm_80")


def brightened(width: int = 64) -> Pipeline:
    """Two stages that two parameters change."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "input")
    dark, gain = Param(Bool, "dark"), Param(Float32, "gain", 1.0)
    doubled, out = Func("doubled"), Func("out")
    doubled[x, y] = select(dark, image[x, y] * 2, image[x, y])
    out[x, y] = select((gain > 0.5) & (x > 3), doubled[x, y] + 1, doubled[x, y])
    return pipeline(out, estimates={out: [width, 32], image: [width, 32]})


def everything(algorithm: Pipeline, device: spaces.Device = CPU) -> ScheduleSpace:
    return ScheduleSpace(algorithm, device, Options.everything(device))


def shown(conditions: tuple[Expr, ...]) -> list[str]:
    return [str(condition) for condition in conditions]


def test_the_conditions_that_a_pipeline_offers() -> None:
    """Not ``x > 3``, which no call knows."""
    ours = ["dark", "gain > 0.5"]
    assert shown(offered_conditions(brightened(), CPU)) == [*ours, "out.extent.0 % 64 == 0"]
    assert shown(offered_conditions(brightened(), SM80)) == [*ours, "out.extent.0 % 32 == 0"]


def after_each_func(space: ScheduleSpace, schedule: spaces.Schedule) -> list[ProcessState]:
    """The states on the way to a schedule after each Func, with the numbers of the schedule."""
    *way, last = space.way_to(schedule)
    found = [one.state for one in way if one.state.draft is None and one.state.entries]
    return [evolve(state, numbers=last.state.numbers) for state in found]


HAND = {
    "a case with vectors": (
        "out.specialize(dark).split(x, x, x_i, 8).vectorize(x_i)\nout.parallel(y)\n"
        "doubled.compute_at(out, y)"
    ),
    "cases in their order": (
        "out.specialize(gain > 0.5).vectorize(x, 8)\nout.specialize(dark).parallel(y)\n"
        "doubled.compute_root().specialize(dark).reorder(y, x)"
    ),
    "whole registers": (
        "out.specialize(out.dim(0).extent() % 64 == 0)"
        ".vectorize(x, 64, TailStrategy::RoundUp).parallel(y)"
    ),
}


@pytest.mark.parametrize("text", HAND.values(), ids=HAND)
def test_a_hand_schedule_with_specializations_is_in_everything(text: str) -> None:
    space = everything(brightened())
    hand = spaces.parse_schedule(text, space.pipeline)
    last = space.way_to(hand)[-1]
    assert spaces.same_schedule(space.pipeline, last.schedule, hand)
    assert hand in space
    assert from_json(to_json(last.schedule), spaces.Schedule) == last.schedule
    assert from_json(to_json(space), ScheduleSpace).resume(last.taken).schedule == last.schedule


def test_an_order_of_tests_that_is_another() -> None:
    space = everything(brightened())
    first, second = (
        spaces.parse_schedule(text, space.pipeline)
        for text in (
            "out.specialize(dark).parallel(y)\nout.specialize(gain > 0.5).vectorize(x, 8)",
            "out.specialize(gain > 0.5).vectorize(x, 8)\nout.specialize(dark).parallel(y)",
        )
    )
    assert space.way_to(first)[-1].taken != space.way_to(second)[-1].taken


def test_only_everything_specializes() -> None:
    algorithm = brightened()
    hand = spaces.parse_schedule(HAND["a case with vectors"], algorithm)
    with pytest.raises(ValueError, match="'out case 0 factor x' is absent and not 8"):
        ScheduleSpace(algorithm, CPU, Options.expert(CPU)).way_to(hand)


@pytest.mark.parametrize("algorithm", [brightened(), row_sums()], ids=["selects", "an update"])
def test_specialized_draws_are_found_again(algorithm: Pipeline) -> None:
    space = everything(algorithm)
    stages: set[int] = set()
    for seed in range(examples(12, fewest=5)):
        made = space.start().at_random(random.Random(seed))
        stages |= {len({c.stage for c in entry.specializations}) for entry in made.schedule.funcs}
        assert space.way_to(made.schedule)[-1].taken == made.taken
    assert max(stages) == max(len(function.stages) for function in algorithm.functions)


def test_a_producer_may_cure_what_its_consumers_lack() -> None:
    """In each case of ``first`` the divisor is positive, so 64 values of ``second`` suffice. In the
    cases together they seem to be 127.
    """
    algorithm = switched()
    space = evolve(everything(algorithm), options=evolve(Options.everything(CPU), folds=(64,)))
    text = "second.compute_root().bound_storage(x, 64)\nfirst.compute_root()"
    assert not spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), CPU)
    cured = spaces.parse_schedule(f"{text}.specialize(sign >= 0).parallel(x)", algorithm)
    assert cured in space
    assert all(map(may_become_legal, after_each_func(space, cured)))


def test_the_estimates_count_in_the_cases_that_they_select() -> None:
    """At a width of 12 no row has a whole register."""
    space = everything(brightened(width=12))
    text = "out.specialize(out.dim(0).extent() % 64 == 0).vectorize(x, 16)\ndoubled.compute_root()"
    wide = spaces.parse_schedule(text, space.pipeline)
    assert wide in space
    assert all(map(may_become_legal, after_each_func(space, wide)))
    narrow = spaces.parse_schedule(text.replace("% 64", "% 4"), space.pipeline)
    assert not spaces.verify(space.pipeline, narrow, CPU)


def test_a_case_of_its_own_may_leave_nothing_legal() -> None:
    """A dimension of unknown extent is vectorized whole in one case only."""
    space = everything(blur())
    hand = spaces.parse_schedule(
        "blur_y.specialize(blur_y.dim(0).extent() % 32 == 0).vectorize(x)\nblur_x.compute_root()",
        space.pipeline,
    )
    (decided,) = (p for p in space.way_to(hand) if len(p.state.entries) == 1 and not p.state.draft)
    assert not decided.can_be_legal
