"""Schedules as text: what is printed, what parses, and that nothing is lost between."""

from __future__ import annotations

import contextlib
import pickle

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.schedules.domain_order import LoopKind, OrderedLoop, Split, Tail
from spaces.model.schedules.schedule import ROOT, LoopLevel, MemoryType, Schedule
from spaces.model.writing.chain import directive_calls
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.draw_counts import examples, is_thorough
from tests.model.directives.random_directives import directive_sequences, schedules
from tests.model.pipelines import blur, box

BLUR, BOX = blur(), box()


def on(func: str, algorithm: Pipeline = BLUR) -> Directives:
    return schedule(algorithm).func(func)


@settings(max_examples=examples(80))
@given(st.data(), st.sampled_from([BLUR, BOX]))
def test_text_of_any_directives_parses_to_the_same_record(
    data: st.DataObject, algorithm: Pipeline
) -> None:
    drawn = data.draw(directive_sequences(algorithm)).schedule
    text = format_schedule(drawn, algorithm)
    assert parse_schedule(text, algorithm) == drawn
    assert format_schedule(parse_schedule(text, algorithm), algorithm) == text


@settings(max_examples=80 if is_thorough() else 14)
@given(st.data())
def test_text_of_any_record_parses_to_the_same_record(data: st.DataObject) -> None:
    drawn = data.draw(schedules(BOX))
    text = format_schedule(drawn, BOX)
    assert parse_schedule(text, BOX) == drawn
    assert parse_schedule(text.replace("\n", ";\r\n\r\n") + " ; // end", BOX) == drawn


@given(st.data())
def test_calls_replayed_on_the_default_give_the_record(data: st.DataObject) -> None:
    drawn = data.draw(directive_sequences(BOX)).schedule
    replayed = schedule(BOX)
    for stage_calls in directive_calls(BOX, drawn):
        replayed = evolve(replayed.func(stage_calls.func), stage=stage_calls.stage)
        for call in stage_calls.calls:
            replayed = call.on(replayed)
    assert replayed.schedule == drawn


WRITTEN = [
    "blur_y.tile(x, y, xi, yi, 256, 32).vectorize(xi, 8).parallel(y)\n"
    "blur_x.compute_at(blur_y, x).vectorize(x, 8)",
    "blur_y.tile(x, y, xo, yo, xi, yi, 64, 64, TailStrategy::GuardWithIf)",
    "blur_y.tile(x, y, xi, yi, 8, 8).fuse(x, y, t).parallel(t)",
    "blur_y.gpu_tile(x, y, xi, yi, 32, 8)\nblur_x.compute_at(blur_y, x).gpu_threads(x, y)",
    "blur_y.gpu_tile(x, xo, xi, 128)",
    "blur_y.split(x, x, xi, 8).gpu_blocks(x, y)",
    "blur_y.split(x, x, xi, 8).split(y, y, yi, 8)",
    "blur_y.split(x, xo, xi, tx).reorder(y, xo).vectorize(xi)",
    "blur_y.unroll(x, 4, TailStrategy::RoundUp).parallel(y, 16)",
    "blur_x.compute_at(blur_y, y).store_root().fold_storage(y, 4)",
    "blur_x.compute_root().store_in(MemoryType::GPUShared)",
    "blur_x.store_root()",
    "blur_y.reorder(y, x)",
    "blur_y.reorder(x, x)",
    "blur_y.reorder(y, x, y)",
    "blur_y.parallel(zz)",
    'blur_x.compute_at(blur_y, "a b")',
]


@pytest.mark.parametrize("text", WRITTEN)
def test_what_a_person_writes_is_printed_as_written(text: str) -> None:
    assert format_schedule(parse_schedule(text, BLUR), BLUR) == text


def test_default_schedule_is_the_empty_text() -> None:
    assert format_schedule(Schedule.default(BOX), BOX) == ""
    assert parse_schedule(" \n// nothing\n# at all\n;", BOX) == Schedule.default(BOX)


def test_a_text_gives_these_records() -> None:
    read = parse_schedule(
        "blur_y.split(x, x, xi, 8, TailStrategy::ShiftInwards).vectorize(xi).parallel(y);"
        "blur_x.compute_at(blur_y, y).store_root().store_in(MemoryType::Stack)",
        BLUR,
    )
    blur_y = read.of("blur_y").stages[0]
    assert blur_y.splits == (Split("x", "x", "xi", 8, Tail.SHIFT_INWARDS),)
    assert blur_y.loops == (
        OrderedLoop("y", LoopKind.PARALLEL),
        OrderedLoop("x"),
        OrderedLoop("xi", LoopKind.VECTORIZED),
    )
    blur_x = read.of("blur_x")
    assert (blur_x.compute, blur_x.store) == (LoopLevel("blur_y", "y"), ROOT)
    assert blur_x.memory is MemoryType.STACK


def test_update_stages_have_lines_of_their_own() -> None:
    made = on("hist", BOX).update(0).unroll("r.x").parallel("y")
    assert format_schedule(made.schedule, BOX) == "hist.update(0).unroll(r.x).parallel(y)"
    both = made.func("hist").vectorize("x", 8)
    text = format_schedule(both.schedule, BOX)
    assert text == "hist.vectorize(x, 8)\nhist.update(0).unroll(r.x).parallel(y)"
    assert parse_schedule("hist.update().unroll(r.x).parallel(y)", BOX) == made.schedule


def test_a_lost_loop_is_printed_as_loops() -> None:
    made = on("blur_y").loops("x", OrderedLoop("x", LoopKind.PARALLEL)).schedule
    text = "blur_y.loops(x, parallel(x))"
    assert format_schedule(made, BLUR) == text
    assert parse_schedule(text, BLUR) == made


def test_rvar_of_a_one_dimensional_rdom_goes_by_either_name() -> None:
    x = Var("x")
    image = ImageParam("int32", 1, "input")
    f, r = Func("f"), RDom([(0, 8)], "r")
    f[x] = image[x]
    f[x] += image[x + r]
    algorithm = pipeline(f)
    assert parse_schedule("f.update(0).split(r, r, ri, 4)", algorithm) == parse_schedule(
        'f.update(0).split("r.x", "r.x", ri, 4)', algorithm
    )
    odd = schedule(algorithm).func("f").update(0).unroll("r").schedule
    assert parse_schedule(format_schedule(odd, algorithm), algorithm) == odd
    assert odd != schedule(algorithm).func("f").update(0).unroll("r.x").schedule


SAME = """
blur_y.tile(x, y, xi, yi, 256, 32).vectorize(xi, 8).parallel(y)
blur_x.compute_at(blur_y, x)
"""


@pytest.mark.parametrize(
    "text",
    [
        """
        // The schedule of the paper.
        Var xi("xi"), yi("yi");
        blur_y.tile({x, y}, {xi, yi}, {256, 32})  /* tiles */
              .vectorize(xi, 8)   // lanes

              .parallel(y);
        blur_x.compute_at(blur_y, x);
        """,
        """
        Var a("xi"), yi;
        Func out("blur_y"), bx = pipeline.get_func(3);
        Func blur_x("blur_x");
        out.tile(x, y, a, yi, 256, 32, Halide::TailStrategy::Auto).vectorize(a, 8);
        out.parallel(y); blur_x.compute_at(LoopLevel(out, x));
        """,
        """
        blur_y.tile(x, y, xi, yi, 256, 32, hl.TailStrategy.Auto) \\
            .vectorize('xi', 8).parallel(y)
        blur_x.compute_at(blur_y, x)
        """,
        """
        using namespace Halide;
        blur_x.
          compute_at(blur_y,
                     x)
        blur_y
          .compute_root()
          .tile(x, y, xi, yi,
                256, 32)
          .vectorize(xi, 8)
          .parallel(y)
        ;
        """,
    ],
)
def test_spellings_of_one_schedule(text: str) -> None:
    assert parse_schedule(text, BLUR) == parse_schedule(SAME, BLUR)


# Printed by Halide 21's autoschedulers for the pipeline `box`.
MULLAPUDI = """
Var _0_vi("_0_vi");
Var x_i("x_i");
Var x_i_vi("x_i_vi");
Var x_i_vo("x_i_vo");
Var x_o("x_o");

Func blur_y = pipeline.get_func(4);
Func hist = pipeline.get_func(3);

{
    Var x = blur_y.args()[0];
    Var y = blur_y.args()[1];
    blur_y
        .compute_root()
        .split(x, x_o, x_i, 64)
        .reorder(x_i, y, x_o)
        .split(x_i, x_i_vo, x_i_vi, 16)
        .vectorize(x_i_vi)
        .parallel(x_o);
}
{
    Var x = hist.args()[0];
    RVar r$x(hist.update(0).get_schedule().rvars()[0].var);
    RVar r$y(hist.update(0).get_schedule().rvars()[1].var);
    hist
        .compute_at(blur_y, x_o)
        .split(x, x_vo, x_vi, 16)
        .vectorize(x_vi);
    hist.update(0)
        .reorder(r$x, x, r$y, y)
        .split(x, x_vo, x_vi, 16, TailStrategy::GuardWithIf)
        .vectorize(x_vi);
}
"""

ANDERSON = """
auto pipeline = get_pipeline();
Func blur_y = pipeline.get_func(4);
Var x(blur_y.get_schedule().dims()[0].var);
Var xi("xi");
Var yi("yi");
RVar r_x(hist.update(0).get_schedule().dims()[0].var);
RVar r_y(hist.update(0).get_schedule().dims()[1].var);
Var xi_serial_outer("xi_serial_outer");
blur_y
    .split(x, x, xi, 16, TailStrategy::ShiftInwards)
    .compute_root()
    .reorder({xi, x, y})
    .gpu_blocks(x)
    .gpu_blocks(y)
    .split(xi, xi_serial_outer, xi, 16, TailStrategy::GuardWithIf)
    .gpu_threads(xi);
hist.update(0)
    .split(y, y, yi, 16, TailStrategy::RoundUp)
    .reorder(r_x, r_y, x, yi, y)
    .gpu_blocks(y, DeviceAPI::CUDA);
"""

LI = """
blur_y.compute_root()
    .split(x,v2,v3,16,ShiftInwards)
    .fuse(v2,y,v2)
    .reorder(v3,v2)
    .parallel(v2,3632,ShiftInwards)
    .vectorize(v3)
;
hist.update(0)
    .split(x,v8,v9,16,GuardWithIf)
    .vectorize(v9)
;
"""


@pytest.mark.parametrize(
    ("pasted", "printed"),
    [
        (
            MULLAPUDI,
            "blur_y.split(x, x_o, x_i, 64).split(x_i, x_i_vo, x_i_vi, 16)"
            ".reorder(y, x_o).vectorize(x_i_vi).parallel(x_o)\n"
            "hist.compute_at(blur_y, x_o).split(x, x_vo, x_vi, 16).vectorize(x_vi)\n"
            "hist.update(0).split(x, x_vo, x_vi, 16, TailStrategy::GuardWithIf)"
            ".reorder(x_vi, x_vo, r.y).vectorize(x_vi)",
        ),
        (
            ANDERSON,
            "blur_y.split(x, x, xi, 16, TailStrategy::ShiftInwards)"
            ".split(xi, xi_serial_outer, xi, 16, TailStrategy::GuardWithIf)"
            ".gpu_blocks(x, y).gpu_threads(xi)\n"
            "hist.update(0).split(y, y, yi, 16, TailStrategy::RoundUp).gpu_blocks(y)",
        ),
        (
            LI,
            "blur_y.split(x, v2, v3, 16, TailStrategy::ShiftInwards).fuse(v2, y, v2)"
            ".parallel(v2, 3632, TailStrategy::ShiftInwards).vectorize(v3)\n"
            "hist.update(0).split(x, v8, v9, 16, TailStrategy::GuardWithIf).vectorize(v9)",
        ),
    ],
    ids=["mullapudi2016", "anderson2021", "li2018"],
)
def test_text_pasted_from_autoschedulers(pasted: str, printed: str) -> None:
    read = parse_schedule(pasted, BOX)
    assert format_schedule(read, BOX) == printed


@pytest.mark.parametrize(
    ("declared", "factor", "value"),
    [
        ("const int vec = 8;", "vec", 8),
        ("int vec = 8, wide = vec * 4;\n", "wide / 2 + vec", 24),
        ("constexpr int vec = 8;\nstatic const int half = vec / 2;\n", "half", 4),
        ("", "4 * 8", 32),
        ("", "(9 - 1)*2-4", 12),
        ("", "2 + 3 * 4", 14),
        ("int x_ = -3;", "x_ * -2", 6),
    ],
)
def test_factors_are_sums_and_products_of_numbers(declared: str, factor: str, value: int) -> None:
    read = parse_schedule(f"{declared} blur_y.split(y, yo, yi, {factor}).bound(x, 0, 64)", BLUR)
    assert read == on("blur_y").split("y", "yo", "yi", value).bound("x", 0, 64).schedule


def problems(text: str, algorithm: Pipeline = BLUR) -> list[tuple[int, int, str]]:
    with pytest.raises(ScheduleSyntaxError) as caught:
        parse_schedule(text, algorithm)
    return [(p.line, p.column, p.message) for p in caught.value.problems]


def test_every_mistake_is_listed_with_its_place() -> None:
    found = problems(
        "blur_z.compute_root()\n"
        "blur_y.vectorise(x, 8).split(x, 3)\n"
        "   .split(x, xo, xi, 8, TailStrategy::Predicted)\n"
        "input.serial(x).serial(y); blur_x.update(1)\n"
        "blur_x.unroll(x, 2.5).bound(x, 0)\n"
        "blur_x.split(x, y,\n"
        "blur_x.compute_at(x).store_in(Pool)\n"
        "blur_x.vectorize(8); if (wide) { blur_x.vectorize(8); }\n"
    )
    assert [(line, column) for line, column, _ in found] == [
        *((1, 1), (2, 8), (2, 24), (3, 25), (4, 1), (4, 35)),
        *((5, 18), (5, 23), (6, 19), (7, 8), (7, 31), (8, 18), (8, 22)),
    ]
    messages = " ".join(message for *_, message in found)
    for part in (
        "no Func 'blur_z' (is blur_y meant?)",
        "no directive 'vectorise' (is vectorize meant?)",
        "split(old, outer, inner, factor[, tail])",
        "Predicted is not one of Auto, RoundUp, GuardWithIf, ShiftInwards, Predicate",
        "RoundUpAndBlend (is Predicate meant?).",
        "input is an input image",
        "has 0 update stages",
        "2.5 is not a whole number",
        "bound was given 2 arguments",
        "compute_at(f, x)",
        "Pool is not one of Auto, Heap, Stack, Register, GPUShared",
        "not the number 8",
    ):
        assert part in messages


def test_a_chain_is_read_on_after_a_broken_call() -> None:
    found = problems("blur_y.compute_at(LoopLevel(blur_y, x) x).twist().split(x {y}, (z)).turn()")
    assert [column for _, column, _ in found] == [40, 43, 59, 69]


def test_a_mistake_is_shown_under_its_line() -> None:
    with pytest.raises(ScheduleSyntaxError) as caught:
        parse_schedule("\n\tblur_y.compute_rot()\n", BLUR)
    assert str(caught.value).splitlines() == [
        "The schedule has a mistake.",
        "line 2, column 9: There is no directive 'compute_rot' (is compute_root meant?).",
        "    \tblur_y.compute_rot()",
        "    \t       ^^^^^^^^^^^",
    ]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("blur_x.in(8).compute_root()", "Expected a Func here"),
        ("blur_x.clone_in()", "Funcs that read the copy"),
        ("blur_y.prefetch(x, 2)", "it is written prefetch(f, at, from"),
        ("blur_y.set_estimate(x, 0, 10)", "pipeline(...)"),
        ("blur_y.tile(x, y, 8)", "tile takes x, y"),
        ("blur_y.reorder()", "at least one loop"),
        ("blur_y", "Expected directives"),
        ("blur_y.compute_root", "Expected '('"),
        ("blur_y.fold_storage(y, 4, no)", "Expected true or false"),
        ("blur_y.split(x, x, xi, n * 2)", "n is no number declared before, as in const int n = 8"),
        ("blur_y.split(x, x, xi, 2 * n)", "declared before as in const int vec = 8, but found 'n'"),
        ("blur_y.split(x, x, xi, 16 / 3)", "16 / 3 is not a whole number"),
        ("blur_y.split(x, x, xi, 16 / 0)", "16 / 0 is not a whole number"),
        ("const int n = natural_vector_size<uint8_t>();", "parse_schedule its vector_bits"),
        ("int n = natural_vector_size(input.type());", "What is read of such sizes is"),
        ("int n = natural_vector_size<half>();", "no such type; there are int8_t"),
        ("const int n = wide ? 16 : 8; blur_y.unroll(x, n)", "Which number n is depends"),
        ("for (Func f : all) {\n  f.compute_root();\n}", "once for each Func, by name"),
        (
            "if (wide) {\n blur_y.parallel(z);\n} else if (f(x)) { } else\n blur_y.serial(y)",
            "branch",
        ),
        ("blur_y.unroll(Var::outermost())", "no loop that iterates"),
        ("blur_x.compute_at(blur_z, Var::outermost())", "There is no Func 'blur_z' (is blur_y"),
        ("blur_x.compute_at(blur_x, Var::outermost())", "blur_x is outside itself"),
        ("blur_y.bound(x, 0, input.width())", "write the value of an expression of sizes"),
        ("blur_y.dim(0).set_bounds(0, 8)", "say it of the image or output"),
        ("blur_y[2].compute_root()", "no Func 'blur_y[2]'"),
        ("int n;", "Expected '=' after int n"),
        ("blur_y.trace_stores()", "trace_stores is not supported; remove it"),
        ("blur_y.allow_race_conditions()", "write atomic() on an update such as a sum, or give"),
        ("blur_y.allow_race_conditions()", "a partial result by rfactor(...)"),
        ("blur_y.split(y, y, yi, max(y, 1))", "A factor is a whole number, such as 8 or 4 * 2"),
        ('blur_y.vectorize("x, 8)', "found a string that does not end on its line"),
        ("blur_y.loops(twirled(x))", "kinds are"),
        ("(blur_y)", "Expected the name of a Func"),
        ("blur_y.compute_at(LoopLevel::nowhere())", "compute_at(f, x)"),
        ("blur_y.update(x)", "update(0)"),
        ("Var 3;", "found '3'"),
        ("Var x(", "Expected ')'"),
    ],
)
def test_mistakes(text: str, part: str) -> None:
    ((_, _, message),) = problems(text)
    assert part in message


@pytest.mark.parametrize(
    "text",
    [
        "input.in(8).vectorize(_0, 8);",
        "input.in(8).compute_root();",
        "input.in(8).tile(_0, _1, a, b, 8, 8).parallel(b);",
        "blur_x.in(8).vectorize(_0, 8);",
        "blur_x.clone_in(8).unroll(_0).compute_root();",
        "blur_y.update(0).rfactor(8, u).vectorize(u, 8);",
    ],
)
def test_a_chain_ends_at_a_mistake_in_the_func_that_it_adds(text: str) -> None:
    ((_, column, _),) = problems(text)
    assert column <= text.index(")") + 1


@given(st.text("blur_y.x(){},;:\"'\n #/*+\\0-8Vaint=", max_size=40))
def test_any_text_is_read_or_refused_with_sentences(text: str) -> None:
    lines = text.count("\n") + 1
    with contextlib.suppress(ScheduleSyntaxError):
        parse_schedule(text, BLUR)
        return
    assert all(1 <= line <= lines for line, _, _ in problems(text))


def test_a_schedule_of_another_pipeline_is_refused() -> None:
    with pytest.raises(ValueError, match="not one of pipeline blur_y"):
        format_schedule(Schedule.default(BOX), BLUR)
