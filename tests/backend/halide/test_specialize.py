"""Specialized schedules: compiled code, the reference and Halide give the same bits in every
case.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.arguments import ArgumentError
from spaces.backend.compile import compile_cpu, compile_cpu_unchecked
from spaces.backend.halide.source import halide_source
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import For, If
from spaces.backend.lowering.cpu.passes import lower_cases
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Proven
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Const, Expr, Variable, cast
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.cases import cases
from spaces.model.schedules.conditions import assume, format_condition, negation, read_condition
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.backend.halide.peer import assert_agrees

X, Y = Var("x"), Var("y")
GAIN = Param(Int32, "gain", 3)
IMAGE = ImageParam(Int32, 2, "image")


def blurred() -> Pipeline:
    across, out = Func("across"), Func("out")
    across[X, Y] = IMAGE[X, Y] + IMAGE[X + 1, Y] * GAIN
    out[X, Y] = across[X, Y] + across[X, Y + 1]
    return pipeline(out)


BLUR = blurred()
TEXT = """\
out.specialize(out.width() == 64 && gain == 3).vectorize(x, 16).parallel(y)
out.specialize(out.width() >= 32).specialize(out.height() > 4).tile(x, y, xi, yi, 16, 4)
out.specialize(out.width() >= 32).vectorize(x, 32)
out.specialize(out.dim(0).extent() < 3).specialize_fail("at least 3 columns, please")
out.unroll(x, 2, TailStrategy::GuardWithIf)
across.compute_at(out, y).specialize(out.width() >= 32).vectorize(x, 8)
"""


def call(width: int, height: int, gain: int) -> dict[str, dict]:
    data = np.arange((height + 1) * (width + 1), dtype=np.int32).reshape(height + 1, -1) ** 2
    return {"inputs": {"image": data}, "params": {"gain": gain}, "sizes": {"out": (width, height)}}


def checked(text: str) -> CheckedSchedule:
    verdict = verify(BLUR, parse_schedule(text, BLUR), device("cpu"))
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    return verdict


def test_text_and_json_give_the_same_schedule_back() -> None:
    chosen = parse_schedule(TEXT, BLUR)
    assert parse_schedule(format_schedule(chosen, BLUR), BLUR) == chosen
    assert from_json(to_json(chosen), Schedule) == chosen
    by_hand = schedule(BLUR).specialize((Variable(Int32, "out.extent.0") == 64) & (GAIN == 3))
    by_hand = by_hand.vectorize("x", 16).parallel("y")
    first = by_hand.schedule.of("out").specializations[0]
    assert first == chosen.of("out").specializations[0]
    assert format_condition(first.condition) == "(out.dim(0).extent() == 64) && (gain == 3)"


def test_a_specialization_begins_where_its_stage_was() -> None:
    text = "out.parallel(y)\nout.specialize(gain > 3).vectorize(x, 8)\nout.unroll(x, 2)"
    entry = parse_schedule(text, BLUR).of("out")
    plain = schedule(BLUR).parallel("y")
    assert entry.stages[0] == plain.unroll("x", 2).schedule.of("out").stages[0]
    (one,) = entry.specializations
    assert one.order == plain.vectorize("x", 8).schedule.of("out").stages[0]


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("out.width()", "is a number"),
        ("across.width() > 3", "nothing that a condition"),
        ("gain > ", "is no condition"),
        ("x > 3", "nothing that a condition"),
        ("1 < gain < 3", "nothing that a condition"),
    ],
)
def test_text_without_a_condition_is_refused_in_words(condition: str, problem: str) -> None:
    with pytest.raises(ScheduleSyntaxError, match=problem):
        parse_schedule(f"out.specialize({condition}).parallel(y)", BLUR)


def test_only_loops_are_specialized() -> None:
    with pytest.raises(ScheduleSyntaxError, match="only the loops of across"):
        parse_schedule("across.specialize(gain > 3).compute_root()", BLUR)


SIZES = [(64, 6, 3), (64, 6, 2), (40, 6, 3), (40, 3, 3), (31, 5, 3), (3, 1, 3)]


@pytest.mark.parametrize(("width", "height", "gain"), SIZES)
def test_every_case_gives_what_the_reference_and_halide_give(
    width: int, height: int, gain: int
) -> None:
    arguments = call(width, height, gain)
    wanted = evaluate(BLUR, **arguments)["out"]
    legal = checked(TEXT)
    np.testing.assert_array_equal(compile_cpu(legal).run(**arguments)["out"], wanted)
    assert_agrees(BLUR, legal.schedule, **arguments)


def test_a_case_that_fails_says_so() -> None:
    legal = checked(TEXT)
    with pytest.raises(ArgumentError, match="at least 3 columns, please"):
        compile_cpu(legal).run(**call(2, 5, 3))
    with pytest.raises(ArgumentError, match="at least 3 columns, please"):
        compile_cpu_unchecked(BLUR, legal.schedule).run(**call(2, 5, 3))


def branches(text: str) -> list[LoopProgram]:
    """The programs after simplification, of each case."""
    found = list(cases(parse_schedule(text, BLUR)))
    return [lower_cases(BLUR, [case])["partition"] for case in found]


def test_a_known_size_leaves_no_tail() -> None:
    special, other = branches("out.specialize(out.width() == 64).vectorize(x, 16)")
    loops = [s for s in walk_nodes(special.body) if isinstance(s, For)]
    assert [s.extent.value for s in loops if isinstance(s.extent, Const)] == [4, 16]
    guarded = branches("out.specialize(out.width() == 64).vectorize(x, 16, GuardWithIf)")[0]
    assert not [s for s in walk_nodes(guarded.body) if isinstance(s, If)]
    assert not [s for s in walk_nodes(other.body) if isinstance(s, If)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("across.specialize(gain > 3).parallel(y)", "specialize.inlined"),
        ('out.specialize_fail("no")\nout.specialize(gain > 3)', "specialize.after-failure"),
        ("out.specialize(gain > 3).vectorize(x)", "kind.vector-extent"),
        ("across.compute_at(out, xi)\nout.specialize(gain > 3).split(x, x, xi, 4)",
         "call.compute-level"),
    ],
)  # fmt: skip
def test_illegal_specializations_are_named(text: str, rule: str) -> None:
    verdict = verify(BLUR, parse_schedule(text, BLUR), device("cpu"))
    assert rule in [v.rule for v in verdict.violations]


def test_conditions_cannot_read_values() -> None:
    made = schedule(BLUR).specialize(IMAGE[0, 0] > 3).parallel("y").schedule
    verdict = verify(BLUR, made, device("cpu"))
    assert [v.rule for v in verdict.violations] == ["specialize.condition"]


def test_all_cases_are_proven() -> None:
    text = "out.specialize(out.width() >= 32).vectorize(x, 32)\nacross.compute_at(out, y)"
    report = prove(checked(text))
    assert len(report.proofs) > 10
    assert all(isinstance(proof.outcome, Proven) for proof in report.proofs)


WIDTH = Variable(Int32, "out.extent.0")


@pytest.mark.parametrize(
    ("condition", "wide"),
    [
        (cast(Float32, WIDTH) * 1.5 > 100.0, {64: False, 66: False, 67: True, 140: True}),
        (cast(UInt8, WIDTH) + 200 > 30, {20: True, 60: False, 70: False, 140: True}),
    ],
    ids=["float", "wraps"],
)
def test_conditions_are_kept_in_their_types(condition: Expr, wide: dict[int, bool]) -> None:
    """Where they hold, one vector covers 128 columns, so smaller outputs are refused."""
    directives = schedule(BLUR).func("out").specialize(condition).vectorize("x", 128)
    verdict = verify(BLUR, directives.schedule, device("cpu"))
    assert isinstance(verdict, CheckedSchedule)
    assert all(isinstance(proof.outcome, Proven) for proof in prove(verdict).proofs)
    compiled = compile_cpu(verdict)
    for width, holds in wide.items():
        arguments = call(width, 4, 3)
        if holds and width < 128:
            with pytest.raises(ArgumentError, match=r"at least 128 (elements|wide)"):
                compiled.run(**arguments)
            continue
        wanted = evaluate(BLUR, **arguments)["out"]
        np.testing.assert_array_equal(compiled.run(**arguments)["out"], wanted)


def test_the_printed_source_specializes() -> None:
    source = halide_source(BLUR, parse_schedule("out.specialize(gain > 3).parallel(y)", BLUR))
    assert ".specialize(gain > 3)\n        .parallel(y);" in source


@st.composite
def conditions(draw: st.DrawFn) -> Expr:
    """A comparison of a size with a number, or two joined comparisons."""
    name, factor = draw(st.sampled_from(["out.extent.0", "gain"])), draw(st.integers(1, 3))
    other = draw(st.integers(-9, 9))
    sides = (f"{name} * {factor}", str(other))
    left, right = sides if draw(st.booleans()) else sides[::-1]
    sign = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
    one = read_condition(f"{left} {sign} {right}", BLUR)
    joint = draw(st.sampled_from([None, "&", "|"]))
    if joint is None:
        return one
    another = draw(conditions())
    return one & another if joint == "&" else one | another


@given(conditions(), st.integers(1, 12), st.integers(-12, 12))
def test_assumptions_of_cases_follow_from_their_conditions(
    condition: Expr, width: int, gain: int
) -> None:
    values = {"out.extent.0": width, "gain": gain}
    holds = bool(number(condition, values))
    assert bool(number(negation(condition), values)) is not holds
    assert read_condition(format_condition(condition), BLUR) is condition
    knowing = Simplifier()
    assume(knowing, condition if holds else negation(condition))
    for name, value in values.items():
        low, high = knowing.known(name)
        assert low is None or number(low, values) <= value
        assert high is None or value <= number(high, values)
        simple = knowing(Variable(Int32, name) * 2)
        assert number(simple, values) == 2 * value


def test_the_first_condition_that_holds_counts() -> None:
    text = "out.specialize(gain > 3).parallel(y)\nout.specialize(gain > 1).unroll(x, 2)"
    found = [str(c.assumptions[-1]) for c in cases(parse_schedule(text, BLUR))]
    assert found == ["gain > 3", "gain > 1", "gain <= 1"]


def test_an_update_is_specialized_as_it_is() -> None:
    total = Func("total")
    total[X, Y] = 0
    total[X, Y] += IMAGE[X, Y] * GAIN
    updated = schedule(pipeline(total)).update(0).parallel("y").specialize(GAIN > 3).unroll("x", 2)
    (one,) = updated.schedule.of("total").specializations
    assert (one.stage, one.order.kind("y"), one.order.kind("x_u")) == (1, "parallel", "unrolled")


def test_conditions_may_ask_for_strides() -> None:
    text = "out.specialize(image.dim(1).stride() == 21).vectorize(x, 32)\nout.vectorize(x, 4)"
    compiled = compile_cpu(checked(text))
    arguments = call(19, 5, 3)
    wanted = evaluate(BLUR, **arguments)["out"]
    np.testing.assert_array_equal(compiled.run(**arguments)["out"], wanted)
    with pytest.raises(ArgumentError, match="at least 32 elements"):
        compiled.run(**call(20, 5, 3))
