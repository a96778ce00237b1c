"""Output sizes that fit an image, and sizes as people write them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import APPS, Func, ImageParam, Schedule, UInt8, Var, clamp, loop_nest, pipeline
from spaces.apps.errors import CommandError, WrongUsage
from spaces.apps.output_ranges import output_ranges
from spaces.apps.sizes import parse_size
from spaces.model.formulas.algebra import INTEGERS, read
from tests.draw_counts import examples


@pytest.mark.parametrize("name", ["blur", "harris", "toy_blur"])
@settings(max_examples=examples(12))
@given(low=st.integers(-5, 5), width=st.integers(5, 90), height=st.integers(5, 90))
def test_the_output_reads_exactly_the_image(name, low, width, height):
    app = APPS[name].pipeline()
    image = ((low, width), (low, height), (0, 3))[: app.image("input").dimensions]
    ranges = output_ranges(app, {"input": image})
    box = loop_nest(app, Schedule.default(app)).inputs["input"]
    sizes = {
        f"{output}.{part}.{d}": bound
        for output, dims in ranges.items()
        for d, (start, extent) in enumerate(dims)
        for part, bound in (("min", start), ("extent", extent))
    }
    for interval, (start, extent) in zip(box, image, strict=True):
        assert read(interval.min, sizes, INTEGERS) == start
        assert read(interval.max, sizes, INTEGERS) == start + extent - 1


def own(formula):
    """A pipeline without estimates: an output of two dimensions over one image."""
    x, y, image, f = Var("x"), Var("y"), ImageParam(UInt8, 2, "input"), Func("f")
    f[x, y] = formula(image, x, y)
    return pipeline(f)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (lambda image, x, y: image[2 * x, y] + image[2 * x + 1, y], ((0, 4), (0, 5))),
        (lambda image, x, y: image[x / 2, y / 3], ((0, 18), (0, 15))),
        (lambda image, x, y: image[y + 1, x], ((0, 5), (0, 8))),
        (lambda image, x, y: image[x - 2, y] + image[x + 1, y + 3], ((2, 6), (0, 2))),
        (lambda image, x, y: image[clamp(x * 9, 0, 8), 0] + y, ((0, 9), (0, 5))),
        (lambda image, x, y: image[-x, y], ((-8, 9), (0, 5))),
        (lambda image, x, y: image[12 - x, -(y / 2)], ((4, 9), (-8, 10))),
        (lambda image, x, y: image[2 - x * 3, y], ((-2, 3), (0, 5))),
    ],
)
def test_without_estimates_the_output_is_as_large_as_the_image_suffices_for(formula, expected):
    assert output_ranges(own(formula), {"input": ((0, 9), (0, 5))}) == {"f": expected}


def test_a_dimension_that_nothing_limits_needs_an_estimate():
    x, y, c, f = Var("x"), Var("y"), Var("c"), Func("f")
    f[x, y, c] = ImageParam(UInt8, 2, "input")[x, y] + c
    with pytest.raises(WrongUsage, match="no estimate for dimension 2 of f"):
        output_ranges(pipeline(f), {"input": ((0, 9), (0, 5))})


def test_a_pipeline_with_a_boundary_condition_keeps_the_size():
    size = ((0, 640), (0, 480), (0, 3))
    assert output_ranges(APPS["unsharp"].pipeline(), {"input": size}) == {"output": size}


def test_without_an_image_the_estimate_counts():
    assert output_ranges(APPS["toy_sum"].pipeline(), {}) == {"f": ((0, 2048), (0, 2048))}


@pytest.mark.parametrize("extent", [1, 2])
def test_an_image_smaller_than_the_stencil_is_refused_with_what_it_needs(extent):
    with pytest.raises(
        CommandError, match=rf"Image input has {extent} elements along dimension 1.*3\."
    ):
        output_ranges(APPS["blur"].pipeline(), {"input": ((0, 9), (0, extent))})


def test_sizes_are_read_as_people_write_them():
    assert parse_size("640x480") == ((None, 640), (None, 480))
    assert parse_size("2:640x-3:480") == ((2, 640), (-3, 480))


@pytest.mark.parametrize("text", ["", "x", "6 4x1", "1:2:3x4", "0x4", "4x-1", "axb"])
def test_other_sizes_are_refused_by_name(text):
    with pytest.raises(WrongUsage, match=f"{text}.*(is not a size|has no elements)"):
        parse_size(text)
