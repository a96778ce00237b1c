"""Output sizes that fit an image, and sizes as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.catalog import APPS
from apps.errors import Stop, WrongUsage
from apps.sizes import output_ranges, parse_ranges
from spaces.model.algebra import INTEGERS, read
from spaces.model.loopnest import loop_nest
from spaces.model.schedule import Schedule


@pytest.mark.parametrize("name", ["blur", "harris", "toy_blur"])
@given(low=st.integers(-5, 5), width=st.integers(5, 90), height=st.integers(5, 90))
def test_the_output_reads_exactly_the_image(name, low, width, height):
    pipeline = APPS[name].pipeline()
    image = ((low, width), (low, height), (0, 3))[: pipeline.image("input").dimensions]
    ranges = output_ranges(pipeline, {"input": image})
    box = loop_nest(pipeline, Schedule.default(pipeline)).inputs["input"]
    sizes = {
        f"{output}.{part}.{d}": bound
        for output, dims in ranges.items()
        for d, (start, extent) in enumerate(dims)
        for part, bound in (("min", start), ("extent", extent))
    }
    for interval, (start, extent) in zip(box, image, strict=True):
        assert read(interval.min, sizes, INTEGERS) == start
        assert read(interval.max, sizes, INTEGERS) == start + extent - 1


def test_a_pipeline_with_a_boundary_condition_keeps_the_size():
    pipeline = APPS["unsharp"].pipeline()
    size = ((0, 640), (0, 480), (0, 3))
    assert output_ranges(pipeline, {"input": size}) == {"output": size}


def test_without_an_image_the_estimate_counts():
    pipeline = APPS["toy_sum"].pipeline()
    assert output_ranges(pipeline, {}) == {"f": ((0, 2048), (0, 2048))}


@pytest.mark.parametrize("extent", [1, 2])
def test_an_image_smaller_than_the_stencil_is_refused_with_what_it_needs(extent):
    with pytest.raises(Stop, match=rf"Image input has {extent} elements along dimension 1.*3\."):
        output_ranges(APPS["blur"].pipeline(), {"input": ((0, 9), (0, extent))})


def test_sizes_are_read_as_people_write_them():
    assert parse_ranges("640x480") == ((0, 640), (0, 480))
    assert parse_ranges("2:640x-3:480") == ((2, 640), (-3, 480))


@pytest.mark.parametrize("text", ["", "x", "6 4x1", "1:2:3x4", "0x4", "4x-1", "axb"])
def test_other_sizes_are_refused_by_name(text):
    with pytest.raises(WrongUsage, match=f"{text}.*(is not a size|has no elements)"):
        parse_ranges(text)
