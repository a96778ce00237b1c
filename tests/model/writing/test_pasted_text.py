"""C++ in schedule texts: numbers, elements of arrays, Funcs around Funcs, places outside loops."""

from __future__ import annotations

import pytest

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.schedules.schedule import INLINE, ROOT, LoopLevel
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.text import format_schedule, parse_partial, parse_schedule, read_schedule
from tests.model.pipelines import blur, box

BLUR, BOX = blur(), box()


def pyramid() -> Pipeline:
    x = Var("x")
    level_0, level_1, level2, total = (Func(n) for n in ("level_0", "level_1", "level2", "total"))
    level_0[x] = x
    level_1[x] = level_0[2 * x] + level_0[2 * x + 1]
    level2[x] = level_1[2 * x] + level_1[2 * x + 1]
    r = RDom([(0, 8)], "r")
    total[x] = level2[x]
    total[x] += level2[r.x]
    return pipeline(total)


PYRAMID = pyramid()
INLINED = ".compute_inline()"  # as a Func is anyway: a directive that changes nothing


@pytest.mark.parametrize(
    ("declared", "factor", "value"),
    [
        # 256 bits are 8 floats, 16 uint16_t, 32 uint8_t, 4 doubles.
        ("const int vec = natural_vector_size<float>();", "vec", 8),
        ("int vec = get_target().natural_vector_size(UInt(16));", "2 * vec", 32),
        ("const int vec = target.natural_vector_size<uint8_t>() * 2;", "vec", 64),
        ("const int vec = this->natural_vector_size<double>();", "vec / 2", 2),
        ("const int vec = natural_vector_size(Halide::Int(64)) + 1;", "vec", 5),
        ("const int vec = natural_vector_size(type_of<int16_t>());", "vec", 16),
        ("", "natural_vector_size<float>() * 3", 24),
        ("", "get_target().natural_vector_size(hl.Float(32))", 8),
        ("int n = sizeof(int) / sizeof(short);", "n", 2),
        ("int n = 1, m = 4;\nn = 6;\nn *= m; n += 2; n -= 1;", "n", 25),
    ],
)
def test_numbers_of_cpp(declared: str, factor: str, value: int) -> None:
    text = f"{declared}\nblur_y.vectorize(x, {factor})"
    assert parse_schedule(text, BLUR, vector_bits=256) == parse_schedule(
        f"blur_y.vectorize(x, {value})", BLUR
    )


def test_the_length_of_vectors_is_that_of_the_cpu_given() -> None:
    text = "blur_y.vectorize(x, natural_vector_size<float>())"
    for bits, lanes in ((128, "4"), (512, "16")):
        assert f"x, {lanes})" in format_schedule(parse_schedule(text, BLUR, bits), BLUR)
    partial = parse_partial(text, BLUR, 128)
    assert [entry.name for entry in partial.funcs] == ["blur_y"]


def test_an_undeclared_number_is_told_once_and_what_it_is_in_is_unread() -> None:
    text = (
        "const int vec = wide ? 16 : 8;\nblur_y.vectorize(x, vec).unroll(x, 2 * vec);\n"
        "blur_x.compute_root();"
    )
    written = read_schedule(text, BLUR, 256)
    assert [problem.place for problem in written.problems] == [(1, 17)]
    assert written.unread == {"blur_y"}


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("level[1].compute_root()", "level_1.compute_root()"),
        ("level[2].compute_root()", "level2.compute_root()"),
        ("level[1].compute_at(level[2], x)", "level_1.compute_at(level2, x)"),
        ("int l = 0; level[l + 1].compute_root()", "level_1.compute_root()"),
        ("Func(total).parallel(x)", "total.parallel(x)"),
        ("total.update(0).unscheduled(); level2.unscheduled()", ""),
        (
            "level_0.clone_in(level[1]).compute_at(level2.in(), x)",
            f"level_0.clone_in(level_1){INLINED}; level2.in(){INLINED};"
            "level_0_clone_in_level_1.compute_at(level2_in, x)",
        ),
        (
            "level_1.compute_at(level2.in().in(), x)",
            f"level2.in().in(){INLINED}; level_1.compute_at(level2_in_in, x)",
        ),
        (
            "level2.in().compute_with(total.update(0), Var::outermost())",
            f"level2.in(){INLINED}",
        ),
    ],
)
def test_names_of_cpp(text: str, same: str) -> None:
    assert parse_schedule(text, PYRAMID) == parse_schedule(same, PYRAMID)


def levels(text: str, algorithm: Pipeline, func: str) -> tuple[LoopLevel, LoopLevel, LoopLevel]:
    entry = parse_schedule(text, algorithm).of(func)
    return entry.compute, entry.store, entry.hoist


def test_outside_all_loops_of_a_func_is_where_that_is_computed() -> None:
    blur_x = "blur_x.compute_at(hist, Var::outermost())"
    at_y = LoopLevel("blur_y", "y")
    for text, wanted in {
        f"{blur_x}; hist.compute_root()": (ROOT, ROOT, INLINE),
        # What is said of the other Func later counts, too.
        f"{blur_x}; hist.compute_root(); hist.compute_at(blur_y, y)": (at_y, at_y, INLINE),
        # Where the other is stored does not matter.
        f"hist.compute_at(blur_y, y).store_root(); {blur_x}": (at_y, at_y, INLINE),
        f"hist.compute_at(blur_y, y); {blur_x}.store_root()": (at_y, ROOT, INLINE),
        "hist.compute_at(blur_y, y); blur_x.compute_at(hist, x).store_at(hist, Var::outermost())": (
            LoopLevel("hist", "x"),
            at_y,
            INLINE,
        ),
        "blur_x.compute_at(blur_y, x).hoist_storage(LoopLevel(blur_y, Var.outermost()))": (
            LoopLevel("blur_y", "x"),
            LoopLevel("blur_y", "x"),
            ROOT,
        ),
    }.items():
        assert levels(text, BOX, "blur_x") == wanted, text


def test_outside_of_what_is_inlined_is_no_place() -> None:
    with pytest.raises(ScheduleSyntaxError, match="hist is inlined and has no place of its own"):
        parse_schedule("hist.compute_inline(); blur_x.compute_at(hist, Var::outermost())", BOX)


def test_statements_about_statements_are_told_once_and_left_out() -> None:
    text = """
        for (int l = 1; l < 3; l++) {
            level[l].compute_root();
            if (l > 1) { level[l].parallel(x); }
        }
        if (target.has_gpu_feature()) {
            total.gpu_tile(x, xi, 8);
        } else if (l > 3) total.serial(x);
        else {
            total.vectorize(x, 8);
        }
        level_0.compute_root();
    """
    written = read_schedule(text, PYRAMID)
    assert [problem.place for problem in written.problems] == [(2, 9), (6, 9)]
    assert written.schedule == parse_schedule("level_0.compute_root()", PYRAMID)
    # `level[l]` could mean any Func that the text does not name.
    assert written.unread >= {"total", "level_1", "level2"}
    assert "level_0" not in written.unread


def test_funcs_are_unread_where_their_statements_have_mistakes() -> None:
    written = read_schedule("blur_x.compute_root();\nhist.twist(x).parallel(y)", BOX)
    assert written.unread == {"hist"}
    assert written.named == {"hist", "blur_x"}
    assert read_schedule("blurx.compute_root()\nhist.compute_root()", BOX).unread == {
        "blurx", "blur_x", "blur_y", "repeat_edge"
    }  # fmt: skip
    assert not read_schedule("blur_x.compute_root()", BOX).unread


def test_loops_are_found_where_they_are_named_last() -> None:
    text = "// tiles\nhist.update(0).reorder(x, y)\n  .parallel(y);\nblur_x.compute_at(hist, x)"
    written = read_schedule(text, BOX)
    assert written.place("hist", 1, "y") == (3, 13)
    assert written.place("hist", 1, "x") == (2, 24)
    assert written.place("hist", 1, "x_v") == (2, 1)  # the statement
    assert written.place("blur_x", 0, "x") == (4, 25)
    assert written.place("blur_y", 0, "x") is None
