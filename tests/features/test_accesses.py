"""One evaluation of a stage: operations counted by hand, and reads as affine maps."""

from __future__ import annotations

from fractions import Fraction

import pytest
from attrs import evolve

from spaces.features.accesses import Course
from spaces.features.features import read_extents
from spaces.features.work import stage_work
from spaces.model.algorithm import boundary
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Stage
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.integer_functions import rounding_halving_add
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.formulas.algebra import evaluate
from spaces.model.schedules.inlining import inlined_functions
from spaces.model.schedules.schedule import Schedule

X, Y = Var("x"), Var("y")
IMAGE = ImageParam(UInt8, 2, "input")


def _stage(value: Expr) -> Stage:
    f = Func("f")
    f[X, Y] = value
    return pipeline(f).function("f").stages[0]


def _inlined(func: Func) -> Stage:
    pipe = pipeline(func)
    return inlined_functions(pipe, Schedule.default(pipe))[-1].stages[0]


def test_shared_values_are_computed_once() -> None:
    """(a + b) * (a + b): one sum, one product."""
    a = cast(Float32, X) + 1.5
    operations = stage_work(_stage(a * a)).operations
    assert (operations.arithmetic, operations.other) == (2, 1)


def test_groups() -> None:
    value = fn.sqrt(fn.cos(X)) * 2.0 + fn.select(X > Y, 1.0, 2.0)
    operations = stage_work(_stage(value)).operations
    # x to float32, cos, sqrt, *, >, select, +
    assert operations.arithmetic == 2
    assert operations.math == 2
    assert operations.other == 3
    assert operations.series + operations.calls == 1
    assert operations.total == 7


def test_addresses_are_no_operations() -> None:
    assert stage_work(_stage(IMAGE[X + 1, Y * 2 - 3])).operations.total == 0


def test_what_never_changes_is_no_operation() -> None:
    """Gaussian weights, inlined with their distance, are known before any loop."""
    weight = Func("weight")
    weight[X] = fn.exp(cast(Float32, X) * -0.5)
    f = Func("f")
    f[X, Y] = IMAGE[X, Y] * weight[2]
    operations = stage_work(_inlined(f)).operations
    assert operations.math == 0
    assert operations.arithmetic == 1


def test_integer_divisions_by_literals_are_several_instructions() -> None:
    by_literal = stage_work(_stage(cast(Int32, IMAGE[X, Y]) / 3)).operations
    by_value = stage_work(_stage(cast(Int32, IMAGE[X, Y]) / (Y + 1))).operations
    assert by_literal.divisions == 0
    assert by_literal.instructions == 1 + 4
    assert by_value.divisions == 1
    assert by_value.instructions == 2


def test_operations_by_what_moves_them() -> None:
    """Benchmark 1 of [TOY]: cos(x) is the same in every line, sin(y) along one."""
    work = stage_work(_stage(fn.sqrt(fn.cos(X) + fn.sin(Y))))
    parts = dict(work.parts)
    assert parts[frozenset({"x"})].math == 1
    assert parts[frozenset({"y"})].math == 1
    assert parts[frozenset({"x", "y"})].math == 1
    assert work.operations.math == 3


@pytest.mark.parametrize(
    ("coordinate", "step", "course"),
    [
        (X + 3, 1, Course.AFFINE),
        (2 * X - Y, 2, Course.AFFINE),
        (7 - X, -1, Course.AFFINE),
        (X / 2, Fraction(1, 2), Course.ROUNDED),
        (X % 2, 1, Course.BENT),
        (X / 2 + X % 2, Fraction(3, 2), Course.BENT),
        (X - X / 8 * 8, 1, Course.BENT),
        (X / 8 * 8 - X + Y, -1, Course.BENT),
        (X - X / 8 * 6, Fraction(1, 4), Course.ROUNDED),
        (X / 8 - X / 8, 0, Course.ROUNDED),
        (fn.clamp(X - 1, 0, IMAGE.width() - 1), 1, Course.CLAMPED),
        (fn.clamp(X / 4, 0, 9), Fraction(1, 4), Course.ROUNDED),
        (cast(Int32, IMAGE[X, Y]), 0, Course.UNKNOWN),
        (Y, 0, Course.AFFINE),
        (X * Y, 0, Course.UNKNOWN),
    ],
    ids=str,
)
def test_courses(coordinate: Expr, step: object, course: Course) -> None:
    work = stage_work(_stage(cast(Int32, IMAGE[coordinate, 0])))
    (index,) = {a.indices[0] for a in work.accesses if a.indices[1].moves == ()}
    assert index.course is course
    assert index.step("x") == step


@pytest.mark.parametrize(
    ("coordinate", "least", "most"),
    [
        (X % 8, 0, 7),
        (X - X / 8 * 8, 0, 7),
        (3 + X / -8 * 8 + X, 3, 10),
        (X / 2 / 4 * 8 - X, -7, 0),
        (Y - X / 4 * 4 + X - Y / 3 * 3, 0, 5),
    ],
    ids=str,
)
def test_remainders_have_ends_however_they_are_written(
    coordinate: Expr, least: int, most: int
) -> None:
    """``most`` counts the elements from the least value to the greatest, found by trying all."""
    work = stage_work(_stage(cast(Int32, IMAGE[coordinate, 0])))
    (index,) = {access.indices[0] for access in work.accesses}
    values = {
        evaluate(coordinate, {"x": x, "y": y}) for x in range(-24, 24) for y in range(-24, 24)
    }
    assert (min(values), max(values)) == (least, most)
    assert index.most == most - least + 1


def test_mirrors_bend_and_edges_clamp() -> None:
    for condition, course in (
        (boundary.repeat_edge, Course.CLAMPED),
        (boundary.mirror_image, Course.BENT),
    ):
        f = Func("f")
        f[X, Y] = condition(IMAGE)[X, Y]
        (access,) = stage_work(_inlined(f)).accesses
        assert {index.course for index in access.indices} == {course}
        assert access.indices[0].step("x") == 1


def test_reads_that_move_together_are_one_access() -> None:
    """Nine neighbors span (extent + 2) elements a dimension; another stride stands alone."""
    taps = [IMAGE[X + dx, Y + dy] for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
    value = sum(taps[1:], start=taps[0]) + IMAGE[2 * X, Y]
    stencil, strided = stage_work(_stage(value)).accesses
    assert (stencil.reads, strided.reads) == (9, 1)
    assert read_extents(stencil, {"x": 32, "y": 8}) == (34, 10)
    assert read_extents(strided, {"x": 32, "y": 8}) == (63, 8)


def test_operators_with_a_definition_count_as_what_they_are_made_of() -> None:
    image, func = ImageParam(UInt8, 1, "im"), Func("f")
    func[X] = rounding_halving_add(image[X], image[X + 1])
    (stage,) = pipeline(func).function("f").stages
    operations = stage_work(stage).operations
    # Two widenings, two sums, a shift and a narrowing.
    assert (operations.arithmetic, operations.other) == (2, 4)


def test_a_computed_index_is_work() -> None:
    """The index of a table is computed like any other value; ``x + 1`` is an address."""
    table = ImageParam(Float32, 1, "table")
    level = cast(Int32, cast(Float32, IMAGE[X + 1, Y]) * 0.5)
    assert stage_work(_stage(table[level])).operations.arithmetic == 1


@pytest.mark.parametrize(
    ("coordinates", "most", "span"),
    [
        ([X * 160 % 147], 147, 147),
        ([X % 8], 8, 8),
        ([X % 8 + 3, X % 8 + 5], 10, 10),  # 3 to 12
        ([X % 100], 100, 32),
        ([fn.clamp(X - 4, 0, 9)], 10, 10),
        ([X * 160 / 147], None, 34),  # 31 * 160 / 147 = 33
        ([cast(Int32, IMAGE[X, Y])], 256, 1),
    ],
    ids=str,
)
def test_a_coordinate_spans_at_most_the_values_that_it_can_have(
    coordinates: list[Expr], most: int | None, span: int
) -> None:
    table = ImageParam(UInt8, 1, "table")
    values = [cast(Int32, table[one]) for one in coordinates]
    accesses = stage_work(_stage(sum(values[1:], start=values[0]))).accesses
    (access,) = (a for a in accesses if a.buffer == "table")
    assert access.indices[0].most == most
    assert read_extents(access, {"x": 32, "y": 8}) == (span,)


def test_a_shared_coordinate_moves_with_the_vars_of_each_stage() -> None:
    """In the second stage, y is no Var, and moves nothing."""
    first = _stage(IMAGE[X + Y, 0])
    second = evolve(first, args=first.args[:1])
    moves = [stage_work(stage).accesses[0].indices[0].moves for stage in (first, second, first)]
    assert moves == [(("x", 1), ("y", 1)), (("x", 1),), (("x", 1), ("y", 1))]
