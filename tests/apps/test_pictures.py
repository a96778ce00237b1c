"""Photographs become arrays, and arrays become pictures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.apps.errors import CommandError
from spaces.apps.pictures import clipped, compressed, montage, stretched, to_array
from spaces.model.algorithm.pipeline import Image
from spaces.model.expressions.types import Bool, Float32, Int8, UInt8, UInt16
from tests.apps.formulas import photograph


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 5))
def test_a_photograph_survives_the_way_through_floats(height, width, seed):
    pixels = photograph(height, width, seed)
    planes = to_array(pixels, Image("input", Float32, 3))
    assert planes.shape == (3, height, width)
    assert planes.min() > 0
    assert planes.max() <= 1
    np.testing.assert_array_equal(clipped(planes), pixels)


def test_white_and_black_are_gray_levels_of_every_type():
    pixels = np.array([[[0, 0, 0], [255, 255, 255]]], np.uint8)
    for type_, levels in ((UInt8, [0, 255]), (UInt16, [0, 255]), (Int8, [0, 127]), (Bool, [0, 1])):
        array = to_array(pixels, Image("input", type_, 2))
        assert array.dtype == type_.dtype
        assert array.tolist() == [levels]


def test_an_image_of_one_dimension_cannot_be_a_photograph():
    with pytest.raises(CommandError, match=r"Image line has 1 dimension,.*\.npy"):
        to_array(photograph(2, 2), Image("line", UInt8, 1))


def test_values_beyond_the_range_are_clipped_and_no_number_is_black():
    with np.errstate(invalid="ignore"):
        picture = clipped(np.array([[-1.0, np.nan, 0.5, 7.0]], np.float32))
    assert picture.tolist() == [[0, 0, 127, 255]]


def test_any_values_stretch_to_black_and_white():
    picture = stretched(np.array([[-300, 0, 100]], np.int32))
    assert picture.tolist() == [[0, 191, 255]]
    assert stretched(np.full((1, 2), np.nan, np.float32)).tolist() == [[0, 0]]
    assert stretched(np.full((1, 2), 7, np.int64)).tolist() == [[0, 0]]


def test_a_montage_keeps_what_lies_below_a_few_bright_values():
    planes = np.zeros((2, 20, 30))
    planes[0, 0, :10] = 10
    planes[0, 0, 10] = 1000
    planes[1] = np.linspace(0, 1, 600).reshape(20, 30)
    picture = montage(planes, 2)
    assert picture.shape == (20, 60)
    assert picture[0, :30].tolist() == [255] * 11 + [0] * 19
    assert picture[10, 30] == 129  # 255 * 300 / 594


def test_magnitudes_compress_around_gray():
    picture = compressed(np.array([[-1e6, 0.0, 1.0, 1e6]], np.float32))
    assert picture[0, 0] == 0
    assert picture[0, 1] == 128
    assert 128 < picture[0, 2] < 160
    assert picture[0, 3] == 255


def test_an_output_of_four_dimensions_makes_no_picture():
    with pytest.raises(CommandError, match=r"4 dimensions.*\.npy"):
        stretched(np.zeros((1, 1, 1, 1), np.float32))
