"""What the fuzzer once found: each schedule is legal and computes the reference, or is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spaces.backend.access import AccessMode
from spaces.backend.compile import compile_cpu, compile_cpu_unchecked
from spaces.backend.compile_gpu import compile_gpu, compile_gpu_unchecked
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.preconditions import size_preconditions
from spaces.constraints.legality.verdict import CheckedSchedule, Verdict
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline, size_variable
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, as_expr, cast, constant
from spaces.model.expressions.integer_functions import (
    count_leading_zeros,
    count_trailing_zeros,
    mul_shift_right,
    popcount,
    reinterpret,
    saturating_add,
    saturating_cast,
    saturating_sub,
)
from spaces.model.expressions.types import Int32, Int64, UInt16
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.differential.gpu_machine import GpuMachine
from tests.differential.shadow import ShadowMemory

X, Y = Var("x"), Var("y")
IMAGE = np.random.default_rng(3).integers(-50, 50, (120, 120), dtype=np.int32)
PLACE = ((-50, 120), (-50, 120))


def window_sum() -> Pipeline:
    """A sum over a window in an update stage, read by a stencil."""
    image, total, out = ImageParam(Int32, 2, "input"), Func("total"), Func("out")
    r = RDom([(0, 3)], "r")
    total[X, Y] = X - Y
    total[X, Y] = total[X, Y] * 2 + image[X + r, Y]
    out[X, Y] = total[X, Y] + total[X, Y - 1]
    return pipeline(out)


def chain() -> Pipeline:
    """Three stencils."""
    image = ImageParam(Int32, 2, "input")
    one, two, out = Func("one"), Func("two"), Func("out")
    one[X, Y] = image[X, Y] + image[X, Y + 1]
    two[X, Y] = one[X, Y - 1] * 2 + one[X, Y + 1]
    out[X, Y] = two[X, Y] + two[X + 1, Y]
    return pipeline(out)


def lookup() -> Pipeline:
    """A table read where another Func says."""
    image, table, index, out = (
        ImageParam(Int32, 2, "input"),
        Func("table"),
        Func("index"),
        Func("out"),
    )
    table[X] = X * X - 3 * X
    index[X, Y] = fn.clamp(image[X, Y], 0, 7)
    out[X, Y] = table[fn.clamp(index[X, Y], 0, 7)]
    return pipeline(out)


def two_outputs() -> Pipeline:
    """Two outputs of sizes of their own, that read one Func."""
    base, one, two = Func("base"), Func("one"), Func("two")
    base[X, Y] = X * 3 - Y
    one[X, Y] = base[X, Y] + base[X + 1, Y]
    two[X, Y] = base[X - 1, Y] * 2
    return pipeline([one, two])


def judged(made: Callable[[], Pipeline], text: str) -> Verdict:
    return verify(made(), parse_schedule(text, made()), device("cpu"))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        # The update runs over the end of a box that the pure stage reaches over the start of.
        (
            window_sum,
            "out.reorder(y, x); total.compute_at(out, y).split(y, y, yi, 4);"
            "total.update(0).split(y, y, yi, 4).vectorize(yi);",
        ),
        # The fewest values to keep depend on a loop outside the storage.
        (
            chain,
            "out.split(y, y, yi, 2).split(y, y, yj, 2).split(yj, yj, yk, 2);"
            "one.compute_at(out, yj).fold_storage(y, 16);",
        ),
        # Copies of a loop body read the table at what they have just computed, each anew.
        (lookup, "out.unroll(x, 2); index.compute_at(out, x_u); table.compute_root();"),
        # Rounds that divide a tile, or are guarded.
        (window_sum, "total.compute_root().update(0).split(x, x, xi, 4).split(xi, xi, xj, 2);"),
        (
            window_sum,
            "total.compute_root().update(0).split(x, x, xi, 4)"
            ".split(xi, xi, xj, 3, TailStrategy::GuardWithIf);",
        ),
    ],
)
def test_legal_schedules_compute_the_reference(made: Callable[[], Pipeline], text: str) -> None:
    verdict = judged(made, text)
    assert isinstance(verdict, CheckedSchedule), verdict
    compiled = compile_cpu(verdict)
    for width, height in ((16, 8), (9, 5), (31, 13)):
        sizes = {"out": ((-3, width), (2, height)), "input": PLACE}
        found = compiled.run({"input": IMAGE}, sizes=sizes)
        wanted = evaluate(verdict.pipeline, {"input": IMAGE}, sizes=sizes)
        np.testing.assert_array_equal(found["out"], wanted["out"])


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        # The last round of a tile would update the first values of the next one twice.
        (
            "order.repeated-update",
            "total.compute_root().update(0).split(x, x, xi, 4)"
            ".split(xi, xi, xj, 3, TailStrategy::RoundUp);",
        ),
        (
            "order.repeated-update",
            "total.compute_root().update(0).split(x, x, xi, 4, TailStrategy::GuardWithIf)"
            ".split(xi, xi, xj, 5, TailStrategy::RoundUp);",
        ),
        # A guard of a split that divides is none, and rounds of its outer loop go over the tile.
        (
            "order.repeated-update",
            "total.compute_root().update(0).split(x, x, xi, 4)"
            ".split(xi, xi, xj, 2, TailStrategy::GuardWithIf)"
            ".split(xi, xi, xk, 4, TailStrategy::RoundUp);",
        ),
    ],
)
def test_illegal_schedules_name_the_rule(rule: str, text: str) -> None:
    assert [v.rule for v in judged(window_sum, text).violations] == [rule]


def test_a_greatest_value_is_not_found_by_tiles_that_overlap_either() -> None:
    """Tiles that run at once would read and set one another's values."""
    image, most, out = ImageParam(Int32, 2, "input"), Func("most"), Func("out")
    r = RDom([(0, 3)], "r")
    most[X, Y] = X - Y
    most[X, Y] = fn.max(most[X, Y], image[X + r, Y])
    out[X, Y] = most[X, Y]
    made = pipeline(out)
    text = (
        "most.compute_root().update(0).split(x, x, xi, 4).split(xi, xi, xj, 8, "
        "TailStrategy::RoundUp).vectorize(x, 2);"
    )
    verdict = verify(made, parse_schedule(text, made), device("cpu"))
    assert {v.rule for v in verdict.violations} == {"order.repeated-update"}


def test_storage_within_a_fused_loop_has_limits() -> None:
    image = ImageParam(Int32, 2, "input")
    one, two, three, out = Func("one"), Func("two"), Func("three"), Func("out")
    one[X, Y] = image[X - 1, Y + 1] + image[X - 1, Y - 2]
    two[X, Y] = one[X - 2, Y - 2]
    three[X, Y] = two[X, Y + 1]
    out[X, Y] = three[X + 1, Y + 2] * 3 + three[X - 1, Y + 2]
    made = pipeline(out)
    text = """
        out.split(y, y, yi, 5, TailStrategy::ShiftInwards);
        three.compute_at(out, y).split(x, x, xi, 4)
            .split(y, y, yi, 2, TailStrategy::RoundUp).split(yi, yi, yj, 3, TailStrategy::RoundUp);
        two.compute_at(out, y).split(x, x, xi, 5, TailStrategy::ShiftInwards).fuse(x, y, t);
        one.compute_at(two, t).store_at(out, y);
    """
    checked = verify(made, parse_schedule(text, made), device("cpu"))
    pixels = np.random.default_rng(0).integers(0, 99, (60, 80)).astype(np.int32)
    for size in ((20, 10), (23, 15)):
        sizes = {"out": [(10, size[0]), (12, size[1])]}
        expected = evaluate(made, {"input": pixels}, sizes=sizes)["out"]
        found = compile_cpu(checked).run({"input": pixels}, sizes=sizes)["out"]
        assert (found == expected).all()


def test_a_limit_on_blocks_that_exceeds_int32_refuses_no_size() -> None:
    made = two_outputs()
    text = "base.compute_root().gpu_tile(x, xi, 4); one.gpu_tile(x, xi, 4); two.gpu_tile(x, xi, 4);"
    verdict = verify(made, parse_schedule(text, made), device("sm_80"))
    assert isinstance(verdict, CheckedSchedule), verdict
    sizes = {"one.min.0": 0, "one.extent.0": 8, "one.min.1": 0, "one.extent.1": 4}
    sizes |= {name.replace("one", "two"): value for name, value in sizes.items()}
    assert all(p.holds(sizes) for p in size_preconditions(verdict))


def test_a_fused_loop_over_what_one_size_leaves_is_legal_at_all_sizes() -> None:
    """Its length is one less than where the output ends, which is within int32."""
    f, out = Func("f"), Func("out")
    f[X, Y] = X + Y * 3
    out[X, Y] = f[0, fn.max(Y, 1)] + f[0, 1]
    made = pipeline(out)
    verdict = verify(made, parse_schedule("f.compute_root().fuse(y, x, t)", made), device("cpu"))
    assert isinstance(verdict, CheckedSchedule), verdict
    assert size_preconditions(verdict) == ()
    sizes = {"out": ((0, 3), (-2, 9))}
    found = compile_cpu(verdict).run({}, sizes=sizes)["out"]
    np.testing.assert_array_equal(found, evaluate(made, {}, sizes=sizes)["out"])


def test_an_update_whose_predicate_never_holds_leaves_nothing_of_its_tail() -> None:
    total, out = Func("total"), Func("out")
    r = RDom([(1, 2), (1, 1)], "r")
    r.where(r.x < r.y)
    total[X, Y] = X - Y
    total[X, 0] += r.x
    out[X, Y] = total[X, Y] * 2
    made = pipeline(out)
    text = "total.compute_root().update(0).split(x, x, w, 4, TailStrategy::ShiftInwardsAndBlend);"
    verdict = verify(made, parse_schedule(text, made), device("sm_80"))
    assert isinstance(verdict, CheckedSchedule), verdict
    (program,) = compile_gpu(verdict).programs
    values = {"out.min.0": 3, "out.extent.0": 7, "out.min.1": -1, "out.extent.1": 3}
    values |= {"out.stride.0": 1, "out.stride.1": 7}
    found = GpuMachine(program).run(values, {}, {"out": 21}, ShadowMemory(negative=False))
    assert found["out"] == [2 * (x - y) for y in range(-1, 2) for x in range(3, 10)]


def test_kernels_read_where_a_sum_of_pixels_says() -> None:
    """What may wrap stands behind a conversion that the fuzzer once had no word for."""
    image, table, out = ImageParam(Int32, 1, "input"), Func("table"), Func("out")
    table[X] = X * 10
    out[X] = table[fn.clamp(image[X] + image[X + 1], 0, 5)]
    made = pipeline(out)
    text = "table.compute_root(); out.gpu_tile(x, xi, 2);"
    (program,) = compile_gpu_unchecked(made, parse_schedule(text, made), arch="sm_80").programs
    values = {"out.min.0": 0, "out.extent.0": 4, "out.stride.0": 1}
    values |= {"input.min.0": 0, "input.extent.0": 5, "input.stride.0": 1}
    images = {"input": [3, -4, 6, -1, 20]}
    found = GpuMachine(program).run(values, images, {"out": 4}, ShadowMemory(negative=False))
    assert found["out"] == [0, 20, 50, 50]


def test_an_image_read_without_limits_beside_a_broken_func_is_no_crash() -> None:
    """What a Func that is well placed reads is asked of, although another Func is broken."""
    image, at = ImageParam(Int32, 1, "input"), ImageParam(Int32, 1, "at")
    f, g, out = Func("f"), Func("g"), Func("out")
    f[X] = image[at[X]]
    g[X] = X * 2
    out[X] = f[X] + g[X]
    text = "g.compute_root().split(x, x, xi, 0);\nout.vectorize(x, 4);"
    verdict = verify(pipeline(out), parse_schedule(text, pipeline(out)), device("cpu"))
    assert {v.rule for v in verdict.violations} == {"order.factor", "bounds.unbounded"}


@pytest.mark.parametrize(
    ("limit", "reached"),
    [
        (cast(Int32, as_expr(3.75)), (0, 3)),
        (cast(Int32, as_expr(-3.75)) + 6, (0, 3)),
        (reinterpret(Int32, as_expr(0.0)) + 3, (0, 3)),
        (cast(Int32, as_expr(1e30)), (0, 9)),
        (cast(Int32, fn.exp(as_expr(1.0))), (-1, 9)),
    ],
)
def test_floats_that_are_known_are_no_part_of_formulas(
    limit: Expr, reached: tuple[int, int]
) -> None:
    """Rules are decided at estimates, where formulas over integers are evaluated."""
    image, out = ImageParam(Int32, 1, "input"), Func("out")
    out[X] = image[fn.clamp(X, -1, limit)]
    made = pipeline(out, estimates={"out": [(0, 10)], "input": [(-1, 12)]})
    verdict = verify(made, Schedule.default(made), device("cpu"))
    assert isinstance(verdict, CheckedSchedule)
    (box,) = verdict.bounds.inputs["input"]
    values = {"out.min.0": 0, "out.extent.0": 10}
    assert (number(box.min, values), number(box.max, values)) == reached


@pytest.mark.parametrize("least", [0, 1])
def test_a_schedule_that_refuses_every_call_is_refused(least: int) -> None:
    """Sizes are at least 1, so that a condition on one may hold always."""
    made = chain()
    special = schedule(made).specialize(size_variable("out", "extent", 0) >= least)
    verdict = verify(made, special.specialize_fail("no").schedule, device("cpu"))
    assert [v.rule for v in verdict.violations] == ["specialize.failure"]
    assert "refuses every call" in verdict.violations[0].message


def test_what_is_hoisted_around_kernels_is_no_memory_of_the_host() -> None:
    """A Func of the host's is stored in a loop, its memory hoisted around a kernel, too."""
    made = chain()
    text = """
    out.gpu_tile(x, y, xi, yi, 4, 4);
    two.compute_root();
    one.compute_at(two, y).hoist_storage_root();
    """
    verdict = verify(made, parse_schedule(text, made), device("sm_80"))
    assert isinstance(verdict, CheckedSchedule)
    sizes = {"out": ((0, 8), (0, 8)), "input": PLACE}
    found = compile_gpu(verdict).run({"input": IMAGE}, sizes=sizes, executor=Emulator())
    wanted = evaluate(made, {"input": IMAGE}, sizes=sizes)
    np.testing.assert_array_equal(found["out"], wanted["out"])


@pytest.mark.parametrize(
    "place",
    [
        cast(Int32, constant(1, UInt16) << constant(4, UInt16)),
        cast(Int32, constant(3, UInt16) ^ constant(9, UInt16)),
        count_leading_zeros(constant(3, Int32)),
        cast(Int32, popcount(constant(7, Int64))),
    ],
    ids=str,
)
def test_places_calculated_from_numbers_are_numbers(place: Expr) -> None:
    """Storage in a kernel has a size that is known, whatever types a place is calculated in."""
    f, out = Func("f"), Func("out")
    f[X, Y] = X * 3 + Y
    out[X, Y] = f[X, place] + f[X, 0]
    made = pipeline(out)
    text = "out.gpu_tile(x, y, xi, yi, 4, 4);\nf.compute_at(out, x).gpu_threads(x);"
    verdict = verify(made, parse_schedule(text, made), device("sm_80"))
    assert isinstance(verdict, CheckedSchedule)
    sizes = {"out": ((0, 8), (0, 4))}
    found = compile_gpu(verdict).run({}, sizes=sizes, executor=Emulator())
    np.testing.assert_array_equal(found["out"], evaluate(made, {}, sizes=sizes)["out"])


@pytest.mark.parametrize(
    "place",
    [
        saturating_add(X + 3, X - 2),
        saturating_sub(X * 2, 5 - X),
        mul_shift_right(X + 3, X - 3, 4),
        saturating_cast(Int32, cast(Int64, X + 3)) - 2,
        fn.max(saturating_cast(Int32, cast(Int64, X + 3)) + 5, 0) - 7,
    ],
    ids=str,
)
def test_numbers_at_the_ends_of_int32_stay_in_it(place: Expr) -> None:
    """What is added in a minimum moves outside, but not where its other operand would wrap."""
    image, out = ImageParam(Int32, 1, "input"), Func("out")
    out[X] = image[fn.clamp(place, -3, 9)]
    made, sizes = pipeline(out), {"out": ((-5, 20),), "input": ((-10, 40),)}
    images = {"input": np.arange(40, dtype=np.int32)}
    found = compile_cpu_unchecked(made, Schedule.default(made)).run(images, sizes=sizes)
    np.testing.assert_array_equal(found["out"], evaluate(made, images, sizes=sizes)["out"])


def test_storage_that_nothing_limits_is_not_taken_for_none() -> None:
    """The most that an array needs, 2**32 values, is no int32 number, let alone 0."""
    f, out = Func("f"), Func("out")
    f[X, Y] = X * 2 + Y
    f[RDom([(1, 2)], "r").x, Y] = 7
    out[X, Y] = f[saturating_sub(X, 4), Y]
    made = pipeline(out)
    verdict = verify(
        made,
        parse_schedule("out.gpu_single_thread();\nf.compute_at(out, y);", made),
        device("sm_80"),
    )
    assert [v.rule for v in verdict.violations] == ["gpu.allocation-size"]


@pytest.mark.parametrize("zeros", [count_trailing_zeros, count_leading_zeros])
def test_bits_of_numbers_limit_storage_in_kernels(zeros: Callable[[Expr], Expr]) -> None:
    f, out = Func("f"), Func("out")
    f[X, Y] = X * 3 + Y
    number = fn.clamp(zeros(constant(1, Int32)), -3, 9)
    out[X, Y] = f[X, number + Y] + f[X, Y]
    made = pipeline(out)
    text = "out.gpu_tile(x, y, xi, yi, 4, 4);\nf.compute_at(out, x).gpu_threads(x);"
    verdict = verify(made, parse_schedule(text, made), device("sm_80"))
    assert isinstance(verdict, CheckedSchedule)
    sizes = {"out": ((0, 8), (0, 4))}
    found = compile_gpu(verdict).run({}, sizes=sizes, executor=Emulator())
    np.testing.assert_array_equal(found["out"], evaluate(made, {}, sizes=sizes)["out"])


def test_requirements_in_unsigned_numbers_are_asked_of_calls() -> None:
    f, out = Func("f"), Func("out")
    f[X] = X * 2
    f[RDom([(0, 1)], "r").x] = 1
    out[X] = f[cast(Int32, fn.abs(X))]
    made = pipeline(out)
    text = "f.compute_at(out, x).fold_storage(x, 32);"
    verdict = verify(made, parse_schedule(text, made), device("cpu"))
    assert isinstance(verdict, CheckedSchedule)
    compiled = compile_cpu(verdict)
    for low in (0, -31):
        wanted = evaluate(made, {}, sizes={"out": ((low, 32),)})["out"]
        np.testing.assert_array_equal(compiled.run({}, sizes={"out": ((low, 32),)})["out"], wanted)
        with pytest.raises(SizeError, match="fold_storage"):
            compiled.run({}, sizes={"out": ((low - (low < 0), 33),)})


@pytest.mark.parametrize("place", [lambda r: r, lambda r: r * r], ids=["itself", "its square"])
def test_rounds_of_a_var_in_two_coordinates_stay_inside(place: Callable[[Expr], Expr]) -> None:
    """``rfactor`` makes an RVar of a coordinate a Var that is another coordinate, too."""
    f, out = Func("f"), Func("out")
    r = RDom([(0, 3), (0, 2)], "r")
    f[X, Y] = X + Y
    f[place(r.x.as_expr()), Y] += r.y
    out[X, Y] = f[X, Y] * 2
    made = pipeline(out)
    text = "f.update(0).rfactor(r.x, u).compute_root();\nf_intm.update(0).split(u, u, ui, 2{})"
    rounded = verify(
        made, parse_schedule(text.format(", TailStrategy::RoundUp"), made), device("cpu")
    )
    assert [v.rule for v in rounded.violations] == ["order.tail"]
    assert "u runs over a Var in several coordinates" in str(rounded)
    checked = verify(made, parse_schedule(text.format(""), made), device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    sizes = {"out": ((-1, 9), (0, 4))}
    found = compile_cpu(checked, access_mode=AccessMode.HARDENED).run({}, sizes=sizes)
    np.testing.assert_array_equal(found["out"], evaluate(made, {}, sizes=sizes)["out"])


@pytest.mark.parametrize("child", ["a", "b"])
def test_funcs_in_loops_of_different_stages_share_no_loop(child: str) -> None:
    a, b, f, out = (Func(name) for name in ("a", "b", "f", "out"))
    a[X], b[X] = X * 2, X * 3
    f[X] = a[X]
    f[X] += b[X]
    out[X] = f[X]
    made = pipeline(out)
    levels = "f.compute_root();\na.compute_at(f, x);\nb.compute_at(f, x);\n"
    other = "b" if child == "a" else "a"
    text = f"{levels}{child}.compute_with({other}, x);"
    verdict = verify(made, parse_schedule(text, made), device("cpu"))
    assert [v.rule for v in verdict.violations] == ["with.level"]
    assert f"{child} is computed in the loops of f" in str(verdict)
