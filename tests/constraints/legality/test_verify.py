"""Verdicts on schedules as people write them, with their messages."""

import json
from contextlib import suppress
from typing import Any

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import OrderError, device, loop_nest, prove, verify
from spaces.constraints.examples import algorithms
from spaces.constraints.legality.verdict import CheckedSchedule, Illegal
from spaces.constraints.rules.catalogue import NEST_RULES
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.types import UInt8
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.regions import UnboundedError
from spaces.model.schedules.derive import derived
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.draw_counts import examples
from tests.drawn_pipelines import schedules, stencil_pipelines
from tests.model.directives.random_directives import directive_sequences
from tests.model.pipelines import blur, box, diamond

CPU, SM75, SM80 = device("cpu"), device("sm_75"), device("sm_80")
BLUR = algorithms.blur(1536, 2560)


def rules(text: str, on: str = "cpu", pipeline: Pipeline = BLUR) -> set[str]:
    verdict = verify(pipeline, parse_schedule(text, pipeline), device(on))
    return {v.rule for v in verdict.violations}


LEGAL = {
    "the default": ("", "cpu"),
    "all at root": ("bx.compute_root()", "cpu"),
    "[S19] Fig. 1": (
        "by.tile(x, y, xo, yo, xi, yi, 256, 32).vectorize(xi, 8).parallel(yo)\n"
        "bx.compute_at(by, xo).vectorize(x, 8)",
        "cpu",
    ),
    "a sliding window": ("bx.store_root().compute_at(by, y)", "cpu"),
    "a sliding window in strips": (
        "by.split(y, y, yi, 32).parallel(y)\nbx.store_at(by, y).compute_at(by, yi)",
        "cpu",
    ),
    "a folded window": (
        "bx.store_root().compute_at(by, y).fold_storage(y, 4)",
        "cpu",
    ),
    "a fused parallel loop": (
        "by.tile(x, y, xi, yi, 64, 64).fuse(x, y, t).parallel(t)\nbx.compute_at(by, t)",
        "cpu",
    ),
    "lanes of their own bx": ("by.vectorize(x, 8)\nbx.compute_at(by, x_v)", "cpu"),
    "unrolled lines": (
        "by.unroll(y, 4)\nbx.store_at(by, y).compute_at(by, y_u)",
        "cpu",
    ),
    "one pixel a thread": ("by.gpu_tile(x, y, xi, yi, 32, 8)", "sm_75"),
    "a shared tile": (
        "by.gpu_tile(x, y, xi, yi, 32, 8)\nbx.compute_at(by, x).gpu_threads(x, y)",
        "sm_75",
    ),
    "two kernels": (
        "by.gpu_tile(x, y, xi, yi, 32, 8)\nbx.compute_root().gpu_tile(x, y, xi, yi, 16, 16)",
        "sm_75",
    ),
    "a kernel and a CPU stage": (
        "by.parallel(y)\nbx.compute_root().gpu_tile(x, y, xi, yi, 16, 16)",
        "sm_75",
    ),
    "no kernel at all": ("by.parallel(y)", "sm_75"),
}


@pytest.mark.parametrize("name", LEGAL)
def test_hand_schedules_are_legal(name: str):
    assert rules(*LEGAL[name]) == set()


ILLEGAL = {
    "a stage twice inside": (
        "by.vectorize(y)\nbx.compute_at(by, xo)",
        "cpu",
        {"call.compute-level", "kind.vector-extent"},
    ),
    "a fault of the records, and one of the nest of a Func that it does not touch": (
        "by.gpu_tile(x, y, xi, yi, 64, 32)\nbx.compute_at(by, xo)",
        "sm_75",
        {"call.compute-level", "gpu.threads-per-block"},
    ),
    "a fault of a consumer, and one of its producer's own records": (
        "by.vectorize(z)\nbx.compute_root().split(x, x, xi, 0)",
        "cpu",
        {"order.unknown-loop", "order.factor"},
    ),
    "nothing of the nest of a Func that a faulty one reads": (
        "by.split(x, x, xi, 0)\nbx.compute_root().vectorize(x)",
        "cpu",
        {"order.factor"},
    ),
    "nothing of images, which all Funcs decide": (
        "by.split(x, x, xi, 1000, TailStrategy::RoundUp)\nbx.compute_at(by, q)",
        "cpu",
        {"call.compute-level", "bounds.output-overrun"},
    ),
    "every fault of the records at once": (
        "by.split(x, xo, xi, 0).parallel(y)\nbx.store_root().compute_at(by, y).fold_storage(z, 2)",
        "cpu",
        {"order.factor", "race.shared-storage", "storage.fold-dimension"},
    ),
    "every fault of the nest at once": (
        "by.gpu_tile(x, y, xi, yi, 64, 32)\nbx.compute_root().unroll(x).vectorize(y)",
        "sm_75",
        {"gpu.threads-per-block", "kind.unroll-extent", "kind.vector-extent"},
    ),
    "blocks inside threads that are in no block": (
        "by.gpu_tile(x, y, xi, yi, 32, 8).reorder(x, y, xi, yi)",
        "sm_75",
        {"gpu.threads-outside-blocks", "gpu.blocks-inside-threads"},
    ),
    "storage outside lanes": (
        "by.vectorize(x, 8)\nbx.store_at(by, x).compute_at(by, x_v)",
        "cpu",
        {"race.shared-storage"},
    ),
    "storage outside threads": (
        "by.gpu_tile(x, y, xi, yi, 32, 8)\nbx.store_at(by, x).compute_at(by, xi)",
        "sm_75",
        {"race.shared-storage"},
    ),
    "storage outside blocks": (
        "by.gpu_tile(x, y, xi, yi, 32, 8)\nbx.store_root().compute_at(by, x)",
        "sm_75",
        {"race.shared-storage"},
    ),
    "an output as wide as a tile is not": (
        "by.split(x, x, xi, 2048)",
        "cpu",
        {"bounds.smaller-than-tile"},
    ),
    "whole tiles over the end": (
        "by.split(x, x, xi, 1000, TailStrategy::RoundUp)",
        "cpu",
        {"bounds.output-overrun", "bounds.image-overrun"},
    ),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_all_violations_are_found_at_once(name: str):
    text, on, expected = ILLEGAL[name]
    assert rules(text, on) == expected


def test_a_fault_of_a_consumer_is_not_told_again_of_its_producer():
    text = "by.split(x, x, xi, 8).reorder(y, xi, x).vectorize(xi).parallel(y)\nbx.compute_at(by, y)"
    found = verify(BLUR, parse_schedule(text, BLUR), CPU).violations
    assert [(v.rule, v.func) for v in found] == [("kind.inside-vectorized", "by")]


def test_a_missing_entry_does_not_hide_what_is_wrong_with_others():
    written = schedule(BLUR).split("x", "x", "xi", 0).func("bx").split("x", "x", "xi", 0).schedule
    only = Schedule(tuple(f for f in written.funcs if f.name == "by"))
    found = verify(BLUR, only, CPU).violations
    assert [(v.rule, v.func) for v in found] == [
        ("schedule.missing-func", "bx"),
        ("order.factor", "by"),
    ]
    at = schedule(BLUR).func("bx").compute_at("by", "yo").split("x", "x", "xi", 0).schedule
    found = verify(BLUR, Schedule((at.of("bx"),)), CPU).violations
    assert [(v.rule, v.func) for v in found] == [
        ("schedule.missing-func", "by"),
        ("order.factor", "bx"),
    ]
    stranger = Schedule((*written.funcs, evolve(written.of("bx"), name="bz")))
    found = verify(BLUR, stranger, CPU).violations
    assert [(v.rule, v.func) for v in found] == [
        ("schedule.unknown-func", "bz"),
        ("order.factor", "bx"),
        ("order.factor", "by"),
    ]


@settings(max_examples=examples(150))
@given(st.data(), st.sampled_from([blur(), box(), diamond()]), st.sampled_from([CPU, SM75]))
def test_what_is_wrong_beside_a_fault_stays_wrong_once_that_is_mended(data, pipeline, on):
    """A Func is mended by its default entry, and so is all that it reads."""
    written = data.draw(directive_sequences(pipeline, 8)).schedule
    found = verify(pipeline, written, on).violations
    about_nest = {r.id for r in NEST_RULES}
    beside = {(v.rule, v.func) for v in found if v.rule in about_nest}
    broken = {v.func for v in found if v.rule not in about_nest}
    mended = set(broken)
    whole = derived(pipeline, written)
    for function in reversed(whole.functions):
        if mended & set(whole.consumers(function.name)):
            mended.add(function.name)
    default = Schedule.default(whole)
    known = {f.name: f for f in default.funcs if f.name in mended}
    other = written.with_funcs(known.get(f.name, f) for f in written.funcs)
    left = verify(pipeline, other, on).violations
    assert beside <= {(v.rule, v.func) for v in left}
    assert not broken or not {f for _, f in beside} & mended


def only_violation(verdict):
    assert len(verdict.violations) == 1
    return verdict.violations[0]


def test_block_widened_by_a_stencil_is_explained():
    pipeline = algorithms.corner()
    s = schedule(pipeline).gpu_tile("x", "y", "xi", "yi", 32, 32)
    s = s.func("p").compute_at("q", "x").gpu_threads("x", "y")
    violation = only_violation(verify(pipeline, s.schedule, SM80))
    assert violation.rule == "gpu.threads-per-block"
    assert (violation.func, violation.stage, violation.loop) == ("q", 0, "x")
    assert violation.values["threads"] == 1089
    assert violation.values["limit"] == 1024
    assert "33 x 33 = 1089 threads a block" in violation.message
    assert "p must cover q's tile of 32 x 32 plus 1 along x and 1 along y" in violation.message
    assert (
        "sm_80 allows 1024 (compute capability 8.0, CUDA C++ Programming Guide)"
        in violation.message
    )


def test_levels_that_would_be_legal_are_listed():
    text = "by.split(y, y, yi, 4)\nbx.compute_at(by, yo)"
    violation = only_violation(verify(BLUR, parse_schedule(text, BLUR), CPU))
    assert violation.values["legal"] == "root, by.y, by.yi, by.x"
    assert violation.message == (
        "bx.compute_at(by, yo) does not enclose every use of bx (the readers are by): by has "
        "no loop yo, only y, yi, x. Levels that enclose them: root, by.y, by.yi, by.x."
    )


def test_a_loop_that_a_split_replaced_is_told():
    text = "by.split(y, yo, yi, 8)"
    s = schedule(BLUR, parse_schedule(text, BLUR)).parallel("y").schedule
    message = only_violation(verify(BLUR, s, CPU)).message
    assert message.startswith(
        "by.parallel(y) names y, which is no loop of by there (y has become yo and yi). "
    )


def test_numbers_at_the_estimates_are_said_to_be():
    text = "by.split(x, x, xi, 1000, TailStrategy::RoundUp)"
    verdict = verify(BLUR, parse_schedule(text, BLUR), CPU)
    overrun = next(v for v in verdict.violations if v.rule == "bounds.output-overrun")
    assert overrun.values["excess"] == 2000 - 1536
    assert overrun.message.endswith("(At the estimated sizes by.extent.0 = 1536.)")


def test_without_estimates_sizes_become_conditions():
    pipeline = algorithms.blur()
    text = "by.split(x, x, xi, 32, TailStrategy::RoundUp).split(y, y, yi, 8)"
    verdict = verify(pipeline, parse_schedule(text, pipeline), CPU)
    assert isinstance(verdict, CheckedSchedule)
    found = {r.rule: r for r in verdict.size_conditions}

    def holds(rule: str, width: int, height: int) -> bool:
        sizes = {"by.extent.0": width, "by.extent.1": height}
        return bool(evaluate(found[rule].condition, sizes))

    assert holds("bounds.output-overrun", 64, 100)
    assert not holds("bounds.output-overrun", 65, 100)
    assert holds("bounds.smaller-than-tile", 64, 8)
    assert not holds("bounds.smaller-than-tile", 64, 7)
    assert "at least 8 wide along y" in found["bounds.smaller-than-tile"].message


def test_verdict_is_a_record_with_a_truth_value_and_json():
    legal = verify(BLUR, Schedule.default(BLUR), CPU)
    assert legal
    assert legal.legal
    told = {"legal": True, "violations": [], "advice": [], "exact": True, "rounding": []}
    assert legal.json() == told
    with pytest.raises(FrozenInstanceError):
        legal.schedule = None
    illegal = verify(BLUR, schedule(BLUR).split("x", "x", "xi", 0).schedule, CPU)
    assert not illegal
    assert not illegal.legal
    assert isinstance(illegal, Illegal)
    told = json.loads(json.dumps(illegal.json()))
    assert told["legal"] is False
    assert set(told["violations"][0]) == {"rule", "func", "stage", "loop", "message", "values"}
    assert told["violations"][0]["values"]["factor"] == 0
    assert str(illegal).startswith(
        "order.factor: by.split(x, x, xi, 0) splits loop x by 0. A factor is at least 1"
    )


@pytest.mark.parametrize(
    ("text", "on", "advice"),
    [
        ("by.parallel(y)", "sm_75", ["advice.no-kernel"]),
        ("by.parallel(y)", "cpu", []),
        ("by.gpu_tile(x, y, xi, yi, 32, 8)", "sm_75", []),
        ("bx.vectorize(x, 8)", "cpu", ["advice.inlined-order"]),
        ("bx.vectorize(x, 8).compute_root()", "cpu", []),
        ("bx.store_in(MemoryType::Heap)", "cpu", ["advice.inlined-storage"]),
        ("bx.fold_storage(y, 4)", "cpu", ["advice.inlined-storage"]),
        ("bx.fold_storage(y, 4).store_root().compute_at(by, y)", "cpu", []),
    ],
)
def test_what_has_no_effect_is_said_apart(text: str, on: str, advice: list[str]):
    verdict = verify(BLUR, parse_schedule(text, BLUR), device(on))
    assert isinstance(verdict, CheckedSchedule)
    assert [a.rule for a in verdict.advice] == advice


@settings(max_examples=examples(100))
@given(st.data(), st.sampled_from([blur(), box(), diamond()]), st.sampled_from([CPU, SM75]))
def test_anything_that_can_be_written_gets_a_verdict(data, pipeline, on):
    """And proofs, or refutations, where it has a loop nest."""
    written = data.draw(directive_sequences(pipeline, 6)).schedule
    verdict = verify(pipeline, written, on)
    nest = None
    with suppress(LevelError, OrderError, UnboundedError):
        nest = verdict if isinstance(verdict, CheckedSchedule) else loop_nest(pipeline, written)
    if nest is not None:
        assert prove(nest, seconds=0.5).proofs
    assert verdict.legal == (not verdict.violations)
    advice = verdict.advice if isinstance(verdict, CheckedSchedule) else ()
    for finding in (*verdict.violations, *advice):
        assert "{" not in finding.message
        assert finding.message.endswith((".", ".)"))


@settings(max_examples=examples(30))
@given(st.data())
def test_well_formed_serial_schedules_are_legal_but_for_tails(data):
    """These schedules run, value by value, in the tests of loop nests; only an output's tail may
    reach over its end.
    """
    pipeline = data.draw(stencil_pipelines(3))
    verdict = verify(pipeline, data.draw(schedules(pipeline)), CPU)
    assert {v.rule for v in verdict.violations} <= {"bounds.output-overrun"}


@pytest.mark.parametrize(
    ("pipeline", "on", "named"),
    [
        (algorithms.total(), "cpu", True),
        (algorithms.total(UInt8), "cpu", True),
        (algorithms.total(UInt8), "sm_80", True),  # by way of the word around
        (algorithms.horner(), "cpu", False),
    ],
)
def test_a_race_names_atomic_where_that_is_legal(pipeline: Pipeline, on: str, named: bool) -> None:
    update = schedule(pipeline).func("s").update(0)
    [race] = [
        v
        for v in verify(pipeline, update.parallel("r.y").schedule, device(on)).violations
        if v.rule == "race.update"
    ]
    assert ("or let s.update(0) be atomic()" in race.message) is named
    atomic = verify(pipeline, update.atomic().schedule, device(on))
    assert ("race.atomic" not in {v.rule for v in atomic.violations}) is named


def test_a_legal_schedule_is_shown_as_a_sentence() -> None:
    head = f"The schedule of {BLUR.name} is legal for cpu."
    assert str(verify(BLUR, Schedule.default(BLUR), CPU)) == head
    lanes = schedule(BLUR).func("bx").split("x", "x", "xi", 8).vectorize("xi").schedule
    assert str(verify(BLUR, lanes, CPU)).splitlines() == [
        head,
        "Advice:",
        "  advice.inlined-order: The loops of bx are scheduled, but it is inlined and has none. "
        "Compute it at root or at a loop of a Func that reads it, or leave these directives out.",
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((BLUR, "bx.compute_root()", CPU), "takes a Schedule, not a str; .*parse_schedule"),
        ((BLUR, schedule(BLUR), CPU), "takes a Schedule, not a Directives; .* .schedule is that"),
        ((BLUR, Schedule.default(BLUR), "cpu"), "takes a Device, not a str; spaces.device"),
        ((Schedule.default(BLUR), BLUR, CPU), "takes a Pipeline, not a Schedule; spaces.pipeline"),
    ],
)
def test_what_is_no_schedule_is_told(given: tuple[Any, Any, Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        verify(*given)


def test_levels_are_told_as_words() -> None:
    chain = algorithms.chain()
    written = "b.compute_at(c, y)\na.compute_root().compute_with(b, y)"
    found = verify(chain, parse_schedule(written, chain), CPU).violations
    [level] = [v for v in found if v.rule == "with.level"]
    assert "a is computed at root and b at c.y" in level.message


def test_many_funcs_computed_at_one_loop_are_verified():
    x, y = Var("x"), Var("y")
    last = Func("f0")
    last[x, y] = x + y
    for number in range(1, 250):
        before, last = last, Func(f"f{number}")
        last[x, y] = before[x, y] + 1
    algorithm = pipeline(last)
    text = "\n".join(f"f{number}.compute_at(f249, y)" for number in range(249))
    assert isinstance(verify(algorithm, parse_schedule(text, algorithm), CPU), CheckedSchedule)


def test_an_image_may_be_prefetched_in_one_of_the_loops_that_read_it() -> None:
    x, y, image = Var("x"), Var("y"), ImageParam(UInt8, 2, "image")
    f, g, h = Func("f"), Func("g"), Func("h")
    f[x, y] = image[x, y] + 1
    g[x, y] = image[y, x] + 1
    h[x, y] = f[x, y] + g[x, y]
    pipe = pipeline(h, estimates={h: [64, 64]})
    at_root = "f.compute_root();g.compute_root();"
    assert rules(f"{at_root}f.prefetch(image, y, y, 2)", pipeline=pipe) == set()
    assert rules(f"{at_root}h.prefetch(image, y, y, 2)", pipeline=pipe) == {"prefetch.unread"}
