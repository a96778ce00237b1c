"""Boundary conditions against Halide 21's values for the same image."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spaces import DefinitionError, Func, ImageParam, Int32, UInt8, Var, evaluate, pipeline
from spaces.model.algorithm import boundary
from spaces.model.algorithm.boundary import (
    constant_exterior,
    mirror_image,
    mirror_interior,
    repeat_edge,
    repeat_image,
)

X, Y = Var("x"), Var("y")


def around(condition: Callable[[ImageParam], Func], data: list[int], low: int, high: int) -> list:
    """Values at coordinates low .. high of an image with coordinates 0 .. len(data) - 1."""
    source, f = ImageParam(Int32, 1, "input"), Func("f")
    f[X] = condition(source)[X]
    image, sizes = np.array(data, dtype=np.int32), {"f": [(low, high - low + 1)]}
    return evaluate(pipeline(f), {"input": image}, sizes=sizes)["f"].tolist()


FOUR = [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (repeat_edge, "10 10 10 10 10 10 10 10 10 20 30 40 40 40 40 40 40 40 40 40 40"),
        (repeat_image, "10 20 30 40 10 20 30 40 10 20 30 40 10 20 30 40 10 20 30 40 10"),
        (mirror_image, "10 20 30 40 40 30 20 10 10 20 30 40 40 30 20 10 10 20 30 40 40"),
        (mirror_interior, "30 20 10 20 30 40 30 20 10 20 30 40 30 20 10 20 30 40 30 20 10"),
        (
            lambda image: constant_exterior(image, 7),
            "7 7 7 7 7 7 7 7 10 20 30 40 7 7 7 7 7 7 7 7 7",
        ),
    ],
)
def test_values_are_those_of_halide(condition: Callable[[ImageParam], Func], expected: str) -> None:
    assert around(condition, FOUR, -8, 12) == [int(v) for v in expected.split()]


@pytest.mark.parametrize("condition", [repeat_edge, repeat_image, mirror_image, mirror_interior])
def test_an_image_of_one_pixel(condition: Callable[[ImageParam], Func]) -> None:
    assert around(condition, [5], -2, 2) == [5, 5, 5, 5, 5]


def test_given_bounds_count_instead_of_the_images() -> None:
    assert around(lambda i: repeat_edge(i, [(1, 2)]), FOUR, -1, 4) == [20, 20, 20, 30, 30, 30]
    bounded = constant_exterior
    assert around(lambda i: bounded(i, -1, [(1, 2)]), FOUR, 0, 3) == [-1, 20, 30, -1]
    assert around(lambda i: mirror_image(i, [(1, 2)]), FOUR, -1, 4) == [30, 20, 20, 30, 30, 20]


@pytest.mark.parametrize("bounds", [[(0, 4), None], [(0, 4)]])
def test_a_dimension_may_stay_unchanged(bounds: list[tuple[int, int] | None]) -> None:
    source, f = ImageParam(UInt8, 2, "input"), Func("f")
    f[X, Y] = repeat_edge(source, bounds)[X, Y]
    edges = pipeline(f).function("repeat_edge")
    (call,) = edges.stages[0].calls
    assert call.args[1] is Var("_1")
    assert call.args[0] is not Var("_0")


def test_a_func_is_extended_within_bounds() -> None:
    source, doubled, f = ImageParam(Int32, 1, "input"), Func("doubled"), Func("f")
    doubled[X] = source[X] * 2
    f[X] = boundary.constant_exterior(doubled, 1, [(0, 4)])[X]
    image = np.array(FOUR, dtype=np.int32)
    out = evaluate(pipeline(f), {"input": image}, sizes={"f": [(-1, 6)]})["f"]
    assert out.tolist() == [1, 20, 40, 60, 80, 1]


def test_mistakes() -> None:
    func = Func("g")
    func[X] = X
    with pytest.raises(DefinitionError, match="boundary condition on Func g needs its bounds"):
        repeat_edge(func)
    with pytest.raises(DefinitionError, match="input has 1 dimension, but 2 bounds are given"):
        mirror_image(ImageParam(UInt8, 1, "input"), [None, None])
    with pytest.raises(OverflowError, match="300 does not fit uint8"):
        constant_exterior(ImageParam(UInt8, 1, "input"), 300)
    with pytest.raises(DefinitionError, match="Func later is called before it is defined"):
        repeat_edge(Func("later"), [(0, 1)])
